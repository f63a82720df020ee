"""Splicing of JSON and TOML keeps every byte outside of the edit."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.harness import jsonc
from nexus_mcp.harness.json_document import JsonDocument, Unsuitable
from nexus_mcp.harness.jsonc import Unreadable
from nexus_mcp.harness.toml_document import TomlDocument

PATH = ("mcpServers", "nexus")
VALUE = {"command": "/a b/nexus-mcp", "args": ["serve", 'q"uote']}
TABLE = ("mcp_servers", "nexus")
GAPS = st.sampled_from(["", " ", "\n", "\r\n\t", " // c }\n", "/* , */", "\n  "])
KEYS = st.sampled_from(["a", "mcpServers", "hooks", 'x"y', "é", "//"])


@st.composite
def values(draw: st.DrawFn, depth: int = 3) -> str:
    """Return a JSON text with comments, trailing commas and all kinds of gaps."""
    kind = draw(st.integers(0, 4 if depth else 2))
    if kind <= 2:
        return ("1.5", '"t \\" {// ,] é"', "null")[kind]
    if kind == 3:
        items = [draw(GAPS) + draw(values(depth - 1)) + draw(GAPS) for _ in range(draw(st.integers(0, 3)))]
        return f"[{draw(GAPS)}{','.join(items)}{',' * (bool(items) and draw(st.booleans()))}{draw(GAPS)}]"
    return draw(objects(depth))


@st.composite
def objects(draw: st.DrawFn, depth: int = 3) -> str:
    """Return the text of an object, in which `mcpServers` and `hooks` are objects."""
    members = []
    for key in draw(st.lists(KEYS, unique=True, max_size=4)):
        inner = draw(objects(depth - 1) if key in ("mcpServers", "hooks") and depth else values(max(depth - 1, 0)))
        if key in ("mcpServers", "hooks") and not inner.lstrip().startswith("{"):
            inner = "{}"
        members.append(f"{draw(GAPS)}{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}{inner}{draw(GAPS)}")
    return f"{{{draw(GAPS)}{','.join(members)}{',' * (bool(members) and draw(st.booleans()))}{draw(GAPS)}}}"


def kept(text: str) -> str:
    """Return the text without white space and commas, whose number changes."""
    return re.sub(r"[\s,]", "", text)


def is_within(part: str, whole: str) -> bool:
    """Return whether all characters of `part` occur in `whole`, in their order."""
    rest = iter(whole)
    return all(char in rest for char in part)


@given(st.sampled_from(["", "\ufeff"]), GAPS, objects(), GAPS)
def test_an_entry_is_added_and_removed(mark: str, before: str, text: str, after: str) -> None:
    """An added entry keeps the order of all others; its removal restores the file."""
    text = f"{mark}{before}{text}{after}"
    document = JsonDocument(text)
    try:
        document.set(PATH, VALUE)
    except Unsuitable:
        return
    added = document.finish()
    assert is_within(text, added)
    assert jsonc.parse(added)["mcpServers"]["nexus"] == VALUE
    again = JsonDocument(added)
    again.set(PATH, VALUE)
    assert again.finish() == added or jsonc.parse(again.finish()) == jsonc.parse(added)
    removed = JsonDocument(added)
    removed.remove(PATH)
    if "mcpServers" not in jsonc.parse(text):
        removed.remove(PATH[:1])
    assert kept(removed.finish()) == kept(text)


@given(objects(), st.integers(0, 3))
def test_items_of_arrays_are_added_and_removed(text: str, count: int) -> None:
    """Each item that is added can be removed; the others stay."""
    document = JsonDocument(text)
    path = ("hooks", "Stop")
    if document.get(path) is not None:
        return
    for number in range(count + 1):
        document.append(path, {"n": number})
    removed = JsonDocument(document.finish())
    removed.remove_item(path, 0)
    assert removed.value["hooks"]["Stop"] == [{"n": number} for number in range(1, count + 1)]
    assert jsonc.parse(removed.finish()) == removed.value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": ', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": NaN}', "NaN"),
        ("[" * 100_000, "nested|not JSON"),
        ('{"a": /* never ends }', "not JSON"),
    ],
)
def test_a_text_that_is_not_json_is_refused(text: str, problem: str) -> None:
    """A text that is not JSON is refused with the fault."""
    with pytest.raises(Unreadable, match=problem):
        JsonDocument(text)


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": []}', '{"mcpServers": "x"}'])
def test_another_value_in_the_place_of_an_object_is_refused(text: str) -> None:
    """A value of another type in place of the object stays, and the edit is refused."""
    with pytest.raises(Unsuitable):
        JsonDocument(text).set(PATH, VALUE)


LINES = st.sampled_from(
    ["a = 1", "# [c]", "", "b = '['  # c", "[x]", '[x."y z"]', 'c = """\n[mcp_servers.nexus]\n"""', "d = [\n 1, # ]\n]"]
)


@given(st.lists(LINES, unique=True), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_a_table_is_added_and_removed(lines: list[str], newline: str, has_end: bool, has_mark: bool) -> None:
    """The removal restores the exact bytes, and text that others append meanwhile stays."""
    text = ("\ufeff" if has_mark else "") + newline.join(line.replace("\n", newline) for line in lines)
    text += newline * (has_end and bool(lines))
    try:
        document = TomlDocument(text)
    except Unreadable:
        return
    value: dict[str, Any] = {"command": 'x"', "args": ["é"], "tools": {"context": {"approval_mode": "approve"}}}
    document.set(TABLE, value)
    added = document.finish()
    assert is_within(text, added)
    removed = TomlDocument(added)
    removed.remove(TABLE)
    assert removed.finish().rstrip("\r\n") == text.rstrip("\r\n")
    if has_end:
        assert removed.finish() == text
    foreign = "\n[foreign]\nz = 1 # mine\n"
    later = TomlDocument(f"{added}{'' if added.endswith(chr(10)) else chr(10)}{foreign}")
    later.set(TABLE, {"command": "new"})
    later = TomlDocument(later.finish())
    later.remove(TABLE)
    assert later.finish().endswith(foreign.strip() + "\n")
    assert is_within(text.rstrip("\r\n"), later.finish())


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {x = {}}\n", '[mcp_servers]\nnexus = {command = "a"}\n', 'mcp_servers.nexus.command = "a"\n'],
)
def test_an_inline_table_is_refused(text: str) -> None:
    """The edit of an inline table is refused, because it would change the user's layout."""
    with pytest.raises(Unsuitable, match="inline table"):
        TomlDocument(text).set(TABLE, {"command": "x"})


@pytest.mark.parametrize("number", ["nan", "+nan", "-nan", "inf", "-inf", "[nan, {y = nan}]"])
def test_special_numbers_of_toml_stay(number: str) -> None:
    """A nan is unequal to itself, and no reason to refuse a file: its bytes stay."""
    text = f"x = {number}\n[other]\ny = {number} # mine\n"
    document = TomlDocument(text)
    document.set(TABLE, {"command": "x"})
    added = document.finish()
    assert added.startswith(text)
    removed = TomlDocument(added)
    removed.remove(TABLE)
    assert removed.finish() == text
