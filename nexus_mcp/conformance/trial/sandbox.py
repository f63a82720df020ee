"""The project of a fixture: an empty git repository or a plain folder, read and written without ever leaving it.

A target may change the folder meanwhile, so each path is entered part by part, and through no link.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING

from nexus_mcp.conformance.document import encode_file
from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.limits import LARGEST
from nexus_mcp.conformance.result import Cut
from nexus_mcp.conformance.trial.emptying import FOLDER, remove_at
from nexus_mcp.conformance.trial.snapshot import DEEPEST, entries, snapshot
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import Leftover
    from nexus_mcp.conformance.trial.snapshot import Snapshot

EMPTY_GIT: dict[str, bytes | None] = {
    "HEAD": b"ref: refs/heads/main\n",
    "config": b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
    "objects/": None,
    "refs/heads/": None,
}
"""Path below .git -> its bytes, None for a folder: an empty repository on branch main."""
OUTSIDE = "../"
"""The prefix of paths beside the project in a snapshot."""
_TEXT = 8 * 1024
_MOST_TEXTS = 40
_PATH = 400
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags to read a file that was a regular one a moment ago."""


class Anchor:
    """An open folder at `path`, whose last part must not be a link.

    Raise OSError when there is no such folder. `close` releases it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = os.open(path, FOLDER)
        self._mode = stat.S_IMODE(os.fstat(self.fd).st_mode)

    @property
    def stands(self) -> bool:
        """Return whether the path still leads to this folder, without a link at the end."""
        try:
            return os.path.samestat(os.lstat(self.path), os.fstat(self.fd))
        except OSError:
            return False

    @property
    def has_first_permissions(self) -> bool:
        """Return whether it still has its first permissions."""
        return stat.S_IMODE(os.fstat(self.fd).st_mode) == self._mode

    def permit(self) -> None:
        """Restore its first permissions. Raise OSError."""
        os.fchmod(self.fd, self._mode)

    def names(self, most: int = 1000) -> list[str]:
        """Return the names of at most `most` of its entries, sorted. Raise OSError."""
        with os.scandir(self.fd) as found:
            return sorted(entry.name for entry in islice(found, most))

    def close(self) -> None:
        """Close the descriptor. A second call does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class Sandbox:
    """A project folder, and for a temporary one the folder `around` it.

    WorkspaceRoot creates it. `clear` deletes it, or only its content if the folder is the user's, and returns the paths
    that remain. `project` is its path, with links resolved. `beside` returns names in the folder of the run that belong
    to no sandbox. `write`, `read`, `snapshot` and `lay_git` raise TargetFailure once the path leads to another folder,
    or the permissions of the folder have changed.
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
        """Whether another sandbox of the run existed at the same time."""
        self._folder = folder
        self._around = around
        self._beside = beside

    def lay(self, fixture: Fixture) -> None:
        """Write the files of a fixture's precondition. The tokens of the fixture must have been replaced.

        Raise OSError or ValueError when that is impossible, HarnessFault when a fixture without git would lie in a
        repository.
        """
        try:
            if fixture.git:
                self.lay_git()
            else:
                check_outside_git(self.project)
            for path, value in fixture.state_files.items():
                if value is not None:
                    self.write(path, encode_file(path, value), None)
            for path, special in fixture.files.items():
                if special.content is None and special.symlink is None:
                    self._make_folder(path)
                else:
                    self.write(path, special.content, special.symlink)
        except TargetFailure as failure:
            raise ValueError(failure.sentence) from failure

    def lay_git(self) -> None:
        """Make the project an empty git repository on branch main, without a git process."""
        for path, content in EMPTY_GIT.items():
            if content is None:
                self._make_folder(f".git/{path}")
            else:
                self.write(f".git/{path}", content, None)

    def write(self, path: str, content: bytes | None, symlink: str | None) -> None:
        """Write a file with `content`, or a link to `symlink`, at a path from the project root, in place of an old one.

        If both are None, only delete. Raise OSError when that fails, for example with a link in the path.
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

        Return b"" for a path that is not a file, cannot be read, or leads out of the project.
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
        """Return the project by paths from its root, and the files around it by paths that begin with "../".

        Raise TooMuch when there is too much to read, TargetFailure for a mount, RunHalted when the work has to stop.
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

        Links are described, and files in `.git` are not returned. Files beyond _MOST_TEXTS have one entry together,
        which says that there are more.
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
        if not self._folder.has_first_permissions:
            raise TargetFailure("changed the permissions of the folder of its project")
        return self._folder.fd


@contextmanager
def open_parent(root: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a path below the open folder `root`; yield its descriptor and the path's last part.

    `make` creates missing folders. A path that ends in /. means a folder, which is then the parent. Raise OSError for a
    missing folder, a link or a file on the way, or for more than DEEPEST nested folders.
    """
    *above, name = [part for part in path.split("/") if part] or ["."]
    if len(above) > DEEPEST:
        raise OSError(errno.ENAMETOOLONG, f"more than {DEEPEST} nested folders", path)
    fd = os.open(".", FOLDER, dir_fd=root)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            below = _enter(part, fd, path)
            os.close(fd)
            fd = below
        yield fd, name
    finally:
        os.close(fd)


def write_new_file(folder: int, name: str, content: bytes) -> None:
    """Create a file that does not exist yet. Raise OSError."""
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=folder)
    with open(fd, "wb") as file:
        file.write(content)


def check_outside_git(project: str) -> None:
    """Raise HarnessFault when a parent folder of `project`, an absolute path, is a repository."""
    folder = project
    while (above := os.path.dirname(folder)) != folder:
        if os.path.lexists(os.path.join(above, ".git")):
            raise HarnessFault(
                [f"A fixture needs a project outside of git, and {above}, a parent folder, has a .git."],
                next_step="Set TMPDIR to a folder that lies in no repository.",
            )
        folder = above


def _enter(name: str, folder: int, path: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "a link is in the path", path) from None
        raise
