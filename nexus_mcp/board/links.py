"""Make the links to the pages: paths on the server, or relative paths of exported files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

_DIGITS = 32
"""128 bits of the SHA-256: to find two names with the same digits takes about 2^64 tries."""


class Links:
    """The paths of one project's pages on the server. `many`: the board has an overview."""

    is_static = False

    def __init__(self, key: str, keys: list[str], *, many: bool) -> None:
        self._base = f"/p/{key}"
        self._keys = keys
        self.many = many

    def asset(self, name: str) -> str:
        return f"/assets/{name}"

    def overview(self) -> str:
        return "/"

    @property
    def watched_keys(self) -> str:
        """The keys of the projects whose changes the page shows, separated by commas."""
        return ",".join(self._keys)

    def now(self) -> str:
        return f"{self._base}/"

    def graph(self) -> str:
        return f"{self._base}/graph"

    def charts(self) -> str:
        return f"{self._base}/charts"

    def changes(self) -> str:
        return f"{self._base}/changes"

    def files(self) -> str:
        return f"{self._base}/files"

    def decisions(self) -> str:
        return f"{self._base}/decisions"

    def history(self, query: Mapping[str, str] | None = None, most: int = 0) -> str:
        words = {name: value for name, value in (query or {}).items() if value}
        if most:
            words["most"] = str(most)
        return f"{self._base}/history" + (f"?{urlencode(words)}" if words else "")

    def cycle(self, number: int) -> str:
        return f"{self._base}/history/{number}"

    def has_cycle(self, number: int) -> bool:  # noqa: ARG002 - an export has not all of them
        return True

    def compare_form(self) -> str:
        return f"{self._base}/compare"

    def compare(self, old: int, new: int) -> str:
        return f"{self._base}/compare?a={old}&b={new}"

    def state(self, line: int) -> str:
        return f"{self._base}/changes/{line}"

    def artifact(self, name: str) -> str:
        return f"{self._base}/artifacts/{quote(name)}"

    def raw(self, name: str) -> str:
        return f"{self._base}/raw/{quote(name)}"

    def note(self, path: str) -> str:
        return f"{self._base}/notes/{quote(path)}"


class StaticLinks(Links):
    """The relative paths of exported files. All pages of a project are in one folder.

    `up` is the path from this folder to the root of the export. `cycles` are the cycles that have a page of their own.
    """

    is_static = True

    def __init__(self, key: str, *, many: bool, up: str, cycles: Container[int]) -> None:
        super().__init__(key, [], many=many)
        self._up = up
        self._base = "."
        self._cycles = cycles

    def asset(self, name: str) -> str:
        return f"{self._up}assets/{name}"

    def overview(self) -> str:
        return f"{self._up}index.html"

    def now(self) -> str:
        return "index.html"

    def graph(self) -> str:
        return "graph.html"

    def charts(self) -> str:
        return "charts.html"

    def changes(self) -> str:
        return "changes.html"

    def files(self) -> str:
        return "files.html"

    def decisions(self) -> str:
        return "decisions.html"

    def history(self, query: Mapping[str, str] | None = None, most: int = 0) -> str:  # noqa: ARG002 - one page
        return "history.html"

    def cycle(self, number: int) -> str:
        return f"cycle-{number}.html" if number in self._cycles else "history.html"

    def has_cycle(self, number: int) -> bool:
        return number in self._cycles

    def compare_form(self) -> str:
        return ""

    def state(self, line: int) -> str:
        return f"change-{line}.html"

    def artifact(self, name: str) -> str:
        return f"artifact-{_short(name)}.html"

    def raw(self, name: str) -> str:
        return f"raw-{_short(name)}{_suffix(name)}"

    def note(self, path: str) -> str:
        return f"note-{_short(path)}.html"


def _short(name: str) -> str:
    """Return a short text that stands for `name` in file names: the beginning of its SHA-256."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _suffix(name: str) -> str:
    last = name.rpartition(".")[2].lower()
    return f".{last}" if last.isascii() and last.isalnum() else ""
