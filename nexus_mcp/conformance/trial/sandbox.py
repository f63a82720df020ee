"""The project of a fixture: an empty git repository, read and written without ever leaving it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.document import encode_file
from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.limits import LARGEST
from nexus_mcp.conformance.result import Cut
from nexus_mcp.conformance.tokens import expand_path
from nexus_mcp.conformance.trial.emptying import remove_at
from nexus_mcp.conformance.trial.folders import EMPTY_GIT, check_outside_git
from nexus_mcp.conformance.trial.placing import PLAIN, open_parent, write_new_file
from nexus_mcp.conformance.trial.snapshot import entries, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import Leftover
    from nexus_mcp.conformance.trial.emptying import Anchor
    from nexus_mcp.conformance.trial.snapshot import Snapshot

OUTSIDE = "../"
"""The prefix of paths beside the project in a snapshot."""

_TEXT = 8 * 1024
_MOST_TEXTS = 40
_PATH = 400


class Sandbox:
    """A project folder, and for a temporary one the folder `around` it.

    WorkspaceRoot creates it; `clear` deletes it and returns what cannot be deleted. `project` is its path, with links
    resolved. `beside` returns names in the folder of the run that belong to no sandbox. Every method raises
    TargetFailure once the path leads to another folder.
    """

    def __init__(
        self,
        folder: Anchor,
        clear: Callable[[], list[Leftover]],
        around: Anchor | None = None,
        beside: Callable[[], list[str]] = list,
    ) -> None:
        self.project = folder.path
        self.clear = clear
        self.in_company = False
        """Whether another sandbox of the run was there at the same time."""
        self._folder = folder
        self._around = around
        self._beside = beside

    def lay(self, fixture: Fixture, harness_id: str) -> None:
        """Write what the fixture's precondition lists. Raises OSError or ValueError when that is impossible."""
        try:
            self._lay(fixture, harness_id)
        except TargetFailure as failure:
            raise ValueError(failure.sentence) from failure

    def _lay(self, fixture: Fixture, harness_id: str) -> None:
        if fixture.git:
            self.lay_git()
        else:
            check_outside_git(self.project)
        for path, value in fixture.state_files.items():
            if value is not None:
                place = expand_path(path, harness_id)
                self.write(place, encode_file(place, value), None)
        for path, special in fixture.files.items():
            place = expand_path(path, harness_id)
            if special.content is None and special.symlink is None:
                self._make_folder(place)
            else:
                self.write(place, special.content, special.symlink)

    def lay_git(self) -> None:
        """Make it an empty git repository on branch main, without a git process."""
        for path, content in EMPTY_GIT.items():
            if content is None:
                self._make_folder(f".git/{path}")
            else:
                self.write(f".git/{path}", content, None)

    def write(self, path: str, content: bytes | None, symlink: str | None) -> None:
        """Write a file or a link at a path from the project root and replace what is there; both None: only delete.

        Raises OSError when that fails, for example with a link in the path.
        """
        try:
            with open_parent(self._root(), path, make=content is not None or symlink is not None) as (folder, name):
                remove_at(folder, name)
                if symlink is not None:
                    os.symlink(symlink, name, dir_fd=folder)
                elif content is not None:
                    write_new_file(folder, name, content)
        except (FileNotFoundError, NotADirectoryError):
            if content is not None or symlink is not None:
                raise

    def read(self, path: str, most: int = LARGEST + 1) -> bytes | None:
        """Return the first `most` bytes of a file, None when nothing exists there.

        Returns b"" for what is not a file, or leads out of the project.
        """
        root = self._root()
        full = os.path.join(self.project, path)
        if not os.path.lexists(full):
            return None
        real = os.path.realpath(full)
        if not real.startswith(self.project + os.sep):
            return b""
        try:
            # Open again from the root without following links: one may have been created just now.
            with open_parent(root, os.path.relpath(real, self.project)) as (folder, name):
                if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    return b""
                with open(os.open(name, PLAIN, dir_fd=folder), "rb") as file:
                    return file.read(most)
        except OSError:
            return b""

    def leads_out(self, path: str) -> bool:
        """Return whether the resolved path is outside of the project."""
        real = os.path.realpath(os.path.join(self.project, path))
        return not f"{real}/".startswith(f"{self.project}/")

    def snapshot(self) -> Snapshot:
        """Return the project by paths from its root, and what is around it with paths that begin with "../".

        Raises TooMuch when there is too much to read.
        """
        found = snapshot(self._root())
        if found.get(".git") == "folder":
            with suppress(OSError):
                mode = os.stat(".git", dir_fd=self._folder.fd, follow_symlinks=False).st_mode
                found[".git"] = f"folder with mode {stat.S_IMODE(mode):o}"
        if self._around:
            own = f"{OUTSIDE}{os.path.basename(self.project)}"
            around = snapshot(self._around.fd, OUTSIDE)
            found.update({path: what for path, what in around.items() if not f"{path}/".startswith(f"{own}/")})
        found.update({f"{OUTSIDE}{OUTSIDE}{name}": "something" for name in self._beside()})
        return found

    def texts(self) -> tuple[dict[str, str], Cut]:
        """Return the beginnings of the text files in the project, by path, and how much of them was left out.

        Files beyond a limit have one entry, which says that there are more.
        """
        found: dict[str, str] = {}
        cut = Cut()
        with suppress(TargetFailure, OSError):
            for path, what in entries(self._root()):
                if len(found) == _MOST_TEXTS:
                    found["…"], cut = "(there are more files)", cut + Cut(items=1)
                    break
                if what in ("folder", "other") or path.startswith(".git/"):
                    continue
                data = b"" if what.startswith("-> ") else self.read(path) or b""
                text = f"(a link {what})" if what.startswith("-> ") else data[:_TEXT].decode("utf-8", "replace")
                if b"\0" in data[:_TEXT]:
                    continue
                if len(data) > _TEXT:
                    cut += Cut(characters=len(data) - _TEXT)
                    more = "more than " if len(data) > LARGEST else ""
                    text += f"… ({more}{min(len(data), LARGEST):,} bytes in all)"
                found[path if len(path) <= _PATH else f"{path[:_PATH]}…"] = text
        return found, cut

    def _make_folder(self, path: str) -> None:
        with open_parent(self._root(), f"{path}/.", make=True):
            pass

    def _root(self) -> int:
        if not (self._folder.stands and (self._around is None or self._around.stands)):
            raise TargetFailure("deleted, moved or replaced the folder of its project")
        if not self._folder.permitted:
            raise TargetFailure("changed the permissions of the folder of its project")
        return self._folder.fd
