"""A change of a YAML file keeps comments, quotes, layout and all other values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.catalog import yaml_file
from nexus_mcp.catalog.yaml_changes import append, changed_file, new_file, put, take_out
from nexus_mcp.errors import CatalogError

Change = Callable[[Any], None]

LOST = "the comment there would be lost"
META = """\
# head
id: engineer   # who

capabilities:
  - no_task_create  # canonical
  # between
  - "no_file_edit"
  # end of list

# next
name: x
"""
MAP = """\
claude-code:
  classes:
    shell: [Bash, "a*"]  # ours
    # about files
    file: [a, b]
  # about codex

codex:
    reading:
    - a   # why
    # the end
"""
EVEN = MAP.replace("    reading:\n    - a   # why\n    # the end", "  x: 1")


def changed(text: str, change: Change, removing: str = "") -> str:
    return changed_file(text.encode(), "own.yml", change, removing=removing).decode()


def shell(value: Any) -> Any:
    return value["claude-code"]["classes"]["shell"]


@pytest.mark.parametrize(
    ("text", "change", "old", "new"),
    [
        (META, lambda v: append(v["capabilities"], "b"), '"no_file_edit"\n', '"no_file_edit"\n  - b\n'),
        (META, lambda v: put(v, "x", ["b", "*c"]), "name: x\n", 'name: x\nx: [b, "*c"]\n'),
        (META, lambda v: put(v, "x", {"y": {"z": ["b"]}}), "name: x\n", "name: x\nx:\n  y:\n    z: [b]\n"),
        (META, lambda v: append(v["capabilities"], "on"), '"no_file_edit"\n', '"no_file_edit"\n  - "on"\n'),
        (META, lambda v: append(v["capabilities"], "1"), '"no_file_edit"\n', '"no_file_edit"\n  - "1"\n'),
        (META.rstrip("\n"), lambda v: put(v, "x", ["b"]), "name: x", "name: x\nx: [b]\n"),
        (META.replace("\n", "\r\n"), lambda v: append(v["capabilities"], "b"), '"\r\n', '"\r\n  - b\r\n'),
        ("\ufeffid: a\n", lambda v: put(v, "x", ["b"]), "a\n", "a\nx: [b]\n"),
        ("id: ä  # 🌱 ü\n", lambda v: put(v, "x", ["b"]), "ü\n", "ü\nx: [b]\n"),
        ("---\nid: a\n", lambda v: put(v, "x", ["b"]), "a\n", "a\nx: [b]\n"),
        ("id: a  # c\n# end\n", lambda v: put(v, "x", ["b"]), "# c\n", "# c\nx: [b]\n"),
        ("a: >-\n  # no\n  comment\nb: []\n", lambda v: append(v["b"], "c"), "b: []", "b: [c]"),
        (EVEN, lambda v: append(shell(v), "c"), '"a*"]  ', '"a*", c] '),
        (EVEN, lambda v: put(v["claude-code"]["classes"], "z", ["c"]), " b]\n", " b]\n    z: [c]\n"),
    ],
)
def test_only_the_change_is_seen(text: str, change: Change, old: str, new: str) -> None:
    """The rest of the file keeps its comments, blank lines, quotes, line ends and byte order mark."""
    assert text.count(old) == 1
    assert changed(text, change) == text.replace(old, new)


def test_item_after_the_last_leaf_keeps_the_comments() -> None:
    """Comments that follow it stay at the end; the file has two layouts, so that one of them is taken for both."""
    out = changed(MAP, lambda v: put(v, "opencode", {"classes": {"z": ["*c"]}}))
    assert out == (
        'claude-code:\n  classes:\n    shell: [Bash, "a*"]  # ours\n    # about files\n    file: [a, b]\n'
        '  # about codex\n\ncodex:\n  reading:\n  - a     # why\nopencode:\n  classes:\n    z: ["*c"]\n    # the end\n'
    )


@pytest.mark.parametrize(
    ("text", "change", "removing", "old", "new"),
    [
        (META, lambda v: take_out(v["capabilities"], "no_file_edit"), "no_file_edit", '  - "no_file_edit"\n', ""),
        (
            META.replace('edit"', 'edit"  # why'),
            lambda v: take_out(v["capabilities"], "no_file_edit"),
            "no_file_edit",
            '  - "no_file_edit"  # why\n',
            "",
        ),
        (
            META.replace("  # between\n", ""),
            lambda v: take_out(v["capabilities"], "no_task_create"),
            "no_task_create",
            "  - no_task_create  # canonical\n",
            "",
        ),
        ("a: [b, c]\n", lambda v: take_out(v["a"], "b"), "b", "[b, c]", "[c]"),
    ],
)
def test_removed_item_takes_its_own_comment(text: str, change: Change, removing: str, old: str, new: str) -> None:
    """The comment on its line is about it; those around it stay."""
    assert changed(text, change, removing) == text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "change", "removing", "told"),
    [
        (META, lambda v: take_out(v["capabilities"], "no_task_create"), "no_task_create", f"own.yml:6:1: {LOST}"),
        ("a: [\n  b, # why\n  c]\n", lambda v: append(v["a"], "d"), "", f"own.yml:2:1: {LOST}"),
        ("a: [b]  # why\n", lambda v: v.pop("a"), "", f"own.yml:1:1: {LOST}"),
        (
            "a: # why\n\n  |\n  x\n\nb: [c] # x\n",
            lambda v: append(v["b"], "d"),
            "",
            "own.yml:1:1: the comments in it cannot be kept by a command (NotImplementedError)",
        ),
        ("- a\n", lambda v: None, "", "own.yml:1:1: must be a mapping"),
        ("", lambda v: None, "", "own.yml:1:1: must be a mapping"),
        ("a: [\n", lambda v: None, "", "own.yml:2:1: while parsing a flow node: did not find expected node content"),
        ("a: &x b\nc: *x\n", lambda v: None, "", "own.yml:2:4: YAML aliases are not supported"),
        ("a: 1\na: 2\n", lambda v: None, "", "own.yml:2:1: this key is repeated"),
    ],
)
def test_edit_that_could_lose_a_comment_is_refused(text: str, change: Change, removing: str, told: str) -> None:
    """An edit of a broken file, or one that would lose a comment, is refused with the place."""
    with pytest.raises(CatalogError) as caught:
        changed(text, change, removing)
    assert caught.value.faults == [told]


def test_new_file_begins_with_a_comment() -> None:
    """A new file has a comment with its purpose, and the value."""
    made = new_file({"id": "a"}, "What it is.", lambda v: put(v, "x", ["b", "yes"]))
    assert made == b'# What it is.\nid: a\nx: [b, "yes"]\n'
    assert yaml_file.read(made, "own.yml").value == {"id": "a", "x": ["b", "yes"]}


COMMENT = st.sampled_from(["", "", "# one", "# two: [x]"])
ITEM = st.sampled_from(["a", '"b"', "'*c'", "d e"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A mapping of lists, in both styles, with comments wherever one may stand."""
    dash = draw(st.sampled_from(["", "  "]))
    lines = []

    def add(line: str) -> None:
        lines.append(f"{line}  {draw(COMMENT)}".rstrip())
        lines.extend(f"{draw(st.sampled_from(['', '  ']))}{one}" for one in draw(st.lists(COMMENT, max_size=2)))

    add("# head")
    for key in draw(st.lists(st.sampled_from(["k", "l", "m"]), min_size=1, unique=True)):
        items = draw(st.lists(ITEM, min_size=1, max_size=3, unique=True))
        if draw(st.booleans()):
            add(f"{key}: [{', '.join(items)}]")
        else:
            add(f"{key}:")
            for item in items:
                add(f"{dash}- {item}")
    return "\n".join(lines) + "\n"


@settings(deadline=None, derandomize=True, database=None, max_examples=80)
@given(documents(), st.data())
def test_edits_keep_every_other_comment(text: str, data: st.DataObject) -> None:
    """A longer list keeps every comment of the file; a removed item takes at most its own comment, or the edit is
    refused.
    """
    before = yaml_file.read(text.encode(), "own.yml").value
    key = data.draw(st.sampled_from(sorted(before)))
    out = changed(text, lambda value: append(value[key], "new"))
    assert yaml_file.read(out.encode(), "own.yml").value == {**before, key: [*before[key], "new"]}
    assert out.count("#") == text.count("#")
    item = data.draw(st.sampled_from(before[key]))
    less = text
    with suppress(CatalogError):
        less = changed(text, lambda value: take_out(value[key], item), item)
        before[key].remove(item)
    assert yaml_file.read(less.encode(), "own.yml").value == before
    assert text.count("#") - less.count("#") in (0, 1)
