"""The index lists notes, refuses special files, and reads only the beginning of each note."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.knowledge import index
from tests.knowledge.support import indexed
from tests.support import Project


def note(path: str, tags: list[str], size: int) -> dict[str, Any]:
    return {"path": path, "kind": path.partition("/")[0], "tags": tags, "size": size}


@pytest.mark.requirement("knowledge.index")
def test_the_index_has_the_notes_with_their_tags(project: Project) -> None:
    """Each Markdown file of the three folders is listed by path, with the tags of its first line."""
    project.put("rules/frontend.md", "<!-- tags: frontend, css -->\n\n- Use grid.\n")
    project.put("memory/empirical-cache.md", "<!-- tags: cache -->\nWarm it first.\n")
    project.put("context/goal.md", "No tags here.\n")
    project.put("memory/notes.txt", "no note")
    project.put("memory/.hidden.md", "no note")
    project.put("memory/deeper/note.md", "not in the folder itself")
    project.put("other/note.md", "no folder of notes")
    assert indexed(project) == [
        note("context/goal.md", [], 14),
        note("memory/empirical-cache.md", ["cache"], 36),
        note("rules/frontend.md", ["frontend", "css"], 42),
    ]


def test_without_notes_the_index_is_empty(project: Project) -> None:
    """No folder, and an empty one, have no notes; nothing is made by looking."""
    assert indexed(project) == []
    (project.nexus / "memory").mkdir(parents=True)
    assert indexed(project) == []
    assert sorted(path.name for path in project.nexus.iterdir()) == ["memory"]


@pytest.mark.requirement("knowledge.cheap")
def test_index_of_a_thousand_notes_reads_each_note_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the notes are: three listings, and of each note one read of its first bytes."""
    for number in range(1000):
        project.put(f"memory/note-{number:04}.md", b"<!-- tags: a, b -->\n" + b"x" * 5000)
    for kind in ("context", "rules"):
        (project.nexus / kind).mkdir()
    seen: Counter[str] = Counter()
    longest = []
    read, scandir = os.read, os.scandir

    def counted_read(fd: int, most: int) -> bytes:
        seen["read"] += 1
        longest.append(most)
        return read(fd, most)

    def counted_scandir(path: Any) -> Any:
        seen["list"] += 1
        return scandir(path)

    monkeypatch.setattr(os, "read", counted_read)
    monkeypatch.setattr(os, "scandir", counted_scandir)
    entries = indexed(project)
    monkeypatch.undo()
    assert len(entries) == 1000
    assert entries[999] == note("memory/note-0999.md", ["a", "b"], 5020)
    assert (seen, max(longest)) == ({"read": 1000, "list": 3}, index.FIRST_BYTES)


@pytest.mark.requirement("knowledge.bad")
@pytest.mark.parametrize("plant", ["link", "folder", "pipe"])
def test_index_refuses_links_and_folders_by_name(project: Project, plant: str) -> None:
    """A link, a folder and a pipe of a note's name are refused by name; with a list for faults the rest is had."""
    project.put("memory/a.md", "first\n")
    project.put("rules/z.md", "last\n")
    place = project.nexus / "memory" / "b.md"
    if plant == "link":
        place.symlink_to(project.nexus / "memory" / "a.md")
    elif plant == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    with pytest.raises(PathRefused) as raised:
        indexed(project)
    assert raised.value.path == ".nexus/memory/b.md"
    faults: list[str] = []
    assert indexed(project, faults) == [note("memory/a.md", [], 6), note("rules/z.md", [], 5)]
    assert faults == [raised.value.fault.replace(".nexus/memory/b.md", '".nexus/memory/b.md"')]


@pytest.mark.requirement("knowledge.bad")
def test_a_linked_folder_is_refused(project: Project, tmp_path: Path) -> None:
    """A folder of notes that is a link is not looked into."""
    project.put("context/goal.md", "x")
    (project.nexus / "memory").symlink_to(tmp_path)
    (tmp_path / "secret.md").write_text("<!-- tags: secret -->\n")
    with pytest.raises(PathRefused):
        indexed(project)
    faults: list[str] = []
    assert indexed(project, faults) == [note("context/goal.md", [], 1)]
    assert len(faults) == 1


@pytest.mark.requirement("knowledge.bad")
def test_folder_with_too_many_notes_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with more notes than the bound is refused with their number."""
    monkeypatch.setattr(index, "MOST_NOTES", 2)
    for number in range(3):
        project.put(f"memory/{number}.md", "x")
    with pytest.raises(StateError, match=r"^\.nexus/memory has 3 notes, more than the 2 that are listed"):
        indexed(project)


def test_note_removed_meanwhile_is_omitted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that is deleted between the listing and the reading is no fault."""
    project.put("memory/a.md", "x")
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: [*listdir(path), "gone.md"])
    assert indexed(project) == [note("memory/a.md", [], 1)]
