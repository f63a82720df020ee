"""Where a run has its projects: the folder that it was given, or a temporary one with a sandbox for each fixture."""

from __future__ import annotations

import os
import secrets
import tempfile

from nexus_mcp.conformance.result import Left
from nexus_mcp.conformance.trial.anchor import Anchor
from nexus_mcp.conformance.trial.emptying import empty, reason
from nexus_mcp.conformance.trial.folders import claim
from nexus_mcp.conformance.trial.sandbox import Sandbox
from nexus_mcp.errors import HarnessFault

_LOOK = "Look at what the server did with it."


class Ground:
    """Makes the sandboxes of a run. With `given`, all are that folder, one after the other. `remove` ends it.

    Raises HarnessFault unless the folder given is a run's to fill and to empty. What a sandbox is looked at with, and
    its end, may run in any thread.
    """

    def __init__(self, given: str | None = None) -> None:
        self._given = None if given is None else claim(given)
        self._folder = (
            None if given is not None else Anchor(os.path.realpath(tempfile.mkdtemp(prefix="nexus-conformance-")))
        )
        self._made: set[str] = set()
        self._there: list[Sandbox] = []

    def sandbox(self) -> Sandbox:
        """A new one, with an empty project. Raises HarnessFault when its place is not what it was any more."""
        if self._given is not None:
            given = self._given
            _expect(given)
            return Sandbox(given, lambda: _emptied(given))
        assert self._folder is not None
        _expect(self._folder)
        try:
            name = secrets.token_hex(8)
            self._made.add(name)  # first: another thread may look for strangers at any moment
            os.mkdir(name, 0o700, dir_fd=self._folder.fd)
            around = Anchor(os.path.join(self._folder.path, name))
            os.mkdir("project", dir_fd=around.fd)
            project = Anchor(os.path.join(around.path, "project"))
        except OSError as error:
            raise HarnessFault([f"{self._folder.path}: no project can be made in it: {error.strerror}."]) from error
        sandbox = Sandbox(project, lambda: self._cleared(sandbox, project, around), around, self._strangers)
        sandbox.in_company = bool(self._there)
        for other in tuple(self._there):
            other.in_company = True
        self._there.append(sandbox)
        return sandbox

    @property
    def path(self) -> str:
        """The folder of the run."""
        folder = self._folder or self._given
        assert folder is not None
        return folder.path

    def remove(self) -> list[Left]:
        """Deletes what the run made, and returns what of it remains. Raises Halted when the work has to stop.

        A folder given is left as it is: each sandbox has emptied it.
        """
        if self._given is not None:
            self._given.close()
        return [] if self._folder is None else _removed(self._folder)

    def _cleared(self, sandbox: Sandbox, project: Anchor, around: Anchor) -> list[Left]:
        """Deletes a sandbox. Where another stands in its place, that is left for the end of the run."""
        try:
            return _removed(around) if around.stands else empty(around.fd, around.path)
        finally:
            project.close()
            around.close()
            self._there.remove(sandbox)

    def _strangers(self) -> list[str]:
        """What is in the folder of the run and is no sandbox."""
        assert self._folder is not None
        return [name for name in self._folder.names() if name not in self._made]


def _removed(folder: Anchor) -> list[Left]:
    """Deletes a folder of ours with all that is in it, and closes it. Returns what remains."""
    try:
        left = empty(folder.fd, folder.path)
        if not folder.stands:
            left.append(Left(folder.path, "it is not the folder any more that the run made"))
        elif not left:
            os.rmdir(folder.path)
    except OSError as error:
        return [Left(folder.path, reason(error))]
    finally:
        folder.close()
    return left


def _expect(folder: Anchor) -> None:
    if not folder.stands:
        problem = f"{folder.path} is not the folder any more that this run began with"
        raise HarnessFault([f"{problem}: nothing at that path was touched."], next_step=_LOOK)


def _emptied(given: Anchor) -> list[Left]:
    """Empties the folder given. Raises HarnessFault when that cannot be done, or it has been moved or replaced."""
    _expect(given)
    try:
        given.permit()
        left = empty(given.fd, given.path)
        given.permit()
        names = given.names()
    except OSError as error:
        raise HarnessFault([f"{given.path} cannot be emptied: {error.strerror}."]) from error
    if names:
        why = f": {left[0].path}: {left[0].reason}" if left else ""
        raise HarnessFault([f"{given.path} cannot be emptied: {names[0]} remains{why}."])
    return []
