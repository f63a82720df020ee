"""The kinds of files: which are notes, artifacts, settings and state, however a path is spelled."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.lifecycle.kinds import Kinds
from nexus_mcp.lifecycle.nexus_files import ARTIFACT, FILE, NOTE, SETTING, STATE, kind_of

KINDS = [
    ("src/a.py", FILE),
    ("nexus/state/a", FILE),
    (".nexusx/state/a", FILE),
    (".nexus/memory/a.md", NOTE),
    (".nexus/context/deep/a.md", NOTE),
    (".nexus/rules/a.md", NOTE),
    (".nexus/state/artifacts/a.md", ARTIFACT),
    (".nexus/config.yml", SETTING),
    (".nexus/capability-map.yml", SETTING),
    (".nexus/agents/engineer/meta.yml", SETTING),
    (".nexus/skills/x/body.md", SETTING),
    (".nexus/.gitignore", SETTING),
    (".nexus/memory", SETTING),
    (".nexus/Memory/a.md", SETTING),
    (".nexus/memory/a.md:stream", SETTING),
    (".nexus/memory/..", SETTING),
    (".nexus", STATE),
    ("", STATE),
    (".nexus/history.json", STATE),
    (".nexus/state", STATE),
    (".nexus/state/tasks.json", STATE),
    (".nexus/state/artifacts", STATE),
    (".nexus/state/Artifacts/a.md", STATE),
    (".nexus/state/artifacts/../plan.json", STATE),
    (".NEXUS/State/tasks.json", STATE),
    (".Nexus/HISTORY.JSON", STATE),
    (".nexu\u017f/\u017ftate/a", STATE),
    (".nex\u200cus/state/a", STATE),
    (".nexus./state/a", STATE),
    (".nexus /state. /a", STATE),
    (".nexus::$INDEX_ALLOCATION/state/a", STATE),
    (".nexus/history.json::$DATA", STATE),
    ("NEXUS~1/state/a", STATE),
    (".nexus/HISTOR~1.JSO", STATE),
    (".nexus\\state\\tasks.json", STATE),
    (".nexus//state/./tasks.json", STATE),
    (".nexus/*/tasks.json", SETTING),
    (".worktrees/x/.nexus/state/tasks.json", STATE),
    (".worktrees/x/.nexus/history.json", STATE),
    (".worktrees/x/.nexus/config.yml", SETTING),
    (".worktrees/x/.nexus/memory/a.md", FILE),
    (".nexus/memory/.nexus/state/a", STATE),
]


@pytest.mark.requirement("pre_tool_use.guard")
@pytest.mark.parametrize(("path", "kind"), KINDS)
def test_kinds(path: str, kind: int) -> None:
    """A path below .nexus/ is a note, an artifact, a setting or state, in the strictest way a system may spell it."""
    assert kind_of(path) == kind


def test_the_notes_are_the_exceptions() -> None:
    """What the vocabulary exempts from the edit gate are the folders of notes."""
    paths = load(None).vocabulary["task_exceptions"]["paths"]
    assert [kind_of(f"{path}a.md") for path in paths] == [NOTE] * 3


@pytest.mark.requirement("pre_tool_use.guard")
def test_another_way_to_the_project(tmp_path: Path) -> None:
    """A project that is reached over a link has the same notes and the same state."""
    root = tmp_path / "real"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    paths = [f"{tmp_path}/link/.nexus/{name}" for name in ("memory/a.md", "state/plan.json", "config.yml")]
    for _ in range(2):
        kinds = Kinds(str(root), paths)
        assert (list(kinds.of.values()), kinds.is_whole) == ([NOTE, STATE, SETTING], True)
        (root / ".nexus").mkdir(exist_ok=True)


@pytest.mark.requirement("pre_tool_use.guard")
def test_many_paths(tmp_path: Path) -> None:
    """Beyond a bound paths are not looked up, but read: then they are not certain, and state among them is found."""
    paths = [f"{'d/' * 30}{number}" for number in range(20_000)] + [".nexus/state/plan.json", "b/" * 5000]
    before = time.process_time()
    kinds = Kinds(str(tmp_path), paths)
    assert time.process_time() - before < 5
    assert not kinds.is_whole
    assert kinds.of[".nexus/state/plan.json"] == STATE
    assert set(kinds.of.values()) == {FILE, STATE}
