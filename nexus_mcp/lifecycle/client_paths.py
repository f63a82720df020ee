"""Translate paths of a client's machine into paths of the server's project.

A client over HTTP has its own checkout. A path below the client's project folder means the file with the same path
below the server's project folder. The client's project folder, or a folder around it, means the server's project
folder. Any other path gets a prefix that no project has, so that it never means a file of the server by chance. The
server cannot follow links of the client, so it judges paths by their text. If both have the project at the same path,
client and server count as one machine, and paths are not translated.
"""

from __future__ import annotations

import posixpath

from nexus_mcp.lifecycle.nexus_files import LONGEST_PATH, TRIMMED, decoded_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ELSEWHERE = "client:"
"""The prefix of files on the client's machine outside of its project."""


class ClientPaths:
    """The folders of a client: `root` is its project, `folder` its working folder, `home` its home folder or "".

    All paths are absolute. `is_here`: the server has the project at the same path.
    """

    __slots__ = ("folder", "home", "is_here", "root")

    def __init__(self, root: str, folder: str, home: str, *, own_root: str) -> None:
        self.root = posixpath.normpath(root)
        self.is_here = self.root == posixpath.normpath(own_root)
        self.folder = posixpath.normpath(folder)
        self.home = home

    def all_of(self, paths: Iterable[str]) -> list[str]:
        """Return all files that the paths may mean, in the form of `places`, each once."""
        return list(dict.fromkeys(found for path in paths for found in self.places(path)))

    def place(self, path: str) -> str:
        """Return the first of the files that `places` returns for a path."""
        return next(iter(self.places(path)))

    def places(self, path: str) -> list[str]:
        """Return the files that a path may mean: a relative path may begin at the project or the working folder.

        They are paths from the project root, or begin with ELSEWHERE; with `is_here`, paths are not translated.
        """
        if self.is_here:
            is_beside = self.folder != self.root and not posixpath.isabs(path)
            return [path, posixpath.join(self.folder, path)] if is_beside else [path]
        return list(dict.fromkeys(self._from_root(one) for one in self._absolute(path)))

    def _absolute(self, path: str) -> Iterator[str]:
        bare = path.strip(TRIMMED)
        if bare[:5].lower() == "file:" and len(bare) <= LONGEST_PATH:
            bare = decoded_path(bare)
        if bare.startswith("~/") and self.home:
            bare = posixpath.join(self.home, bare[2:])
        spellings = dict.fromkeys((bare or path, (bare or path).replace("\\", "/")))
        for spelling in spellings:
            yield posixpath.join(self.root, spelling)
            if self.folder != self.root:
                yield posixpath.join(self.folder, spelling)

    def _from_root(self, path: str) -> str:
        plain = posixpath.normpath(path)
        if plain.startswith("//"):
            plain = plain[1:]
        top = self.root.rstrip("/")
        if plain == self.root or top.startswith(plain.rstrip("/") + "/"):
            return "."  # the project folder, or one around it
        if plain.startswith(top + "/"):
            return plain[len(top) + 1 :]
        return ELSEWHERE + plain
