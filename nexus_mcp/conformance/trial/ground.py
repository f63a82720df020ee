"""Where a run has its projects: the folder that it was given, or a temporary one with a sandbox for each fixture."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress

from nexus_mcp.conformance.trial.anchor import Anchor
from nexus_mcp.conformance.trial.emptying import empty
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

    def remove(self) -> None:
        """Deletes what the run made. A folder given is left as it is: each sandbox has emptied it."""
        if self._given is not None:
            self._given.close()
        if self._folder is not None:
            empty(self._folder.fd)
            if self._folder.stands:
                with suppress(OSError):
                    os.rmdir(self._folder.path)
            self._folder.close()

    def _cleared(self, sandbox: Sandbox, project: Anchor, around: Anchor) -> None:
        """Deletes a sandbox. Where another stands in its place, that is left for the end of the run."""
        empty(around.fd)
        if around.stands:
            with suppress(OSError):
                os.rmdir(around.path)
        project.close()
        around.close()
        self._there.remove(sandbox)

    def _strangers(self) -> list[str]:
        """What is in the folder of the run and is no sandbox."""
        assert self._folder is not None
        return [name for name in self._folder.names() if name not in self._made]


def _expect(folder: Anchor) -> None:
    if not folder.stands:
        problem = f"{folder.path} is not the folder any more that this run began with"
        raise HarnessFault([f"{problem}: nothing at that path was touched."], next_step=_LOOK)


def _emptied(given: Anchor) -> None:
    """Empties the folder given. Raises HarnessFault when that cannot be done, or it has been moved or replaced."""
    _expect(given)
    try:
        given.permit()
        empty(given.fd)
        given.permit()
        left = given.names()
    except OSError as error:
        raise HarnessFault([f"{given.path} cannot be emptied: {error.strerror}."]) from error
    if left:
        raise HarnessFault([f"{given.path} cannot be emptied: {left[0]} remains."])
