"""Remove finished and abandoned runs: log, worktrees, merged branches. An unmerged branch stays."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.run import collecting, control, dead_executor
from nexus_mcp.run.begin import unfinished_run
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.git import Git
from nexus_mcp.run.projection import project
from nexus_mcp.run.run_folder import HEADER, read_json, read_log, run_folder
from nexus_mcp.run.worktrees import Repository
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.run_files import RUNS, is_run_id, run_ids

KEPT = 20
_DAY_S = 86_400
_HEADS = "refs/heads/"


def old_runs(state: Folder, days: int | None, now: float) -> list[str]:
    """Return the runs to remove: those older than `days`, or, if `days` is None, all but the newest KEPT. The run that
    `nexus-mcp run` would continue is never among them. Raise PathRefused, StorageError.
    """
    names = run_ids(state)
    open_run = unfinished_run(state)
    if days is None:
        return [name for name in names[:-KEPT] if name != open_run]
    return [name for name in names if name != open_run and now - _last_change(state, name) > days * _DAY_S]


async def drop_old_runs(state: Folder, root: str, worktrees: str) -> list[str]:
    """Remove the finished runs beyond the newest KEPT, and return their ids. Raise GitFailed, StorageError.

    A run stays if its work is not in the checked-out branch, if it has a worktree of an attempt, or if it is
    neither completed nor failed: `run clean` removes these. The caller holds the lock of runs.
    """
    names = run_ids(state)[:-KEPT]
    if not names:
        return []
    refs = f"{_HEADS}nexus/*/integration"
    unmerged = set((await Git(root).out("for-each-ref", "--no-merged=HEAD", "--format=%(refname)", refs)).split())
    removed = []
    for name in names:
        place = _worktrees_of(state, name, worktrees)
        is_merged = f"{_HEADS}{Repository(root, name, place).integration}" not in unmerged
        if is_merged and not _has_worktree(os.path.join(place, name)) and _is_finished(state, name):
            await clean(state, root, worktrees, name)
            removed.append(name)
    return removed


def _has_worktree(folder: str) -> bool:
    """Return whether a worktree of an attempt of the run exists."""
    return os.path.isdir(folder) and any(entry != "integration" for entry in os.listdir(folder))


def _is_finished(state: Folder, name: str) -> bool:
    with run_folder(state, name) as folder:
        if folder is None or read_json(folder, HEADER) is None or control.has_requests(folder):
            return False
        ended = project(read_log(folder)[0]).ended
    return ended is not None and ended.status in ("completed", "failed")


def _worktrees_of(state: Folder, name: str, default: str) -> str:
    """Return the folder of the worktrees of a run: as its header says, else `default`."""
    with run_folder(state, name) as folder:
        header = None if folder is None else read_json(folder, HEADER)
    if not isinstance(header, dict):
        return default
    return os.path.expanduser(str((header.get("config") or {}).get("worktrees") or RunConfig().worktrees))


def _last_change(state: Folder, name: str) -> float:
    with run_folder(state, name) as folder:
        updated = "" if folder is None else project(read_log(folder)[0]).updated_at
    try:
        return datetime.fromisoformat(updated).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


async def clean(state: Folder, root: str, worktrees: str, name: str) -> list[str]:
    """Remove a run, and return those of its branches that stay because they are not merged. Raise UsageError for an
    unknown or unfinished run, NexusError for a worktree with work that cannot be committed, GitFailed, StorageError.
    """
    if not is_run_id(name) or name not in run_ids(state):
        raise UsageError(f"There is no run {name!r}.", next_step="nexus-mcp run list shows them.")
    if name == unfinished_run(state):
        raise UsageError(f"{name} is not finished.", next_step="nexus-mcp run continues it; --new abandons it.")
    repository = Repository(root, name, _worktrees_of(state, name, worktrees))
    left = await _remove_git(repository)
    with state.make(RUNS)[0] as runs, runs.make(name)[0] as folder:
        _empty(folder)
        runs.remove_folder(name)
    return left


async def _remove_git(repository: Repository) -> list[str]:
    """Commit the work in each worktree, remove the worktrees and the merged branches, and return the branches that
    stay. Raise NexusError for a worktree with work that cannot be committed.
    """
    await dead_executor.remove_locks(repository)
    folder = os.path.join(repository.worktrees, repository.run)
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = os.path.join(folder, entry)
        if entry != "integration" and os.path.exists(os.path.join(path, ".git")):
            _, left_out = await repository.collect(path, "nexus: kept before the worktree was removed", hooks=False)
            if left_out := left_out or await collecting.kept_inside(path):
                raise NexusError(f"{path} stays, and so does its run. {left_out}", next_step="Then clean again.")
        await repository.remove(path)
    git: Git = repository.git
    refs = (await git.out("for-each-ref", "--format=%(refname:short)", f"refs/heads/nexus/{repository.run}/")).split()
    head = await repository.head("HEAD")
    left = []
    for ref in refs:
        commit = await repository.head(f"refs/heads/{ref}")
        if await repository.is_ancestor(commit, head):
            await git.run("update-ref", "-d", f"refs/heads/{ref}", commit)
        else:
            left.append(ref)
    return left


def _empty(folder: Folder) -> None:
    """Remove everything in a folder of a run; links are removed, not followed."""
    for name in folder.names():
        inner = folder.child(name) if _is_folder(folder, name) else None
        if inner is None:
            folder.unlink(name)
            continue
        with inner:
            _empty(inner)
        folder.remove_folder(name)


def _is_folder(folder: Folder, name: str) -> bool:
    import stat

    info = folder.look(name)
    return info is not None and stat.S_ISDIR(info.st_mode)
