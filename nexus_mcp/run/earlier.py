"""Check the newest run before a new run begins: its work may not be in the user's branch yet."""

from __future__ import annotations

from nexus_mcp.run.git import Git
from nexus_mcp.run.interrupted_merge import is_begun
from nexus_mcp.run.projection import project
from nexus_mcp.run.run_folder import read_log, run_folder
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.run_files import run_ids


async def run_to_merge(state: Folder | None, root: str) -> str:
    """Return the id of the newest run if it was completed or failed, its integration branch exists, and HEAD lacks the
    work of the run; else "".

    Raise GitFailed, StateError, PathRefused, StorageError.
    """
    newest = _newest(state)
    if state is None or not newest:
        return ""
    with run_folder(state, newest) as folder:
        record = project(read_log(folder)[0]) if folder is not None else None
    if record is None or record.ended is None or record.ended.status not in ("completed", "failed"):
        return ""
    branch = f"refs/heads/nexus/{newest}/integration"
    if not record.integration or (await Git(root).run("rev-parse", "--verify", "--quiet", branch, check=False))[0]:
        return ""
    code, _ = await Git(root).run("merge-base", "--is-ancestor", record.integration, "HEAD", check=False)
    return newest if code == 1 else ""


def half_moved(state: Folder | None) -> str:
    """Return the id of the newest run if git stopped while it moved the user's branch to the work of that run, else "".

    Raise PathRefused, StorageError.
    """
    newest = _newest(state)
    if state is None or not newest:
        return ""
    with run_folder(state, newest) as folder:
        return newest if folder is not None and is_begun(folder) else ""


def _newest(state: Folder | None) -> str:
    names = [] if state is None else run_ids(state)
    return names[-1] if names else ""
