"""Define the findings and the report as data; reports.py renders them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.doctor.codes import CODES, NOTE, SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable

CAP = 20
"""The maximum number of findings of one code that are listed; the others are counted."""
_LONGEST_POINTER = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem in one place.

    `file` is a path from the project root with `/`. `problem` is the rest of a sentence that begins with `file`. `line`
    and `column` count from 1. `pointer` is a JSON pointer (RFC 6901). `identity` distinguishes two problems that are
    otherwise equal, e.g. two successive journals.
    """

    code: str
    file: str
    problem: str
    pointer: str | None = None
    line: int | None = None
    column: int | None = None
    advice: str = ""
    identity: object = field(default=None, repr=False)

    @property
    def severity(self) -> str:
        return CODES[self.code].severity

    @property
    def next_step(self) -> str:
        return self.advice or CODES[self.code].next_step

    @property
    def key(self) -> tuple[object, ...]:
        """Return a key that is the same in every pass. It leaves out `problem`, whose numbers may change."""
        return (self.code, self.file, self.pointer, self.line, self.identity)


class More(NamedTuple):
    """The number of unlisted findings of a code."""

    code: str
    number: int


class Findings:
    """Findings in the order in which they were added, at most CAP of each code; `more` counts the others."""

    def __init__(self, found: Iterable[Finding | More] = ()) -> None:
        self.kept: dict[tuple[object, ...], Finding] = {}
        self.more: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        for finding in found:
            self.add(finding)

    def add(self, finding: Finding | More) -> None:
        """Store the finding, or only count it if CAP of its code are stored. Store findings with equal keys once."""
        if isinstance(finding, More):
            self._count(finding.code, finding.number)
            return
        finding = _bound_pointer(finding)
        if finding.key in self.kept:
            return
        number = self._counts.get(finding.code, 0)
        if number < CAP:
            self._counts[finding.code] = number + 1
            self.kept[finding.key] = finding
        else:
            self._count(finding.code, 1)

    def intersect(self, other: Findings) -> Findings:
        """Return the findings that both passes have."""
        both = Findings(finding for key, finding in self.kept.items() if key in other.kept)
        codes = {finding.code for finding in both.kept.values()}
        both.more = {code: min(n, other.more.get(code, 0)) for code, n in self.more.items() if code in codes}
        return both

    def _count(self, code: str, number: int) -> None:
        self.more[code] = self.more.get(code, 0) + number

    @property
    def are_notes(self) -> bool:
        """Return whether all findings are notes."""
        return all(finding.severity == NOTE for finding in self.kept.values())


def _bound_pointer(finding: Finding) -> Finding:
    """Return the finding with a pointer of bounded length: a longer one is replaced by that of an enclosing value."""
    pointer = finding.pointer
    if pointer is None or len(pointer) <= _LONGEST_POINTER:
        return finding
    while len(pointer) > _LONGEST_POINTER:
        pointer = pointer.rpartition("/")[0]
    return replace(finding, pointer=pointer)


@dataclass(frozen=True, slots=True)
class Report:
    """The result for a project.

    `entries`: the number of files and folders that were checked, `.nexus` included; 0 without `.nexus`. `findings`: the
    worst first. `more`: code -> number of findings that are not listed. `state_root`: if the project is a linked
    worktree, the worktree (itself or the main one) whose plan, tasks and history it uses; else "".
    """

    project: str
    entries: int
    findings: tuple[Finding, ...]
    more: dict[str, int]
    state_root: str = ""

    @property
    def totals(self) -> dict[str, int]:
        """Severity -> number of findings."""
        counts = dict.fromkeys(SEVERITIES, 0)
        for finding in self.findings:
            counts[finding.severity] += 1
        for code, number in self.more.items():
            counts[CODES[code].severity] += number
        return counts

    @property
    def healthy(self) -> bool:
        """Return whether all findings are notes."""
        return all(finding.severity == NOTE for finding in self.findings)
