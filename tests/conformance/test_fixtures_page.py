"""docs/fixtures.md against the schema of fixtures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nexus_mcp.conformance.lint import coverage, lint
from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.tokens import PATH_TOKENS, PROJECT_ROOT
from tests.conftest import CHECKOUT

PAGE = (CHECKOUT / "docs" / "fixtures.md").read_text(encoding="utf-8")
SCHEMA = json.loads((CHECKOUT / "schemas" / "conformance" / "fixture.schema.json").read_text(encoding="utf-8"))
ADDED = ("special", "lane_step", "write_file", "kill", "executor", "deed", "run")
INNER = ("matcher", "action", "event", "step", *ADDED)


def objects() -> dict[str, dict[str, Any]]:
    """Return title of a section → the fields that the schema has for it."""
    whole = SCHEMA["properties"]
    parts = {name: whole[name]["properties"] for name in ("covers", "precondition", "postcondition")}
    return {"fixture": whole, **parts, **{name: SCHEMA["$defs"][name]["properties"] for name in INNER}}


def documented() -> dict[str, dict[str, bool]]:
    """Return title of a section → its fields, in order, and whether each is marked as an addition."""
    parts = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    return {
        title: {name: bool(mark) for name, mark in re.findall(r"^\| `(\w+)`( \+)? \|", text, re.MULTILINE)}
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
        if title in objects()
    }


def test_every_member_is_documented() -> None:
    """The page has a section for each object of the format, with exactly its fields, in the schema's order."""
    expected = {title: list(members) for title, members in objects().items()}
    assert {title: list(members) for title, members in documented().items()} == expected


def test_page_marks_the_additions_of_the_schema() -> None:
    """The page marks a field as an addition if the schema does, or if its whole object is one."""
    expected = {
        title: {
            name: title in ADDED or "(addition)" in member.get("description", "") for name, member in members.items()
        }
        for title, members in objects().items()
    }
    marked = documented()
    assert marked == expected
    assert marked["step"]["restart"] is True
    assert marked["fixture"]["action"] is False


def test_every_type_and_token_is_documented() -> None:
    """The page names every type of a matcher and every token."""
    types = SCHEMA["$defs"]["matcher"]["properties"]["type"]["enum"]
    row = re.search(r"^\| `type` \| (.*)\|$", PAGE[PAGE.index("## matcher") :], re.MULTILINE)
    assert row is not None
    assert re.findall(r"`(\w+)`", row[1]) == types
    assert re.findall(r"^\| `(\{\w+\})`", PAGE, re.MULTILINE) == [*PATH_TOKENS, PROJECT_ROOT]


def test_the_example_is_a_fixture(tmp_path: Path) -> None:
    """The page's example has no fault and no gap."""
    example, look = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert "list_tools" in look
    path = tmp_path / "example.json"
    path.write_text(example, encoding="utf-8")
    assert lint([str(path)]) == []
    assert [gap for gap in coverage(load([str(path)])).gaps if gap.fixture] == []
