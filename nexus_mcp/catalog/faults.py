"""Collect the faults of catalog files by entry, and replace the faulty entries of a project by fallbacks."""

from __future__ import annotations

from nexus_mcp.catalog.sources import AGENTS, CLOSED, LOST_MAP, MAP, MEND, PROJECT, SKILLS
from nexus_mcp.errors import CatalogError, PathRefused, StorageError
from nexus_mcp.quoting import inert, quoted_name
from nexus_mcp.wording import rest_line

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from nexus_mcp.errors import NexusError

    Value = dict[str, Any]

MOST = 20
"""The maximum number of listed faults of a file; the others are counted."""
MOST_IN_ALL = 60
"""The maximum number of listed faults of all files; beyond it, only the first fault of each file is listed. There is a
limit because suggestions of names take time.
"""
_LONGEST = 500  # the maximum number of characters of a fault, which may quote the file
_FEW = 3
# The fields of an agent of which only the folder is known. With this category it is never suggested for work, and with
# this tier it is resumed only if the policy of a task requires that.
_UNKNOWN = {"category": "check", "resume_tier": "ephemeral", "model_tier": "standard", "body_hash": ""}


class Faults:
    """Faults as texts `path:line:column: problem` or `path: problem`, by entry, e.g. "agents/engineer".

    `may_pass`: a fault may disappear without a change of any file, e.g. a disk error.
    """

    __slots__ = ("_left", "_more", "_texts", "may_pass")

    def __init__(self, *, in_all: int = MOST_IN_ALL) -> None:
        self._texts: dict[str, dict[str, list[str]]] = {}
        self._more: dict[tuple[str, str], int] = {}
        self._left = in_all
        self.may_pass = False

    def add(self, entry: str, file: str, text: str | Callable[[], str]) -> None:
        """Add a fault. If `text` is a function, it is called only if the fault is listed, because it takes time to find
        similar names.
        """
        texts = self._texts.setdefault(entry, {}).setdefault(file, [])
        if len(texts) == MOST or (texts and self._left <= 0):
            self._more[entry, file] = self._more.get((entry, file), 0) + 1
            return
        self._left -= 1
        shown = _format_fault(file, text if isinstance(text, str) else text())
        if shown not in texts:
            texts.append(shown)

    def extend(self, entry: str, file: str, found: Iterable[Callable[[], str]]) -> None:
        """Add the faults of one file."""
        for text in found:
            self.add(entry, file, text)

    def add_error(self, entry: str, file: str, error: NexusError) -> None:
        """Add the error of reading a file. Raise `error` itself if it is not about a file."""
        if isinstance(error, CatalogError):
            for text in error.faults:
                self.add(entry, file, text)
        elif isinstance(error, PathRefused):
            self.add(entry, error.path, f"{error.path}: {error.problem}")
        elif isinstance(error, StorageError):
            self.may_pass = True
            self.add(entry, error.path, f"{error.path}: could not be read: {error.reason}")
        else:
            raise error

    def for_entry(self) -> Faults:
        """Return an empty collection for one entry, with the number of faults that may still be listed."""
        return Faults(in_all=self._left)

    def as_json(self, entry: str) -> dict[str, Any]:
        """Return the faults of an entry as JSON for `restore`; {} for none."""
        files = self._texts.get(entry, {})
        return {file: [texts, self._more.get((entry, file), 0)] for file, texts in files.items()}

    def restore(self, entry: str, saved: dict[str, Any]) -> None:
        """Add the faults that `as_json` returned."""
        for file, (texts, more) in saved.items():  # {} adds nothing: only faulty entries are in _texts
            self._texts.setdefault(entry, {})[file] = list(texts)
            self._left -= len(texts)
            if more:
                self._more[entry, file] = more

    def entries(self) -> list[str]:
        """Return the faulty entries, in the order of their first faults."""
        return list(self._texts)

    def of(self, entry: str) -> list[str]:
        """Return the listed faults of an entry, file by file, and after those of a file a line with the number of its
        other faults; [] for none.
        """
        lines: list[str] = []
        for file, texts in self._texts.get(entry, {}).items():
            lines += [*texts, *(f"{file}: {text}" for text in rest_line(self._more.get((entry, file), 0)))]
        return lines

    def count(self, entry: str) -> int:
        texts = self._texts.get(entry, {})
        return sum(len(found) + self._more.get((entry, file), 0) for file, found in texts.items())

    def files(self, entry: str) -> list[str]:
        return list(self._texts.get(entry, ()))

    def by_file(self) -> Iterator[tuple[str, list[str], int]]:
        """Yield (file, its listed faults, number of the rest)."""
        for entry, files in self._texts.items():
            for file, texts in files.items():
                yield file, texts, self._more.get((entry, file), 0)

    def all(self) -> list[str]:
        return [line for entry in self._texts for line in self.of(entry)]


def _format_fault(file: str, fault: str) -> str:
    """Return a fault that is safe to print: the path is quoted if it has unusual characters, the rest is escaped and
    truncated at _LONGEST.
    """
    path = file if fault.startswith(file) else ""
    rest = fault[len(path) :]
    place = quoted_name(path) if path else ""
    return f"{place}{inert(rest)}" if len(rest) <= _LONGEST else f"{place}{inert(rest[:_LONGEST])}..."


def faulty_agents(faults: Faults, shipped: Value) -> dict[str, Value]:
    """Return name → an entry with every capability, for each faulty agent. Its other fields are those of the shipped
    agent with this name, if there is one.

    If the folder of the agents cannot be listed, every shipped agent counts as faulty.
    """
    found = [entry.partition("/") for entry in faults.entries()]
    at = {name: faults.files(f"{kind}/{name}")[0] for kind, slash, name in found if slash and kind == AGENTS}
    if faults.of(AGENTS):
        at = dict.fromkeys(shipped[AGENTS], faults.files(AGENTS)[0])
    return {name: restricted_agent(name, file, shipped) for name, file in at.items()}


def fault_fields(faults: Faults, shipped: Value) -> Value:
    """Return the fields of a project's catalog except agents, skills and maps: `warnings`, CLOSED and LOST_MAP
    (sources.py).
    """
    closed, map_fault = (faults.files(entry)[0] if faults.of(entry) else "" for entry in (AGENTS, MAP))
    return {"warnings": warning_lines(faults, shipped), CLOSED: closed, LOST_MAP: map_fault}


def folder_error(error: NexusError) -> CatalogError:
    """Return a CatalogError for the error of opening `.nexus`. Raise `error` itself if it is not about a file."""
    faults = Faults()
    faults.add_error(AGENTS, ".nexus", error)
    return CatalogError(faults.all())


def folder_fallback(error: NexusError, shipped: Value) -> Value:
    """Return a project's catalog for the case that `.nexus` cannot be opened. Raise `error` itself if it is not about a
    file.
    """
    faults = Faults()
    faults.add_error(AGENTS, ".nexus", error)
    return {
        AGENTS: faulty_agents(faults, shipped),
        SKILLS: {},
        "maps": {},
        **fault_fields(faults, shipped),
        LOST_MAP: ".nexus",
    }


def warning_lines(faults: Faults, shipped: Value) -> list[str]:
    """Return one line each for the first _FEW faulty entries, with the fallback in use, and one line for the rest."""
    there = faults.entries()
    lines = [_line(faults, entry, shipped) for entry in there[:_FEW]]
    rest = len(there) - _FEW
    if rest > 0:
        lines.append(f"{rest} more agents, skills or maps of this project cannot be used.")
    return lines


def restricted_agent(name: str, file: str, shipped: Value) -> Value:
    """Return an entry with every capability, for an agent whose definition in the project is unknown, because `file`
    has a fault.
    """
    below = shipped[AGENTS].get(name)
    own: Value = below or {"id": name, "name": name, "description": f"{file} cannot be used.", **_UNKNOWN}
    canonical = [] if below is None else below["capabilities"]
    added = [one for one in shipped["vocabulary"]["capabilities"] if one not in canonical]
    over = {"capabilities": canonical, "added": added, "origin": PROJECT, "own_body": below is None, MEND: file}
    return {**own, **over}


def _line(faults: Faults, entry: str, shipped: Value) -> str:
    more = "".join(f" ({text})" for text in rest_line(faults.count(entry) - 1))
    return f"{faults.of(entry)[0].rstrip('.')}{more}; until it is corrected {_meanwhile(entry, shipped)}."


def _meanwhile(entry: str, shipped: Value) -> str:
    kind, _, name = entry.partition("/")
    if kind == AGENTS:
        return f"{quoted_name(name) if name else 'every agent'} gets every restriction"
    if entry == MAP:
        return "the shipped map applies to the harnesses in it"
    if not name:
        return "the shipped ones are used"
    return "the shipped one is used" if name in shipped[SKILLS] else "there is no such skill"
