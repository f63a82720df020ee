"""A folder of notes is read once, and afterwards only its changed notes."""

from __future__ import annotations

import os
from typing import Any

import pytest

from nexus_mcp.knowledge import notes, scan
from nexus_mcp.store.folder import Folder
from tests.support import Project


def folder_of(project: Project) -> Folder:
    project.put("memory/a.md", b"<!-- tags: T, u -->\nAbout Locks.\n\nA second.\n")
    return Folder.root(str(project.nexus / "memory"))


def test_scan_knows_tags_and_beginning_of_a_note(project: Project) -> None:
    """A scan keeps the tags and the beginning of the text, both in lower case, up to the compared length."""
    with folder_of(project) as folder:
        project.put("memory/long.md", "Z" * 20_000)
        found = scan.Scan("memory")
        assert found.refresh(folder)
    assert [(note.path, sorted(note.tags)) for note in found.notes.values()] == [
        ("memory/a.md", ["t", "u"]),
        ("memory/long.md", []),
    ]
    assert [note.text for note in found.notes.values()] == ["about locks.\n\na second.\n", "z" * notes.COMPARED_BYTES]


def test_absent_folder_has_no_notes() -> None:
    """It has no notes, and no change."""
    found = scan.Scan("memory")
    assert not found.refresh(None)
    assert found.notes == {}
    assert found.find_holder(None, "text", ()) == ""


def test_unreadable_notes_are_left_out(project: Project) -> None:
    """A link, a pipe and a folder of a note's name, and a file that is hidden or no note."""
    with folder_of(project) as folder:
        place = project.nexus / "memory"
        (place / "link.md").symlink_to(place / "a.md")
        os.mkfifo(place / "pipe.md")
        (place / "folder.md").mkdir()
        project.put("memory/.hidden.md", "x")
        project.put("memory/other.txt", "x")
        found = scan.Scan("memory")
        found.refresh(folder)
        assert list(found.notes) == ["a.md"]
        assert not found.refresh(folder)


def test_only_changed_notes_are_read_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """New, rewritten, edited and removed notes are detected; no other note is opened."""
    with folder_of(project) as folder:
        for name in ("b", "c", "d"):
            project.put(f"memory/{name}.md", name)
        found = scan.Scan("memory")
        found.refresh(folder)
        opened = []
        open_ = Folder.open

        def noted(self: Folder, name: str, flags: int, *others: Any) -> int:
            opened.append(name)
            return open_(self, name, flags, *others)

        monkeypatch.setattr(Folder, "open", noted)
        assert not found.refresh(folder)
        assert opened == []
        project.put("memory/b.md", "longer")
        (project.nexus / "memory" / "c.md").unlink()
        project.put("memory/new.md", "New.")
        assert found.refresh(folder)
        assert opened == ["b.md", "new.md"]
        assert [(name, note.text) for name, note in found.notes.items()][1:] == [
            ("b.md", "longer"),
            ("d.md", "d"),
            ("new.md", "new."),
        ]


@pytest.mark.parametrize("before", [0, 3_000, 5_000, 40_000, 1_000_000])
def test_note_that_contains_a_text_is_found(project: Project, before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As whole paragraphs, wherever in the note they stand and however large it is."""
    with folder_of(project) as folder:
        text = "One line\n  and another.\n\nA paragraph."
        filler = "x" * before
        project.put("memory/b.md", f"{filler}\r\n\r\n{text}\n\nMore.".replace("\n", "\r\n"))
        project.put("memory/c.md", f"{filler}One line\n  and another.\n\nA paragraph. And more.")
        found = scan.Scan("memory")
        found.refresh(folder)
        assert found.find_holder(folder, text, found.notes) == "b.md"
        assert found.find_holder(folder, text, ["a.md", "c.md"]) == ""
        assert found.find_holder(folder, "A second.", found.notes) == "a.md"
        assert found.find_holder(folder, "second.", found.notes) == ""
        monkeypatch.setattr(scan, "_ALL", 0)
        found = scan.Scan("memory")
        found.refresh(folder)
        assert found.find_holder(folder, text, found.notes) == "b.md"


def test_searched_size_of_large_notes_is_limited(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a limited number of large notes is searched whole; the beginning of each is always searched."""
    with folder_of(project) as folder:
        project.put("memory/b.md", "Here.\n\n" + "x" * 40_000 + "\n\nThere.")
        found = scan.Scan("memory")
        found.refresh(folder)
        monkeypatch.setattr(scan, "_SEARCHED", 10_000)
        assert found.find_holder(folder, "Here.", found.notes) == "b.md"
        assert found.find_holder(folder, "There.", found.notes) == ""
