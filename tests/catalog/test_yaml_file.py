"""YAML as plain values with places, and what is no plain value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nexus_mcp.catalog import yaml_file
from nexus_mcp.errors import CatalogError

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


def test_values() -> None:
    """Text, numbers, true, false and null; a date stays a text."""
    assert yaml_file.read(TEXT, "f.yml").value == {
        "id": "engineer",
        "numbers": [1, 2.5],
        "nested": {"yes_or_no": True, "nothing": None, "day": "2026-01-02", "a/b": "text\n"},
    }
    assert yaml_file.read(b"", "f.yml").value is None
    assert yaml_file.read("\ufeffä: ü".encode(), "f.yml").value == {"ä": "ü"}


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
def test_places(pointer: str, place: str) -> None:
    """A member is told at its key, an item where it begins, what is missing where it would be."""
    assert yaml_file.read(TEXT, "f.yml").told(pointer, "is odd") == f"f.yml:{place}: is odd"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"a: [", "f.yml:1:5: expected the node content, but found 'stream end'"),
        (b"a: 1\nb: 2\na: 3\n", "f.yml:3:1: the key stands there twice"),
        (b"a: &x [1]\nb: *x\n", "f.yml:2:4: aliases are not used here"),
        (b"a: !!python/object:os.system x", "f.yml:1:4: tags of its own are not used here"),
        (b"a: !!set {x}", "f.yml:1:4: tags of its own are not used here"),
        (b"? [a]\n: b", "f.yml:1:3: a key has to be a text"),
        (
            b"a: 1\n---\nb: 2",
            "f.yml:2:1: expected a single document in the stream, but found another document",
        ),
        (b"x: \xff", "f.yml:1:4: not UTF-8"),
        ("\ufeffa: 1\nä: ü".encode() + b"\xff", "f.yml:2:5: not UTF-8"),
        (b"a: b\nc: \x00", "f.yml:2:4: not YAML: special characters are not allowed"),
        (b"[" * 40 + b"]" * 40, "f.yml:1:33: nested too deeply"),
        (b"a" * (yaml_file.LIMIT + 1), "f.yml: larger than the 1 MiB that are read"),
        (b"a: 1" + b":59" * 400 + b".5", "f.yml:1:4: a number that cannot be read"),
        (b"a: " + b"9" * 9000, "f.yml:1:4: a number that cannot be read"),
        (b"a: !!int x", "f.yml:1:4: a number that cannot be read"),
    ],
)
def test_what_is_refused(data: bytes, told: str) -> None:
    """Each with its line and column."""
    with pytest.raises(CatalogError) as caught:
        yaml_file.read(data, "f.yml")
    assert caught.value.faults == [told]


@given(some.binary(max_size=200) | some.text(alphabet="[]{}:-&*!|>'\"#% \nab1~?,\t", max_size=80).map(str.encode))
def test_any_bytes_are_read_or_told(data: bytes) -> None:
    """Whatever somebody wrote, the answer is a value or one fault with the file's name."""
    try:
        told = [str(yaml_file.read(data, "f.yml").shown)]
    except CatalogError as error:
        told = [fault.partition(":")[0] for fault in error.faults]
    assert told == ["f.yml"]
