"""Markdown files of other programs as drafts of notes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nexus_mcp.errors import StorageError
from nexus_mcp.knowledge import drafts


def parsed(text: str, source: str = "") -> tuple[str, str, list[str], str]:
    draft = drafts.parse(text, source)
    assert draft is not None
    return draft.kind, draft.name, draft.tags, draft.text


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("Locks are slow.\n", "a/Lock Order.md", ("", "lock-order", [], "Locks are slow.")),
        ("---\ntype: user\nname: Role\n---\nLead.\n", "x.md", ("user", "role", [], "Lead.")),
        ("---\ntype: feedback\n---\nTests first.", "feedback_tests.md", ("feedback", "tests", [], "Tests first.")),
        ("---\ntype: reference\nname: Docs\n---\nSee.", "", ("external", "docs", [], "See.")),
        ("---\ntype: project\n---\nGoal.", "project_goal.md", ("", "project-goal", [], "Goal.")),
        ("---\nmetadata:\n  type: user\n---\nLead.", "r.md", ("user", "r", [], "Lead.")),
        ("No type.", "feedback_tests.md", ("feedback", "tests", [], "No type.")),
        ("No type.", "user.md", ("", "user", [], "No type.")),
        ("---\ntags: [a, 'b c', a]\n---\nT", "", ("", "", ["a", "b c"], "T")),
        ("---\ntags:\n  - a\n- b\nname: x y\n---\nT", "", ("", "x-y", ["a", "b"], "T")),
        ("---\ndescription: Why: a colon\n---\nT", "", ("", "", [], "Why: a colon\n\nT")),
        ('---\r\ndescription: "T is\r\n---\r\nT  is', "", ("", "", [], '"T is\n\nT  is')),
        ("---\ndescription: >-\n  One\n  two\n---\nT", "", ("", "", [], "One two\n\nT")),
        (
            "---\ndescription: In the text\n---\nIt is in\nthe text.",
            "",
            ("", "", [], "In the text\n\nIt is in\nthe text."),
        ),
        ("---\ndescription: Only this\n---\n", "", ("", "", [], "Only this")),
        ("---\nno end\n", "", ("", "", [], "---\nno end")),
        ("\ufeff---\nname: Été à 5\n---\nT", "", ("", "ete-a-5", [], "T")),
        ("---\nname: 计划\n---\nT", "a.md", ("", "a", [], "T")),
    ],
)
def test_file_becomes_a_draft(text: str, source: str, expected: tuple[str, str, list[str], str]) -> None:
    """Kind, name, tags and text, whatever the front matter is."""
    assert parsed(text, source) == expected


def test_empty_file_is_no_draft() -> None:
    """Neither is one with a front matter alone."""
    assert drafts.parse(" \n", "a.md") is None
    assert drafts.parse("---\nname: a\n---\n\n", "a.md") is None


def write(root: Path, name: str, content: bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_import_of_a_claude_folder_omits_the_index(tmp_path: Path) -> None:
    """The index of the other files is omitted; a file that cannot be a note is reported with the reason."""
    write(tmp_path, "MEMORY.md", b"# Memory\n\n- [Tests](feedback_tests.md) - run them first\n")
    write(tmp_path, "feedback_tests.md", b"Tests first.")
    write(tmp_path, "big.md", b"x" * ((1 << 20) + 1))
    write(tmp_path, "latin.md", b"\xe9")
    write(tmp_path, "nul.md", b"a\0b")
    write(tmp_path, "markers.md", b"<<<<<<< a\n")
    write(tmp_path, "empty.md", b"\n")
    write(tmp_path, "notes.txt", b"x")
    write(tmp_path, ".git/a.md", b"x")
    (tmp_path / "link.md").symlink_to("feedback_tests.md")
    os.mkfifo(tmp_path / "pipe.md")
    found, left = drafts.read_folder(str(tmp_path))
    assert [draft.source for draft in found] == ["feedback_tests.md"]
    assert left == [
        ("MEMORY.md", "is the index of the other files"),
        ("big.md", "is larger than the 1 MiB that a note may have"),
        ("empty.md", "has no text"),
        ("latin.md", "is not UTF-8"),
        ("markers.md", "has git conflict markers"),
        ("nul.md", "contains a NUL character"),
        ("pipe.md", "is no file"),
    ]


def test_import_of_a_codex_folder_omits_sources_and_skills(tmp_path: Path) -> None:
    """The long memory and the summaries become notes; their sources, and skills, do not."""
    for name in ("MEMORY.md", "memory_summary.md", "raw_memories.md", "rollout_summaries/a.md", "skills/x/SKILL.md"):
        write(tmp_path, name, b"Locks are slow.")
    found, left = drafts.read_folder(str(tmp_path))
    assert [draft.source for draft in found] == ["MEMORY.md", "memory_summary.md", "rollout_summaries/a.md"]
    assert left == [
        ("raw_memories.md", "is the source of MEMORY.md"),
        ("skills/x/SKILL.md", "is a skill and no note"),
    ]


def test_folder_is_read_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beyond the limit are reported, deeper folders are not read."""
    monkeypatch.setattr(drafts, "MOST_FILES", 1)
    write(tmp_path, "a.md", b"A")
    write(tmp_path, "b/c/d/e/f.md", b"F")
    write(tmp_path, "b/c/d/e/f/g.md", b"G")
    found, left = drafts.read_folder(str(tmp_path))
    assert [draft.source for draft in found] == ["a.md"]
    assert left == [("b/c/d/e/f.md", "comes after the 1 files that are read")]
    with pytest.raises(StorageError):
        drafts.read_folder(str(tmp_path / "gone"))
