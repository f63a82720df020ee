"""What is wrong with the files of a catalog, by the entry that it is about."""

from __future__ import annotations

from nexus_mcp.errors import CatalogError, PathRefused, StorageError
from nexus_mcp.quoting import inert, quoted_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from nexus_mcp.errors import NexusError

MOST = 20
"""Faults of a file that are told; the others are counted."""
MOST_IN_ALL = 60
"""Faults of all files that are told, beside the first of each file: looking for a name that was meant takes time."""
_LONGEST = 500  # characters of a fault: it may quote what somebody wrote


class Faults:
    """Each is told as `path:line:column: what`, and belongs to an entry, e.g. "agents/engineer".

    `may_pass`: one of them may go without a change of any file, as when the disk could not be read.
    """

    __slots__ = ("_left", "_more", "_told", "may_pass")

    def __init__(self, *, in_all: int = MOST_IN_ALL) -> None:
        self._told: dict[str, dict[str, list[str]]] = {}
        self._more: dict[tuple[str, str], int] = {}
        self._left = in_all
        self.may_pass = False

    def add(self, entry: str, file: str, told: str | Callable[[], str]) -> None:
        """`told` is worked out only when it is one of those that are told: names that are near take time to find."""
        texts = self._told.setdefault(entry, {}).setdefault(file, [])
        if len(texts) == MOST or (texts and self._left <= 0):
            self._more[entry, file] = self._more.get((entry, file), 0) + 1
            return
        self._left -= 1
        text = _shown(file, told if isinstance(told, str) else told())
        if text not in texts:
            texts.append(text)

    def extend(self, entry: str, file: str, found: Iterable[Callable[[], str]]) -> None:
        for told in found:
            self.add(entry, file, told)

    def raised(self, entry: str, file: str, error: NexusError) -> None:
        """A file that could not be read. Raises what says nothing about a file."""
        if isinstance(error, CatalogError):
            for told in error.faults:
                self.add(entry, file, told)
        elif isinstance(error, PathRefused):
            self.add(entry, error.path, f"{error.path}: {error.problem}")
        elif isinstance(error, StorageError):
            self.may_pass = True
            self.add(entry, error.path, f"{error.path}: could not be read: {error.reason}")
        else:
            raise error

    def below(self) -> Faults:
        """For one entry, whose faults are put to these by `restore`; no more are told than are left."""
        return Faults(in_all=self._left)

    def kept(self, entry: str) -> dict[str, Any]:
        """What is wrong with an entry, as JSON that `restore` takes; {} for nothing."""
        files = self._told.get(entry, {})
        return {file: [texts, self._more.get((entry, file), 0)] for file, texts in files.items()}

    def restore(self, entry: str, kept: dict[str, Any]) -> None:
        """Take over what `kept` gave."""
        for file, (texts, more) in kept.items():  # for nothing there is no entry
            self._told.setdefault(entry, {})[file] = list(texts)
            self._left -= len(texts)
            if more:
                self._more[entry, file] = more

    def entries(self) -> list[str]:
        """Those with faults, in the order in which they were found."""
        return list(self._told)

    def of(self, entry: str) -> list[str]:
        """What is wrong with an entry, file by file."""
        told: list[str] = []
        for file, texts in self._told.get(entry, {}).items():
            more = self._more.get((entry, file))
            told += [*texts, f"{file}: and {more} more"] if more else texts
        return told

    def count(self, entry: str) -> int:
        texts = self._told.get(entry, {})
        return sum(len(found) + self._more.get((entry, file), 0) for file, found in texts.items())

    def files(self, entry: str) -> list[str]:
        return list(self._told.get(entry, ()))

    def by_file(self) -> Iterator[tuple[str, list[str], int]]:
        """(file, what is wrong with it, how much more is)."""
        for entry, files in self._told.items():
            for file, texts in files.items():
                yield file, texts, self._more.get((entry, file), 0)

    def all(self) -> list[str]:
        return [told for entry in self._told for told in self.of(entry)]


def _shown(file: str, told: str) -> str:
    """A fault for people and models: the path at its beginning quoted where it is odd, all else inert, and cut."""
    path = file if told.startswith(file) else ""
    rest = told[len(path) :]
    place = quoted_name(path) if path else ""
    return f"{place}{inert(rest)}" if len(rest) <= _LONGEST else f"{place}{inert(rest[:_LONGEST])}..."
