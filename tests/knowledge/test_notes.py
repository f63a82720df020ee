"""Notes are created and extended, and special or malformed files left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.errors import NexusError, PathRefused, StateError
from nexus_mcp.knowledge import notes
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.support import Project


def put(project: Project, text: str, tags: list[str] | None = None, name: str = "a.md") -> str:
    with notes.locked_folder(Store(Workspace(str(project.root))), "memory") as (_, folder, held):
        return notes.put(folder, name, text, tags or [], held)


@pytest.mark.requirement("memory.written")
def test_a_note_is_begun_and_added_to(project: Project) -> None:
    """A new note has tags and text; a later text becomes a paragraph; a text that the note already has is not added."""
    assert put(project, "One.", ["a", "b"]) == "created"
    assert put(project, "Two.\nLines.", ["c"]) == "extended"
    assert put(project, "One.") == "unchanged"
    assert project.get("memory/a.md") == b"<!-- tags: a, b -->\n\nOne.\n\nTwo.\nLines.\n"
    assert project.get(".gitignore") == b"state/\n"


@pytest.mark.requirement("memory.written")
@pytest.mark.parametrize(
    ("note", "text", "is_there"),
    [
        ("Never use eval in templates.\n", "use eval", False),
        ("Never use eval in templates.\n", "Never use eval", False),
        ("Never\nuse eval\n", "use eval", False),
        ("<!-- tags: use eval -->\n\nNo.\n", "use eval", False),
        ("<!-- tags: eval -->\n\nNo.\n", "<!-- tags: eval -->", False),
        ("<!-- tags: eval -->\nuse eval\n", "use eval", True),
        ("\ufeffuse eval\n", "use eval", True),
        ("A.\r\n\r\nOne.  \r\nTwo.\r\n\r\nB.\r\n", "One.\nTwo.\n\nB.", True),
        ("A.\n\n \n\nB.", "A.\n\nB.", True),
        ("A.\n\nB.\n\nC.", "A.\n\nC.", False),
        ("A.", "A.\n\nB.", False),
        ("", "A.", False),
        ("AA.\n\nB.", "A.\n\nB.", False),
        ("A.\n\nBB.", "A.\n\nB", False),
        ("A.\n\nA.\n\nB.", "A.\n\nB.", True),
        ("A.", " \n", True),
        ("", "", True),
    ],
)
def test_note_contains_only_whole_paragraphs(note: str, text: str, is_there: bool) -> None:
    """Whole paragraphs, in their order, whatever the line ends are; no part of one, and not the tags."""
    assert notes.contains(note, text) is is_there


def test_many_similar_paragraphs_take_linear_time() -> None:
    """Each paragraph is compared once: comparing all pairs would take minutes, under the lock."""
    note = "a\n\n" * 200_000
    assert notes.contains(note, "a\n\n" * 100_000)
    assert not notes.contains(note, "a\n\n" * 100_000 + "b")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"New.\n"),
        (b"\n\n", b"New.\n"),
        (b"No end", b"No end\n\nNew.\n"),
        (b"One.\r\nTwo.\r\n", b"One.\r\nTwo.\r\n\r\nNew.\r\n"),
        (b"\xef\xbb\xbfOne.\n", b"\xef\xbb\xbfOne.\n\nNew.\n"),
    ],
)
def test_existing_content_of_a_note_is_kept(project: Project, before: bytes, after: bytes) -> None:
    """Its bytes, its line ends, a mark of byte order."""
    project.put("memory/a.md", before)
    assert put(project, "New.", ["t"]) == "extended"
    assert project.get("memory/a.md") == after


@pytest.mark.requirement("memory.bad")
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("One\né".encode() + b"\xff\n", r"\(line 2, column 2\) is not UTF-8"),
        (b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", "has git conflict markers"),
        (b"x" * (5 << 20), "is larger than the 4 MiB that are read"),
        (b"x" * ((1 << 20) - 4), "more than the 1 MiB that a note may have"),
    ],
)
def test_unusable_note_is_refused_and_kept(project: Project, data: bytes, problem: str) -> None:
    """An unusable note is refused by its name, and stays unchanged."""
    project.put("memory/a.md", data)
    with pytest.raises(StateError, match=problem) as raised:
        put(project, "New.")
    assert raised.value.file == ".nexus/memory/a.md"
    assert project.get("memory/a.md") == data


@pytest.mark.requirement("memory.links")
def test_nothing_is_written_through_a_link(project: Project, tmp_path: Path) -> None:
    """Not through the note, and not through the folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret")
    (project.nexus / "memory").mkdir(parents=True)
    (project.nexus / "memory" / "a.md").symlink_to(outside / "a.md")
    with pytest.raises(PathRefused):
        put(project, "New.")
    (project.nexus / "memory" / "a.md").unlink()
    (project.nexus / "memory").rmdir()
    (project.nexus / "memory").symlink_to(outside)
    with pytest.raises(PathRefused):
        put(project, "New.", name="b.md")
    assert sorted(path.name for path in outside.iterdir()) == ["a.md"]
    assert (outside / "a.md").read_text() == "secret"


@pytest.mark.requirement("memory.written")
def test_a_first_note_that_fails_leaves_nothing(project: Project) -> None:
    """A failed first note leaves neither its folder nor `.nexus`."""
    with pytest.raises(NexusError):
        put(project, "x" * (2 << 20))
    assert not project.nexus.exists()


def test_absent_note_is_none(project: Project) -> None:
    """Its text, None when it is absent."""
    project.put("rules/a.md", "Kind.")
    with Store(Workspace(str(project.root))).nexus() as nexus:
        assert notes.read(nexus, "rules", "a.md") == "Kind."
        assert notes.read(nexus, "rules", "b.md") is None
        assert notes.read(nexus, "memory", "a.md") is None
    assert notes.read(None, "rules", "a.md") is None
