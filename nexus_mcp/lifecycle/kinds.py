"""Look up the kinds of the files that a call would write (nexus_files.py), wherever their paths may lead.

A path is text, and a tool, the system and a shell may each take it for another place: links are followed or replaced,
`..` is resolved before links or after them, capitals count or not. The strictest of these places decides.
"""

from __future__ import annotations

import os

from nexus_mcp.lifecycle.files import LONGEST_PATH
from nexus_mcp.lifecycle.nexus_files import FILE, NEXUS, NOTE, STATE, kind_of, parts, strictest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_PATHS, _MAX_CHARACTERS = 1000, 1 << 14
"""Paths of one call that are looked up, and their characters in all."""
_MAGIC = ("/proc/", "/dev/")
"""Below these a path means another file to each process."""
_GUARDED = ("", "state", "history.json", "state/plan.json", "state/tasks.json", "config.yml", "capability-map.yml")
"""Paths below .nexus that are known by their inode too: under another mount, by a hard link, in other capitals."""


_TRIMMED = "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
_TRIMMED += "\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What harnesses cut off at both ends of a path, each by the list of its language."""


class Kinds:
    """The kinds of `paths` in the project at `root`: `of` has one for each, `is_whole` says that all were looked up."""

    __slots__ = ("_folders", "_inodes", "_root", "_top", "is_whole", "of")

    def __init__(self, root: str, paths: Iterable[str]) -> None:
        self._root = root
        self._top = [name.casefold() for name in parts(root)]
        self._folders: dict[str, str] = {}
        self._inodes = {_inode(os.path.join(root, NEXUS, *parts(path))): path for path in reversed(_GUARDED)}
        self._inodes.pop(None, None)
        self.of: dict[str, int] = {}
        self.is_whole = True
        length = 0
        for path in dict.fromkeys(paths):
            length += len(path)
            try:
                if len(path) > LONGEST_PATH or length > _MAX_CHARACTERS or len(self.of) >= _MAX_PATHS:
                    raise ValueError
                self.of[path] = self._kind(path)
            except (ValueError, OSError):  # too long; a NUL, a lone surrogate, links without end
                self.of[path], self.is_whole = _as_written(path), False

    def _kind(self, path: str) -> int:
        written = list(_spellings(path))
        kind = strictest([self._at(place) for one in written for place in self._places(self._from_root(one))])
        # Where it may lead as well; nothing is exempt for that.
        others = [other for one in written for other in self._others(one) if other != NOTE]
        return max(kind, *others, FILE)

    def _from_root(self, path: str) -> str:
        return os.path.join(self._root, path)

    def _others(self, path: str) -> Iterator[int]:
        """Yield the kinds of a path as it is written, and from the folder of this process."""
        place = os.path.normpath(self._from_root(path))
        yield self._at(place)
        if path.startswith(_MAGIC):
            yield _as_written(path)
        elif not os.path.isabs(path):
            for other in self._places(os.path.join(_working_folder(), path)):
                yield self._at(other)
            if self._below(place) is None:
                yield _as_written(path)

    def _places(self, path: str) -> Iterator[str]:
        """Yield where a path leads: with links followed, a last link itself, and with `..` taken out before links."""
        head, name = os.path.split(path)
        if name in ("", ".", ".."):
            yield os.path.realpath(path)
        else:
            if head not in self._folders:
                self._folders[head] = os.path.realpath(head)
            place = os.path.join(self._folders[head], name)
            yield place
            if os.name == "nt" or os.path.islink(place):
                yield os.path.realpath(place)
        plain = os.path.normpath(path)
        if plain != path and ".." in parts(path):  # on Windows in both slashes; elsewhere a backslash stays as it is
            yield from self._places(plain)

    def _at(self, place: str) -> int:
        below = self._below(place)
        if below is None:
            is_above = self._top[: len(parts(place))] == [name.casefold() for name in parts(place)]
            # Of the main checkout seen from a worktree, and of other projects, as if they were further down.
            return STATE if is_above else max(self._known(place, ""), _as_written(place))
        kind = kind_of(below)
        if kind == NOTE and not place.startswith(self._root):
            kind = FILE
        if kind == FILE:
            holds_nexus = os.path.lexists(os.path.join(place, NEXUS))  # of a worktree, of another project
            return STATE if holds_nexus else self._known(place, self._root)
        return kind

    def _below(self, place: str) -> str | None:
        """Return the path from the project root, in whatever capitals that is spelled; None for any other path."""
        names = parts(place)
        number = len(self._top)
        is_below = [name.casefold() for name in names[:number]] == self._top and len(names) > number
        return "/".join(names[number:]) if is_below else None

    def _known(self, place: str, top: str) -> int:
        """Return the kind of a place by the inodes of what stands above it, up to `top`."""
        rest: list[str] = []
        while self._inodes and len(place) > len(top):
            known = self._inodes.get(_inode(place))
            if known is not None:
                return kind_of("/".join([NEXUS, *parts(known), *rest]))
            place, name = os.path.split(place)
            if not name:
                break
            rest.insert(0, name)
        return FILE


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return os.sep


def _inode(path: str) -> tuple[int, int] | None:
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino) if info.st_ino else None


def _as_written(path: str) -> int:
    """Return the kind of a path that is not looked up, or leads out of the project: any `.nexus` in it counts."""
    kind = kind_of(f"x/{path}")
    return FILE if kind == NOTE else kind


def _spellings(path: str) -> Iterator[str]:
    """Yield the path, and what else a tool may make of it: of blanks around it, of a home folder, of Windows' slashes,
    of a URI.
    """
    yield path
    bare = path.strip(_TRIMMED)
    if bare and bare != path:
        yield bare
    if bare.startswith("~/"):
        yield os.path.expanduser(bare)
    if "\\" in bare and os.sep == "/":
        yield bare.replace("\\", "/")
    if bare[:5].lower() == "file:":
        yield _decoded(bare[5:].removeprefix("//").removeprefix("localhost"))


def _decoded(path: str) -> str:
    first, *rest = path.split("%")
    made = [first.encode()]
    for part in rest:
        try:
            made.append(bytes.fromhex(part[:2]) + part[2:].encode())
        except ValueError:
            made.append(b"%" + part.encode())
    return os.fsdecode(b"".join(made))
