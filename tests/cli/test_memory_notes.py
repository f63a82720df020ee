"""`nexus-mcp memory list`, `show`, `add` and `import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import nexus
from tests.support import Project


def folder(tmp_path: Path, **files: str) -> Path:
    root = tmp_path / "other"
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        (root / f"{name}.md").write_text(text, encoding="utf-8")
    return root


def notes(project: Project) -> dict[str, str]:
    found = (project.nexus / "memory").glob("*.md")
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(found)}


def test_added_text_is_a_note_once(project: Project) -> None:
    """A text that begins like a note is not made again, whatever the white space and the tags are."""
    ran = nexus("memory", "add", "Ann leads the shop team.", "--kind", "user", cwd=project.root)
    assert ran == (0, "created .nexus/memory/user-ann-leads-shop-team.md\n", "")
    text = "<!-- tags: ann, leads, shop, team -->\n\nAnn leads the shop team.\n"
    assert notes(project) == {"user-ann-leads-shop-team.md": text}
    ran = nexus("memory", "add", "Ann  leads\nthe shop team.", "--name", "Other", cwd=project.root)
    assert ran == (0, "there already: .nexus/memory/user-ann-leads-shop-team.md\n", "")
    long = "x" * 200
    assert nexus("memory", "add", f"{long} one", "--name", "long one", cwd=project.root).code == 0
    ran = nexus("memory", "add", f"{long} two", cwd=project.root)
    assert ran.out == "there already: .nexus/memory/long-one.md\n"
    ran = nexus("memory", "add", f"{long[1:]} two", "--name", "long-one.md", "--tags", "a, b", cwd=project.root)
    assert ran.out.startswith("created .nexus/memory/long-one-2.md\n")
    assert notes(project)["long-one-2.md"].startswith("<!-- tags: a, b -->\n")


def test_similar_note_is_named(project: Project) -> None:
    """The requested note is created, and the message names the similar note."""
    nexus("memory", "add", "Locks are slow on NFS shares", "--name", "locks-nfs", cwd=project.root)
    ran = nexus("memory", "add", "On NFS shares locks are very slow", "--name", "nfs-locks", cwd=project.root)
    assert ran.out.split("\n")[1] == "  > Similar notes: memory/locks-nfs.md. If they say the same, keep one of them."


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--name", "x"), 2),
        (("",), 2),
        (("x", "--name", "计划"), 2),
        (("x", "--kind", "other"), 2),
        (("x", "--tags", "a-->b"), 2),
        (("<<<<<<< a",), 1),
        (("x", "--tags", "y" * 70), 0),
    ],
)
def test_unusable_notes_are_refused(project: Project, words: tuple[str, ...], code: int) -> None:
    """The reason is one sentence, and nothing is written."""
    ran = nexus("memory", "add", *words, cwd=project.root, stdin="")
    assert ran.code == code
    if code:
        assert ran.err.startswith("nexus-mcp: ")
        assert not (project.nexus / "memory").exists()


def test_list_sorts_notes_and_show_finds_one(project: Project) -> None:
    """`list` sorts by name, filters by kind and prints JSON; `show` also finds a note by its name without the
    suffix.
    """
    project.put("memory/user-role.md", "<!-- tags: ann -->\n\nLead \x1b[31m.\n")
    project.put("memory/locks.md", "Slow.\n")
    ran = nexus("memory", "list", cwd=project.root)
    assert ran.out == "locks.md  6 bytes\nuser-role.md  32 bytes  ann\n2 notes in .nexus/memory/.\n"
    ran = nexus("memory", "list", "--kind", "user", cwd=project.root)
    assert ran.out == "user-role.md  32 bytes  ann\n1 note in .nexus/memory/.\n"
    (row,) = json.loads(nexus("memory", "list", "--kind", "user", "--json", cwd=project.root).out)["notes"]
    assert (row["path"], row["prefix"], row["tags"]) == ("memory/user-role.md", "user", ["ann"])
    for name in ("user-role", "user-role.md", "memory/user-role.md", ".nexus/memory/user-role.md"):
        assert nexus("memory", "show", name, cwd=project.root).out == "<!-- tags: ann -->\n\nLead \\x1b[31m.\n"
    shown = json.loads(nexus("memory", "show", "locks", "--json", cwd=project.root).out)
    assert shown == {"path": "memory/locks.md", "text": "Slow.\n"}


@pytest.mark.parametrize("name", ["lock", "../config", "../../x", "/etc/passwd"])
def test_note_that_is_not_there(project: Project, name: str) -> None:
    """Nothing but a note is shown, and the nearest names are offered."""
    project.put("memory/locks.md", "Slow.\n")
    project.put("config.md", "x")
    ran = nexus("memory", "show", name, cwd=project.root)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("nexus-mcp: There is no note ")
    assert ("Did you mean locks.md?" in ran.err) == (name == "lock")


def test_empty_project_has_no_notes(project: Project) -> None:
    """Looking makes no folder."""
    assert nexus("memory", "list", cwd=project.root).out == "0 notes in .nexus/memory/.\n"
    assert nexus("memory", "show", "a", cwd=project.root).code == 1


def test_import_makes_each_note_once(project: Project, tmp_path: Path) -> None:
    """The files stay; a second run makes nothing, and a dry run neither."""
    other = folder(
        tmp_path,
        MEMORY="- [Tests](feedback_tests.md)\n",
        feedback_tests="---\nname: Run tests first\ntype: feedback\n---\nRun the tests before you say it works.\n",
        user_role="---\nname: role\ntype: user\n---\nAnn leads the shop team.\n",
    )
    before = {path.name: path.read_bytes() for path in other.iterdir()}
    dry = nexus("memory", "import", str(other), "--dry-run", cwd=project.root)
    assert dry.out.endswith("\n2 notes would be made, 0 already there, 1 left out.\n")
    assert not (project.nexus / "memory").exists()
    ran = nexus("memory", "import", str(other), cwd=project.root)
    assert ran == (
        0,
        "created .nexus/memory/feedback-run-tests-first.md  from feedback_tests.md\n"
        "created .nexus/memory/user-role.md  from user_role.md\n"
        "left out: MEMORY.md is the index of the other files\n"
        "2 notes made, 0 already there, 1 left out.\n",
        "",
    )
    made = notes(project)
    again = nexus("memory", "import", str(other), "--json", cwd=project.root)
    value = json.loads(again.out)
    assert {one["result"] for one in value["notes"]} == {"unchanged"}
    assert value["left_out"] == [{"source": "MEMORY.md", "reason": "is the index of the other files"}]
    assert notes(project) == made
    assert {path.name: path.read_bytes() for path in other.iterdir()} == before


def test_import_keeps_existing_notes(project: Project, tmp_path: Path) -> None:
    """A name that is taken gets a number, and two files with one beginning are one note."""
    project.put("memory/lock-order.md", "Mine.\n")
    other = folder(tmp_path, lock_order="Theirs.\n", other="Theirs.\n")
    ran = nexus("memory", "import", str(other), cwd=project.root)
    assert ran.out.split("\n")[:2] == [
        "created .nexus/memory/lock-order-2.md  from lock_order.md",
        "there already: .nexus/memory/lock-order-2.md  from other.md",
    ]
    assert notes(project)["lock-order.md"] == "Mine.\n"


def test_import_of_an_empty_folder_creates_no_note(project: Project, tmp_path: Path) -> None:
    """An empty folder creates no note; a path that is no folder is refused."""
    assert nexus("memory", "import", str(folder(tmp_path)), cwd=project.root).out.startswith("0 notes made, ")
    assert nexus("memory", "import", str(tmp_path / "gone"), cwd=project.root).code == 2
    assert not (project.nexus / "memory").exists()
