"""Manage the folder with the projects of a run: a folder that the user named, or a temporary one with a sandbox for
each fixture.
"""

from __future__ import annotations

import os
import secrets
import tempfile

from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.result import Leftover
from nexus_mcp.conformance.trial.emptying import FOLDER, describe_error, empty_folder
from nexus_mcp.conformance.trial.sandbox import EMPTY_GIT, Anchor, Sandbox
from nexus_mcp.conformance.trial.snapshot import digest, snapshot
from nexus_mcp.errors import HarnessFault

_LOOK = "Find out what the server did with this folder."
_NAMED = 5


class WorkspaceRoot:
    """Create the sandboxes of a run. With `served`, all sandboxes are this one folder, one after the other.

    `remove` deletes the temporary folder with all sandboxes in it. Raise HarnessFault unless the run may fill and empty
    the folder `served`. The methods of a sandbox may run in any thread.
    """

    def __init__(self, served: str | None = None) -> None:
        self._served = None if served is None else claim_folder(served)
        self._folder = (
            None if served is not None else Anchor(os.path.realpath(tempfile.mkdtemp(prefix="nexus-conformance-")))
        )
        self._names: set[str] = set()
        self._open: list[Sandbox] = []

    def sandbox(self) -> Sandbox:
        """Return a new sandbox. Raise HarnessFault when the folder of the run was replaced, or a project cannot be made
        in it.
        """
        if self._served is not None:
            served = self._served
            _check_not_replaced(served)
            return Sandbox(served, lambda: _empty(served))
        assert self._folder is not None
        _check_not_replaced(self._folder)
        try:
            name = secrets.token_hex(8)
            self._names.add(name)  # registered first, because another thread may search for unknown names at any moment
            os.mkdir(name, 0o700, dir_fd=self._folder.fd)
            around = Anchor(os.path.join(self._folder.path, name))
            os.mkdir("project", dir_fd=around.fd)
            project = Anchor(os.path.join(around.path, "project"))
        except OSError as error:
            raise HarnessFault([f"{self._folder.path}: no project can be made in it: {error.strerror}."]) from error
        sandbox = Sandbox(project, lambda: self._clear(sandbox, project, around), around, self._unknown_names)
        sandbox.in_company = bool(self._open)
        for other in tuple(self._open):
            other.in_company = True
        self._open.append(sandbox)
        return sandbox

    @property
    def path(self) -> str:
        """Return the path of the folder of the run."""
        folder = self._folder or self._served
        assert folder is not None
        return folder.path

    def remove(self) -> list[Leftover]:
        """Delete the temporary folder of the run, and return the paths that remain. Raise RunHalted when the work has
        to
        stop.

        A folder of the user stays: each sandbox has already emptied it.
        """
        if self._served is not None:
            self._served.close()
        return [] if self._folder is None else _remove(self._folder)

    def _clear(self, sandbox: Sandbox, project: Anchor, around: Anchor) -> list[Leftover]:
        """Delete a sandbox, and return the paths that remain.

        If another folder is at its path now, delete only its content; `remove` deletes the rest at the end of the run.
        """
        try:
            return _remove(around) if around.stands else empty_folder(around.fd, around.path)
        finally:
            project.close()
            around.close()
            self._open.remove(sandbox)

    def _unknown_names(self) -> list[str]:
        """Return the names in the folder of the run that are not sandboxes."""
        assert self._folder is not None
        return [name for name in self._folder.names() if name not in self._names]


def claim_folder(folder: str) -> Anchor:
    """Open a folder that a run may fill and empty. Raise HarnessFault if it cannot be opened, or has anything but the
    .git that `Sandbox.lay_git` writes.
    """
    try:
        anchor = Anchor(folder)
    except (NotADirectoryError, FileNotFoundError):
        raise HarnessFault(
            [f"{folder} is not a folder."], next_step="Name the folder that the server serves."
        ) from None
    except OSError as error:
        raise HarnessFault([f"{folder} cannot be used: {error.strerror}."]) from error
    names = anchor.names()
    if not names or (names == [".git"] and _is_laid(anchor.fd)):
        return anchor
    anchor.close()
    shown = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
    raise HarnessFault(
        [f"{folder} is not empty: it contains {shown}."],
        next_step="Let the server serve an empty folder, because its content is deleted after each fixture.",
    )


def _remove(folder: Anchor) -> list[Leftover]:
    """Delete a folder of the run with its content, and close it. Return the remaining paths."""
    try:
        remaining = empty_folder(folder.fd, folder.path)
        if not folder.stands:
            remaining.append(Leftover(folder.path, "another folder has replaced it"))
        elif not remaining:
            os.rmdir(folder.path)
    except OSError as error:
        return [Leftover(folder.path, describe_error(error))]
    finally:
        folder.close()
    return remaining


def _check_not_replaced(folder: Anchor) -> None:
    if not folder.stands:
        problem = f"{folder.path} was replaced by another folder during this run"
        raise HarnessFault([f"{problem}: nothing at that path was changed."], next_step=_LOOK)


def _empty(served: Anchor) -> list[Leftover]:
    """Empty the user's folder. Raise HarnessFault when that fails, or the folder was moved or replaced."""
    _check_not_replaced(served)
    try:
        served.permit()
        remaining = empty_folder(served.fd, served.path)
        served.permit()
        names = served.names()
    except OSError as error:
        raise HarnessFault([f"{served.path} cannot be emptied: {error.strerror}."]) from error
    if names:
        why = f": {remaining[0].path}: {remaining[0].reason}" if remaining else ""
        raise HarnessFault([f"{served.path} cannot be emptied: {names[0]} remains{why}."])
    return []


def _is_laid(folder: int) -> bool:
    """Return whether the .git in the folder has exactly the files, folders and bytes that `Sandbox.lay_git` writes."""
    wanted = {"HEAD": b"", "config": b"", "objects": None, "refs": None, "refs/heads": None}
    try:
        git = os.open(".git", FOLDER, dir_fd=folder)
    except OSError:
        return False
    try:
        seen = snapshot(git)
    except TargetFailure:  # too many files, or another file system
        return False
    finally:
        os.close(git)
    return set(seen) == set(wanted) and all(
        seen[path] == "folder" if content is None else seen[path] == digest(EMPTY_GIT[path] or b"")
        for path, content in wanted.items()
    )
