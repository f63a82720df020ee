"""Paths of notes, artifacts, settings and state are recognized in every spelling."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.lifecycle import nexus_files
from nexus_mcp.lifecycle.nexus_files import ARTIFACT, FILE, NOTE, SETTING, STATE, Kinds, kind_of, names_state
from tests.support import Json

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
    (".nexus/memory/.. /config.yml", SETTING),
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
def test_path_has_its_strictest_kind(path: str, kind: int) -> None:
    """A path below .nexus/ is a note, an artifact, a setting or state, in the strictest way a system may spell it."""
    assert kind_of(path) == kind


def test_the_notes_are_the_exceptions() -> None:
    """The folders that the vocabulary exempts from the edit gate are those of the notes."""
    paths = load(None).vocabulary["task_exceptions"]["paths"]
    assert [kind_of(f"{path}a.md") for path in paths] == [NOTE] * 3


@pytest.mark.requirement("pre_tool_use.guard")
def test_project_reached_by_a_link_has_the_same_kinds(tmp_path: Path) -> None:
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
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src\\..\\.nexus\\history.json", STATE),
        ("src\\..\\a.py", FILE),
        ("..\\x", FILE),
        ("a\\..\\..", STATE),
        (" .nexus/state/tasks.json", STATE),
        ("\t.nexus/history.json\n", STATE),
        ("\u00a0.nexus/config.yml\u3000", SETTING),
        ("\ufeff.nexus/state/x", STATE),
        (" .nexus/memory/a.md", FILE),
        (" src/a.py ", FILE),
        ("\u2028.nexus/state/x\u202f", STATE),
        ("   ", FILE),
        ("hard.yml", SETTING),
    ],
)
def test_other_spellings_of_a_path_have_the_same_kind(tmp_path: Path, path: str, kind: int) -> None:
    """Backslashes, blanks that a tool cuts off and hard links lead to no more than the plain path does."""
    (tmp_path / ".nexus").mkdir()
    (tmp_path / ".nexus/config.yml").write_text("{}\n")
    (tmp_path / "hard.yml").hardlink_to(tmp_path / ".nexus/config.yml")
    assert Kinds(str(tmp_path), [path]).of[path] == kind


@pytest.mark.requirement("pre_tool_use.guard")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("../other/.nexus/../a.py", SETTING),  # as written
        ("sub/notes/..", STATE),  # with the link followed, it is .nexus
        ("sub/out/../agents/meta.yml", SETTING),  # with `..` removed before the link, it is .nexus/agents
    ],
)
def test_parent_of_a_link_is_read_in_every_way(tmp_path: Path, path: str, kind: int) -> None:
    """Tools and systems differ in whether they follow a link before `..`; the strictest kind counts."""
    root = tmp_path / "project"
    for folder in ("project/.nexus/memory", "project/.nexus/agents", "project/sub", "elsewhere/deep"):
        (tmp_path / folder).mkdir(parents=True)
    for name, target in (("notes", ".nexus/memory"), ("agents", ".nexus/agents"), ("out", "../elsewhere/deep")):
        (root / "sub" / name).symlink_to(root / target)
    assert Kinds(str(root), [path]).of[path] == kind


@pytest.mark.requirement("pre_tool_use.guard")
def test_mounted_state_is_recognized_by_its_parent_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bind mount has the inode of the mounted folder; its path does not show that."""
    (tmp_path / ".nexus/state").mkdir(parents=True)
    look, mounted = nexus_files._inode, str(tmp_path / "mounted")
    monkeypatch.setattr(
        nexus_files, "_inode", lambda path: look(f"{tmp_path}/.nexus/state" if path == mounted else path)
    )
    assert Kinds(str(tmp_path), ["mounted/deep/new.json"]).of == {"mounted/deep/new.json": STATE}


@pytest.mark.requirement("pre_tool_use.guard")
def test_state_of_the_main_checkout_is_recognized_by_a_hard_link(tmp_path: Path) -> None:
    """The worktree shares that state, so a second name of its file is state, too."""
    root, state = tmp_path / "worktree", tmp_path / "main/.nexus/state"
    root.mkdir()
    state.mkdir(parents=True)
    (state / "plan.json").write_text("{}")
    (tmp_path / "other.json").hardlink_to(state / "plan.json")
    assert Kinds(str(root), ["../other.json"], str(tmp_path / "main")).of == {"../other.json": STATE}


@pytest.mark.requirement("pre_tool_use.guard")
def test_a_thousand_paths_are_certain_and_one_more_is_not(tmp_path: Path) -> None:
    """Kinds resolves at most 1000 paths."""
    paths = [str(number) for number in range(1001)]
    assert Kinds(str(tmp_path), paths[:1000]).is_whole
    assert not Kinds(str(tmp_path), paths).is_whole


@pytest.mark.requirement("pre_tool_use.guard")
def test_state_of_the_main_checkout_is_guarded_from_a_worktree(tmp_path: Path) -> None:
    """From a worktree the state of the main checkout is guarded as its own is, by whatever path it is named."""
    root = tmp_path / "worktree"
    root.mkdir()
    (tmp_path / "main/.nexus/state").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "main/.nexus")
    for start in (f"{tmp_path}/main/.nexus", "../main/.nexus", f"{tmp_path}/link", "../link"):
        names = ("state/tasks.json", "history.json", "config.yml", "memory/a.md")
        kinds = Kinds(str(root), [f"{start}/{name}" for name in names])
        assert list(kinds.of.values()) == [STATE, STATE, SETTING, FILE]


@pytest.mark.requirement("pre_tool_use.guard")
def test_paths_beyond_the_bound_are_uncertain(tmp_path: Path) -> None:
    """Beyond a bound paths are not looked up, but read: then they are not certain, and state among them is found."""
    paths = [f"{'d/' * 30}{number}" for number in range(20_000)] + [".nexus/state/plan.json", "b/" * 5000]
    before = time.process_time()
    kinds = Kinds(str(tmp_path), paths)
    assert time.process_time() - before < 5
    assert not kinds.is_whole
    assert kinds.of[".nexus/state/plan.json"] == STATE
    assert set(kinds.of.values()) == {FILE, STATE}


@pytest.mark.requirement("pre_tool_use.guard")
@pytest.mark.parametrize(
    ("tool_input", "expected"),
    [
        ({".Nexus/STATE/plan.json": 1}, True),
        ({"edits": [{"text": "rm .nexus/history.json"}]}, True),
        ([[".nexus", "state"]], False),
        ({"path": ".nexus/config.yml"}, False),
        (None, False),
    ],
)
def test_input_names_the_state_in_a_key_or_a_value(tool_input: Json, expected: bool) -> None:
    """A key or value counts only if it names both `.nexus` and a state file in it."""
    assert names_state(tool_input) is expected
