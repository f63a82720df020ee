"""Clean up after an executor that was killed, or whose machine lost its power: end its processes, remove git's locks.

Only what belongs to the run is touched: processes in its worktrees, incomplete worktrees, and locks of its branches and
in git's folders of its worktrees.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

from nexus_mcp.errors import NexusError
from nexus_mcp.run.git import options
from nexus_mcp.run.git_files import RUN_REFS, folders, text_of
from nexus_mcp.run.processes import TERM_WAIT_S
from nexus_mcp.run.worktrees import Repository

LOCK = ".lock"
_WAIT_S = 10.0
_LOOK_S = 0.1
_MAKING = "initializing"
"""The reason that git writes into the file `locked` of a worktree while it makes the worktree."""


class GitAtWork(NexusError):
    """A git process works in the repository, so the lock may be in use."""

    def __init__(self, pid: int, lock: str) -> None:
        super().__init__(
            f"{lock} exists, and git (process {pid}) is at work in this repository.",
            next_step="Wait until it has ended; then continue with nexus-mcp run.",
        )


async def end_processes(repository: Repository) -> list[int]:
    """End the processes of the run that still work in its worktrees, such as checks, and return their ids."""
    inside = os.path.join(os.path.realpath(repository.path("")), "")
    left = [one for one in psutil.process_iter() if _is_of_run(one, repository.run, inside)]
    for number, wait_s in ((signal.SIGTERM, TERM_WAIT_S), (signal.SIGKILL, TERM_WAIT_S)):
        for process in left:
            with suppress(psutil.Error):
                process.send_signal(number)
        _, alive = await asyncio.to_thread(psutil.wait_procs, left, wait_s)
        if not alive:
            break
    return [process.pid for process in left]


async def remove_locks(repository: Repository) -> list[str]:
    """Remove the locks of git in the worktrees and branches of the run, and worktrees that were never completed.

    Return the paths of the locks, and of the file `locked` of each such worktree. Raise GitAtWork if a git that
    may hold a lock makes no progress; GitFailed, StorageError.
    """
    common = (await folders(repository.root)).common
    admins = list(_admins(common, repository))
    half_made = [(admin, path) for admin, path in admins if _text(os.path.join(admin, "locked")) == _MAKING]
    locks = [*_locks(os.path.join(common, RUN_REFS, repository.run))]
    locks += [lock for admin, _ in admins for lock in _locks(admin)]
    found = [*locks, *(os.path.join(admin, "locked") for admin, _ in half_made)]
    if not found:
        return []
    await _await_git(repository, found[0])
    for lock in locks:
        with suppress(FileNotFoundError):
            os.unlink(lock)
    for admin, path in half_made:  # no session has worked in it yet
        await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
        await asyncio.to_thread(shutil.rmtree, admin, ignore_errors=True)
    return found


async def _await_git(repository: Repository, lock: str) -> None:
    """Wait until no git works in a worktree of the run, and none that an executor started in the user's checkout.

    Raise GitAtWork if a git process does nothing for _WAIT_S seconds; wait for one that works slowly.
    """
    waited, known = 0.0, (0, 0.0)
    while pid := _git_at_work(repository):
        if (progress := (pid, _progress(pid))) != known:
            waited, known = 0.0, progress
        elif waited >= _WAIT_S:
            raise GitAtWork(pid, lock)
        await asyncio.sleep(_LOOK_S)
        waited += _LOOK_S


def _progress(pid: int) -> float:
    """Return a number that changes while a process or a child of it computes, or the process waits for the disk."""
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP):
            return time.monotonic()
        return sum(sum(one.cpu_times()[:4]) for one in (process, *process.children(recursive=True)))
    except psutil.Error:
        return time.monotonic()  # it ended meanwhile


def _git_at_work(repository: Repository) -> int:
    """Return the id of a git process in a worktree of the run, or of one that an executor started in the user's
    checkout; 0 if there is none. Other git processes in the checkout hold no lock of the run.
    """
    ours, worktrees = set(options(hooks=False)), os.path.join(os.path.realpath(repository.path("")), "")
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            where = os.path.join(process.cwd(), "") if process.name().startswith("git") else ""
            is_executors = where == os.path.join(repository.root, "") and ours <= {*process.cmdline()}
            if where.startswith(worktrees) or is_executors:
                return process.pid
    return 0


def _is_of_run(process: psutil.Process, run: str, inside: str) -> bool:
    try:
        is_there = os.path.join(process.cwd(), "").startswith(inside)
        return is_there and process.environ().get("NEXUS_RUN") == run and process.pid != os.getpid()
    except psutil.Error:
        return False


def _admins(common: str, repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield (git's folder, folder) of each worktree of the run."""
    folder = os.path.join(common, "worktrees")
    inside = repository.path("")
    with suppress(OSError):
        for entry in sorted(os.scandir(folder), key=lambda one: one.name):
            path = os.path.dirname(_text(os.path.join(entry.path, "gitdir")))
            if entry.is_dir(follow_symlinks=False) and os.path.dirname(path) == os.path.normpath(inside):
                yield entry.path, path


def _locks(folder: str) -> Iterator[str]:
    """Yield the lock files in a folder and below it. Links are not followed."""
    for where, _, names in os.walk(folder):
        yield from (os.path.join(where, name) for name in names if name.endswith(LOCK))


def _text(path: str) -> str:
    try:
        return text_of(path, 1 << 12).strip()
    except OSError:
        return ""
