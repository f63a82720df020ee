"""Files that git has not merged: named at the start of a session, and edited only for a task that names them."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from nexus_mcp.lifecycle.merge_conflicts import find_conflicts
from tests.lifecycle.support import Teller, put
from tests.support import Project, task, tasks

NAME = "src/größe a.py"


def git(project: Project, *words: str, fails: bool = False) -> None:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e", *words]
    done = subprocess.run(command, cwd=project.root, check=False, capture_output=True)
    assert bool(done.returncode) == fails, done


def save(project: Project, text: str) -> None:
    for name in (NAME, "b.py"):
        (project.root / name).parent.mkdir(exist_ok=True)
        (project.root / name).write_text(text if name == NAME else "b\n")
    git(project, "add", "-A")


@pytest.fixture
def tell(project: Project) -> Teller:
    """A repository with a conflict in NAME, and a task that does not name it."""
    subprocess.run(["rm", "-rf", ".git"], cwd=project.root, check=True)
    git(project, "init", "-q", "-b", "main")
    for branch, text in (("main", "0\n"), ("side", "1\n"), ("main", "2\n")):
        git(project, "checkout", "-q", *([] if text != "1\n" else ["-b"]), branch, fails=text == "0\n")
        save(project, text)
        git(project, "commit", "-qm", text)
    git(project, "merge", "side", fails=True)
    project.put("state/tasks.json", tasks(task(1)))
    return Teller(project.root, harness_id="claude-code")


def edit(tell: Teller, path: str = NAME) -> dict[str, Any]:
    tool_input = {"file_path": path, "old_string": "a", "new_string": "b"}
    return tell("pre_tool_use", tool="Edit", tool_input=tool_input)


def test_session_start_names_the_files(project: Project, tell: Teller) -> None:
    """The context has the quoted names of unmerged files, and none after the merge."""
    context = tell("session_start", source="startup", session_id="s")["context"]
    assert f'unresolved merge conflicts: "{NAME}"' in context
    git(project, "add", "-A")
    assert "unresolved" not in tell("session_start", source="startup", session_id="s").get("context", "")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_index_of_each_version_is_read(project: Project, tell: Teller, version: str) -> None:
    """Indexes that git writes in version 2, 3 or 4 give the same names."""
    if version == "3":  # git writes it only for entries with such a flag
        (project.root / "new.py").write_text("x")
        git(project, "add", "-N", "new.py")
    else:
        git(project, "update-index", "--index-version", version)
    assert (project.root / ".git/index").read_bytes()[7] == int(version)
    assert find_conflicts(str(project.root)).names == [NAME]


@pytest.mark.requirement("gates.conflicts")
def test_edit_needs_a_task_that_names_the_file(project: Project, tell: Teller) -> None:
    """Other files are edited as always, and this one for an unfinished task with its path."""
    answer = edit(tell)
    assert answer["decision"] == "block"
    assert "unresolved merge conflict" in answer["reason"]
    assert edit(tell, str(project.root / NAME))["decision"] == "block"
    assert edit(tell, "b.py")["decision"] == "allow"
    project.put("state/tasks.json", tasks(task(1, context=f"Merge {NAME}.", status="completed"), task(2)))
    assert edit(tell)["decision"] == "block"
    project.put("state/tasks.json", tasks(task(1, context=f"Merge {NAME}.")))
    assert edit(tell)["decision"] == "allow"


@pytest.mark.parametrize(
    ("gate", "decision", "count"), [("warn", "allow", 1), ("off", "allow", 0), ("auto", "block", 0)]
)
def test_gate_of_edits_decides(project: Project, tell: Teller, gate: str, decision: str, count: int) -> None:
    """The gate for edits holds for conflicts, too."""
    put(project, ".nexus/config.yml", f'gates:\n  edit: "{gate}"\n')
    answer = edit(tell)
    assert (answer["decision"], len(answer["warnings"])) == (decision, count)


# Version 4: each name begins with the whole name before it, so that names would grow beyond any path.
GROWING = b"DIRC\0\0\0\4\0\0\0\x09" + (b"\0" * 63 + b"a" * 4000 + b"\0") * 9


@pytest.mark.parametrize(
    "data", [b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff", b"DIRC\0\0\0\x09\0\0\0\1", b"x" * 100, GROWING]
)
def test_unreadable_index_during_a_merge(project: Project, tell: Teller, data: bytes) -> None:
    """The markers in a file count then: nothing is let through because the index cannot be read."""
    (project.root / ".git/index").write_bytes(data)
    assert edit(tell)["decision"] == "block"
    assert edit(tell, "b.py")["decision"] == "allow"
    (project.root / ".git/MERGE_HEAD").unlink()
    assert edit(tell)["decision"] == "allow"


def test_conflict_of_a_stash_is_found(project: Project, tell: Teller) -> None:
    """`git stash pop` leaves no sign of a merge: the file's markers lead to the index."""
    (project.root / ".git/MERGE_HEAD").unlink()
    assert edit(tell)["decision"] == "block"
