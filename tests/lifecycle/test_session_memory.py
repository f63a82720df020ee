"""A file of session memory that is unusable is renamed and kept; a usable one is read and stays."""

from __future__ import annotations

import json

import pytest

from tests.lifecycle.support import Teller
from tests.support import Json, Project

FILE = "nexus-mcp/remembered.extension.json"
ENTRY: dict[str, Json] = {"session_id": "s", "at": "2026-01-01T00:00:00.000Z"}
UNUSABLE: dict[str, Json] = {
    "no object": [],
    "no list": {"sessions": {}},
    "no entries": {},
    "an entry that is no object": {"sessions": [ENTRY, "s"]},
    "an entry without a session": {"sessions": [{"at": ""}]},
    "a number for a text": {"sessions": [{**ENTRY, "skill": 5}]},
    "a list of digests": {"sessions": [{**ENTRY, "given": []}]},
    "a number for a digest": {"sessions": [{**ENTRY, "given": {"plan": 5}}]},
}


def files(project: Project) -> list[str]:
    return sorted(path.name for path in (project.state / "nexus-mcp").iterdir() if "remembered" in path.name)


@pytest.mark.parametrize("what", UNUSABLE)
def test_unusable_memory_is_kept_under_another_name(tell: Teller, project: Project, what: str) -> None:
    """The warning names the file that is kept, and the next event finds a usable memory."""
    (project.state / "nexus-mcp").mkdir(parents=True)
    before = json.dumps(UNUSABLE[what])
    (project.state / FILE).write_text(before)
    [warning] = tell("user_message", session_id="s", prompt="[plan] go")["warnings"]
    [name] = [name for name in files(project) if name.startswith("conflict-")]
    assert f"is kept as .nexus/state/nexus-mcp/{name}. Check its content." in warning
    assert (project.state / "nexus-mcp" / name).read_text() == before
    assert tell("user_message", session_id="t", prompt="[plan] go")["warnings"] == []
    assert len(files(project)) == 2


@pytest.mark.parametrize("entries", [[], [ENTRY], [{**ENTRY, "given": {"plan": "0" * 64}, "mode": "auto"}]])
def test_usable_memory_is_used(tell: Teller, project: Project, entries: list[Json]) -> None:
    """No warning, and no second file."""
    (project.state / "nexus-mcp").mkdir(parents=True)
    (project.state / FILE).write_text(json.dumps({"sessions": entries}))
    assert tell("user_message", session_id="s", prompt="[plan] go")["warnings"] == []
    assert files(project) == ["remembered.extension.json"]
