"""Several users of a machine share a project in a folder with the setgid bit.

As root the users are real ones. Otherwise one user plays both, and the permission bits alone tell what another may do.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.doctor.examine import examine
from nexus_mcp.errors import NexusError
from nexus_mcp.merging import repair
from nexus_mcp.server.app import App
from nexus_mcp.store import atomic, harness_files, journal
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.history import index as history_index
from nexus_mcp.workspace import Workspace
from tests.events import handle
from tests.store.crash_points import Died
from tests.store.oplog_support import answered, take_back
from tests.store.users import ANN, BEN, ROOT, TEAM, by, made
from tests.support import NAMES, SMALLEST

EVENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session_start", {"source": "startup"}),
    ("agent_spawn", {"agent_name": "engineer", "agent_id": "a1"}),
    ("post_tool_use", {"tool": "Read", "file": ".nexus/memory/note.md", "agent_id": "a1", "status": "ok"}),
    ("user_message", {"prompt": "[m] Builds are run with make."}),
    ("user_message", {"prompt": "[rule] Never use eval."}),
    ("context_compact", {}),
    ("agent_complete", {"agent_id": "a1", "last_message": "done"}),
    ("session_end", {}),
)


def work(root: Path) -> list[str]:
    """Return the failures of all that a user does in a day: every tool, every event, undo, repair, and doctor."""
    failed = []

    def tried(name: str, act: Callable[[], Any]) -> None:
        try:
            act()
        except (NexusError, OSError, AssertionError) as error:
            failed.append(f"{name}: {error}")

    for name in (*NAMES, "plan_start", "task_add"):
        tried(name, lambda name=name: answered(root, name, SMALLEST[name]))  # type: ignore[misc]
    tried("undo", lambda: take_back(root))
    for event, params in EVENTS:
        for warning in handle(event, params, Workspace(str(root), "claude-code"))["warnings"]:
            if "ermission" in warning or "could not" in warning:
                failed.append(f"{event}: {warning}")
    harness_files.log_hook_error(
        Workspace(str(root), "claude-code"), "2026-01-01T00:00:00.000Z", "user_message", "a fault"
    )
    tried("repair", lambda: repaired(root))
    failed += [f"doctor: {one.code} {one.file}" for one in examine(str(root), 0.0).findings if is_access(one.code)]
    return failed


def repaired(root: Path) -> None:
    """Break the history as a program of this user would, and repair it."""
    with Folder.root(str(root)) as top, top.child(".nexus") or top as nexus:
        whole = nexus.read("history.json", 1 << 20) or b""
        atomic.put(nexus, "history.json", whole[:-4])
    assert repair.repair(str(root), damage=True).backup


def is_access(code: str) -> bool:
    return code in ("unreadable", "unwritable", "read-only", "world-writable", "closed-to-group")


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Read lazily loaded files now: the checkout may be closed to other users."""
    root = tmp_path_factory.mktemp("warm")
    with patch.object(history_index, "CACHE_FROM_BYTES", 0):
        assert work(root) == []
        assert work(root) == []


@pytest.fixture
def team(fast_path: Path) -> Path:
    """An empty project folder that a team shares."""
    return made(fast_path / "project", 0o2770)


def modes(root: Path) -> Iterator[tuple[str, int, int]]:
    """(path, permission bits, group) of all that is in `.nexus`."""
    for path in (root / ".nexus", *(root / ".nexus").rglob("*")):
        info = path.stat()
        yield path.relative_to(root).as_posix(), stat.S_IMODE(info.st_mode), info.st_gid


@pytest.mark.parametrize("umasks", list(itertools.product((0o002, 0o022, 0o077), repeat=2)))
def test_each_user_can_do_what_the_other_can(team: Path, umasks: tuple[int, int]) -> None:
    """Whichever user begins, and whatever the umasks are, no call of one user fails because of the other's files."""
    for user, umask in ((ANN, umasks[0]), (BEN, umasks[1]), (ANN, umasks[0])):
        assert by(user, team, work, umask) == []
    for path, bits, group in modes(team):
        assert group == TEAM, path
        assert bits & 0o7777 == (0o2770 if (team / path).is_dir() else 0o660), path


def dies(root: Path) -> bool:
    with patch.object(journal, "apply", side_effect=Died):
        try:
            App(Workspace(str(root))).call("task_close", {})
        except Died:
            return True
    return False


def opened(root: Path) -> None:
    answered(root, "plan_start", SMALLEST["plan_start"])
    answered(root, "task_add", SMALLEST["task_add"])


@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_one_user_completes_what_the_crash_of_another_left(team: Path, umask: int) -> None:
    """The journal of one user is completed by the next call of any other, and the answer is kept for a retry."""
    by(ANN, team, opened, umask)
    assert by(ANN, team, dies, umask)
    assert stat.S_IMODE((team / ".nexus/state/txn.json").stat().st_mode) == 0o660
    assert by(BEN, team, lambda root: answered(root, "task_list"), umask) == {"exists": False}
    assert by(BEN, team, lambda root: answered(root, "task_close")["archived"], umask) == {
        "plan": True, "decisions": 0, "tasks": 1,
    }  # fmt: skip
    assert by(ANN, team, lambda root: answered(root, "history_search")["total"], umask) == 1


def test_a_journal_is_no_more_open_than_what_it_copies(team: Path) -> None:
    """Content that one user keeps from the group stays private, also in a shared folder."""
    by(ANN, team, opened)
    (team / ".nexus/state/plan.json").chmod(0o600)
    assert by(ANN, team, dies)
    assert stat.S_IMODE((team / ".nexus/state/txn.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o2750])
def test_nothing_is_more_open_than_its_folder(fast_path: Path, mode: int, umask: int) -> None:
    """A private project stays private, and one that others may read is not for them to write."""
    root = made(fast_path / "project", mode)
    if ROOT:
        os.chown(root, ANN, ANN)
        root.chmod(mode)
    assert by(ANN, root, work, umask) == []
    for path, bits, _ in modes(root):
        assert bits & 0o777 & ~(mode & 0o777) & 0o066 == 0, path
        if mode & stat.S_ISGID == 0:
            assert bits & umask == 0, path
        if path.endswith((".jsonl", "txn.json")) and "memory-access" not in path:
            assert bits == 0o600, path


def test_lock_closed_to_the_group_is_reported(team: Path) -> None:
    """A user who may not write the file gets the owner's name to ask, and the command that lists all such files."""

    def as_an_older_version_did(root: Path) -> None:
        answered(root, "task_add", SMALLEST["task_add"])
        (root / ".nexus/state/lock").chmod(0o444)

    by(ANN, team, as_an_older_version_did)

    def tried(root: Path) -> Any:
        return App(Workspace(str(root))).call("task_add", SMALLEST["task_add"]).result["structuredContent"]["error"]

    assert by(BEN, team, tried) == (
        "Could not open the lock .nexus/state/lock: Permission denied; nothing was changed. Ask its "
        "owner for access, then call again; nexus-mcp doctor lists the files that a group cannot use."
    )
