"""Files of odd kinds in a worktree, or a checkout that has only some files: nothing hangs, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from nexus_mcp.run import events as ev
from nexus_mcp.run.collecting import refusal, refusal_of_special
from nexus_mcp.run.worktrees import Repository
from tests.run.runs import Ground, git
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
WORK: list[Json] = [{"write": "f1", "text": "1\n"}]
FILES = {"README.md": "x\n", "dir/a": "a\n", "lib/x": "x\n"}
SPECIAL = {
    "pipe": "mkfifo README.md",
    "socket": "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"README.md\")'",
}


def test_refusal_counts_the_names_that_it_leaves_out() -> None:
    """An agent that corrects only the listed files would be refused again."""
    names = [f"f{number}" for number in range(23)]
    assert refusal_of_special(names).startswith(f"{', '.join(names[:20])} and 3 more: a pipe")
    assert refusal(names).startswith(f"{', '.join(names[:20])} and 3 more: a folder")


def left(tmp_path: Path, command: str, *more: list[Json]) -> Ground:
    return Ground(tmp_path, ONE, {"1": [[*WORK, {"run": command}], *more]}, files=FILES)


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_special_file_in_place_of_a_tracked_one_is_mended(tmp_path: Path, kind: str) -> None:
    """git cannot store it: the session is told so, and everything else is committed."""
    ground = left(tmp_path, f"rm README.md; {SPECIAL[kind]}", [{"run": "rm README.md; echo new > README.md"}])
    state = ground.run()
    (attempt,) = state.task(1).attempts
    assert "README.md: a pipe, socket or device is in the place of a file" in attempt.attempt.mends[0].reason
    assert state.task(1).state == "completed"
    assert ground.tree()["README.md"] == "new"


def test_other_work_beside_a_special_file_is_committed(tmp_path: Path) -> None:
    """The attempt fails, and its branch has the files that git can store."""
    ground = left(tmp_path, "rm README.md; mkfifo README.md")
    state = ground.run(mend=0, tiers=[{"tier": "standard", "attempts": 1}])
    assert state.task(1).state == "failed"
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1:f1") == "1"
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1:README.md") == "x"


KINDS: dict[str, dict[str, str]] = {
    "rm README.md; mkdir README.md; echo new > README.md/file": {"README.md/file": "new"},
    "rm -r dir; echo file > dir": {"dir": "file"},
    "git mv README.md readme.md": {"readme.md": "x"},
    "mv README.md readme.md": {"readme.md": "x"},
    "ln -s /etc/passwd out; ln -s ../../.. up; ln -s loop loop": {
        "out": "/etc/passwd",
        "up": "../../..",
        "loop": "loop",
    },
    "rm -r dir; ln -s /nowhere dir": {"dir": "/nowhere"},
    "mkfifo new": {"README.md": "x"},
}


@pytest.mark.parametrize("command", KINDS)
def test_a_file_that_changes_its_kind_or_case_is_merged(tmp_path: Path, command: str) -> None:
    """A folder for a file, a file for a folder, another case, links that lead out, a new pipe."""
    ground = left(tmp_path, command)
    assert ground.run().task(1).state == "completed"
    assert {**KINDS[command], "f1": "1"}.items() <= ground.tree().items()


@pytest.mark.parametrize("cone", ["--cone", "--no-cone"])
def test_a_sparse_checkout_loses_nothing(tmp_path: Path, cone: str) -> None:
    """Worktrees are as sparse as the checkout; files that a session writes elsewhere are committed, others stay."""
    ground = left(tmp_path, "mkdir -p out lib; echo o > out/new; echo changed > lib/y; test ! -e lib/x")
    git(ground.root, "sparse-checkout", "set", cone, "dir")
    ground.configure()
    code, out, err = ground.cli("--trust", "--merge", "auto")
    assert code == 0, out + err
    wanted = {"README.md": "x", "dir/a": "a", "lib/x": "x", "lib/y": "changed", "out/new": "o", "f1": "1"}
    assert ground.tree() == wanted
    assert git(ground.root, "status", "--short") == ""


def test_a_link_of_the_configuration_does_not_leave_the_worktree(tmp_path: Path) -> None:
    """A task replaced the folder of the linked file by a link that leads out: nothing is written there."""
    outside, worktree = tmp_path / "outside", tmp_path / "worktree"
    for folder in (outside, worktree, tmp_path / "project" / "local"):
        folder.mkdir(parents=True)
    (tmp_path / "project" / "local" / ".env").touch()
    (worktree / "local").symlink_to(outside)
    Repository(str(tmp_path / "project"), "run", str(tmp_path)).link_all(str(worktree), ["local/.env"])
    assert os.listdir(outside) == []


def test_a_file_name_that_is_no_text_is_committed(tmp_path: Path) -> None:
    """The name has a byte that is no UTF-8: the log has it in another form, and the run goes on."""
    named = "printf x > \"$(printf 'caf\\351')\""
    ground = Ground(tmp_path, ONE, {"1": [[{"run": named}]]})
    assert ground.run().task(1).state == "completed"
    (collected,) = [event for event in ground.log() if isinstance(event, ev.Collected)]
    assert collected.files == ["caf\\udce9"]
    names = subprocess.run(
        ["git", "ls-tree", "-z", "--name-only", f"nexus/{ground.run_id}/integration"],
        cwd=ground.root,
        capture_output=True,
        check=True,
    ).stdout
    assert b"caf\xe9" in names.split(b"\0")


def test_a_title_with_a_lone_surrogate_stops_no_run(tmp_path: Path) -> None:
    """JSON can hold it, UTF-8 cannot: log, status, report and brief have an escape in its place."""
    ground = Ground(tmp_path, [{"id": 1, "title": "HALF", "context": "HALF"}], {"1": [[{"write": "f1", "text": "x"}]]})
    ground.configure()
    path = ground.root / ".nexus/state/tasks.json"
    path.write_text(path.read_text().replace("HALF", "\\ud800"))
    code, out, err = ground.cli("--trust", "--merge", "auto")
    assert code == 0, out + err
    assert json.loads((path.parent / "runs" / ground.run_id / "status.json").read_text())["progress"]["passed"] == 1


def test_a_worktree_that_a_session_removed_is_named(tmp_path: Path) -> None:
    """The sentence says what happened and what to type; another attempt begins."""
    ground = Ground(tmp_path, ONE, {"1": [[{"run": "cd ..; rm -rf 1-1"}], [{"write": "f1", "text": "x"}]]})
    ground.configure()
    code, out, _ = ground.cli("--trust", "--merge", "never")
    assert (code, "was removed while the attempt was at work" in out) == (3, True)
    assert ground.cli("retry", "1")[0] == 0
    assert ground.cli("--merge", "never")[0] == 0
