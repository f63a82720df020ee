"""YAML files are read as plain values with places; any other YAML is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from nexus_mcp.catalog import sources, yaml_file
from nexus_mcp.errors import CatalogError

BASE_60 = "a number in base 60, which YAML 1.2 does not have: put it between quotation marks"
LEADING_ZERO = "a number with a leading zero: remove leading zeros, or put it between quotation marks"
TEXT = b"""\
# a comment
id: engineer
numbers: [1, 2.5]
nested:
  yes_or_no: true
  nothing:
  day: 2026-01-02
  "a/b": |
    text
"""


def test_scalars_have_the_types_of_yaml_1_2() -> None:
    """Text, numbers, true, false and null; a date stays a text."""
    assert yaml_file.read(TEXT, "f.yml").value == {
        "id": "engineer",
        "numbers": [1, 2.5],
        "nested": {"yes_or_no": True, "nothing": None, "day": "2026-01-02", "a/b": "text\n"},
    }
    assert yaml_file.read(b"", "f.yml").value is None
    assert yaml_file.read("\ufeffä: ü".encode(), "f.yml").value == {"ä": "ü"}


@pytest.mark.parametrize("loader", [yaml.CSafeLoader, yaml.SafeLoader])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(word, word) for word in ("off", "on", "yes", "no", "Yes", "OFF", "y", "tRUE", "1_000", "0b1", "=", "<<")],
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, None) for word in ("", "~", "null", "Null", "NULL")],
        *[("0", 0), ("-0", 0), ("+12", 12), ("0o17", 15), ("0x1F", 31), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0)],
        *[("'010'", "010"), ("!!str 010", "010"), ("!!int 3", 3), ("'true'", "true"), ("! true", "true")],
        *[("2026-01-02", "2026-01-02"), ("10.0.0.1:80", "10.0.0.1:80"), ("1.2.3", "1.2.3")],
    ],
)
def test_plain_scalars_follow_yaml_1_2(text: str, value: Any, loader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers read plain scalars as YAML 1.2 does: `edit: off` is text."""
    monkeypatch.setattr(yaml_file, "LOADER", loader)
    found = yaml_file.read(f"edit: {text}\n".encode(), "f.yml").value["edit"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("", "2:1"),
        ("/id", "2:1"),
        ("/numbers/1", "3:14"),
        ("/nested/nothing", "6:3"),
        ("/nested/a~1b", "8:3"),
        ("/nested/missing/deeper", "4:1"),
    ],
)
def test_faults_point_to_key_item_or_parent(pointer: str, place: str) -> None:
    """A fault of a field points to its key, one of an item to its beginning, and a missing field to its parent."""
    assert yaml_file.read(TEXT, "f.yml").fault_at(pointer, "is odd") == f"f.yml:{place}: is odd"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"a: [", "f.yml:1:5: while parsing a flow node: did not find expected node content"),
        (b"a: 1\nb: 2\na: 3\n", "f.yml:3:1: this key is repeated"),
        (b"a: &x [1]\nb: *x\n", "f.yml:2:4: YAML aliases are not supported"),
        (b"a: !!python/object:os.system x", "f.yml:1:4: custom YAML tags are not supported"),
        (b"a: !!set {x}", "f.yml:1:4: custom YAML tags are not supported"),
        (b"? [a]\n: b", "f.yml:1:3: a key must be a text"),
        (
            b"a: 1\n---\nb: 2",
            "f.yml:2:1: a second YAML document; a file may have only one",
        ),
        (b"x: \xff", "f.yml:1:4: not UTF-8"),
        ("\ufeffa: 1\nä: ü".encode() + b"\xff", "f.yml:2:5: not UTF-8"),
        (b"a: b\nc: \x00", "f.yml:2:4: not YAML: control characters are not allowed"),
        (b"[" * 40 + b"]" * 40, "f.yml:1:33: nested too deeply"),
        (b"a" * (sources.YAML_BYTES + 1), "f.yml: larger than 64 KiB, the limit for a YAML file"),
        (b"a: 1" + b":59" * 400 + b".5", f"f.yml:1:4: {BASE_60}"),
        (b"a: 1:30", f"f.yml:1:4: {BASE_60}"),
        (b"a: 010", f"f.yml:1:4: {LEADING_ZERO}"),
        (b"a: -08", f"f.yml:1:4: {LEADING_ZERO}"),
        (b"a: 0_1", f"f.yml:1:4: {LEADING_ZERO}"),
        (b"a: !!bool yes", "f.yml:1:4: a value that is not of the type of its tag"),
        (b"a: 1e999", "f.yml:1:4: a number that cannot be read"),
        (b"k" * 257 + b": 1", "f.yml:1:1: a key longer than 256 characters"),
        (b"[" + b"a," * 4000 + b"]", "f.yml:1:8000: more than 4000 values, the limit for a file"),
        (b"a: " + b"9" * 9000, "f.yml:1:4: a number that cannot be read"),
        (b"a: !!int x", "f.yml:1:4: a value that is not of the type of its tag"),
    ],
)
def test_ambiguous_yaml_is_refused_with_its_place(data: bytes, told: str) -> None:
    """Each with its line and column."""
    with pytest.raises(CatalogError) as caught:
        yaml_file.read(data, "f.yml")
    assert caught.value.faults == [told]


@given(some.binary(max_size=200) | some.text(alphabet="[]{}:-&*!|>'\"#% \nab1~?,\t", max_size=80).map(str.encode))
def test_any_bytes_give_a_value_or_a_fault(data: bytes) -> None:
    """Any bytes give a value, or one fault with the file's name."""
    try:
        told = [str(yaml_file.read(data, "f.yml").shown)]
    except CatalogError as error:
        told = [fault.partition(":")[0] for fault in error.faults]
    assert told == ["f.yml"]
