"""What is found, as data; text.py and json_report.py tell it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.doctor.codes import CODES, NOTE, SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable

CAP = 20
"""How many findings of one code are told; the others are counted."""
_LONGEST_POINTER = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be.

    `problem` goes on after the name of the file, which is a path from the project root with `/`. `line` and `column`
    count from 1. `pointer` is a JSON pointer (RFC 6901). `identity` tells apart what otherwise looks the same at two
    looks, a journal from the one after it.
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
        """The same at another look if it still is the same finding; where something counts grow, they are not in it."""
        return (self.code, self.file, self.pointer, self.line, self.identity)


class More(NamedTuple):
    """So many findings of a code, beyond those that are told one by one."""

    code: str
    number: int


class Findings:
    """Findings in the order they came, at most CAP of each code; `more` counts those beyond."""

    def __init__(self, found: Iterable[Finding | More] = ()) -> None:
        self.kept: dict[tuple[object, ...], Finding] = {}
        self.more: dict[str, int] = {}
        self._told: dict[str, int] = {}
        for finding in found:
            self.add(finding)

    def add(self, finding: Finding | More) -> None:
        """Keep it, or count it. The same one twice is one."""
        if isinstance(finding, More):
            self._count(finding.code, finding.number)
            return
        finding = _in_bounds(finding)
        if finding.key in self.kept:
            return
        told = self._told.get(finding.code, 0)
        if told < CAP:
            self._told[finding.code] = told + 1
            self.kept[finding.key] = finding
        else:
            self._count(finding.code, 1)

    def also_in(self, other: Findings) -> Findings:
        """Those of the findings that the other look made, too."""
        both = Findings(finding for key, finding in self.kept.items() if key in other.kept)
        codes = {finding.code for finding in both.kept.values()}
        both.more = {code: min(n, other.more.get(code, 0)) for code, n in self.more.items() if code in codes}
        return both

    def _count(self, code: str, number: int) -> None:
        self.more[code] = self.more.get(code, 0) + number

    @property
    def are_notes(self) -> bool:
        """Whether there is nothing but notes."""
        return all(finding.severity == NOTE for finding in self.kept.values())


def _in_bounds(finding: Finding) -> Finding:
    """The finding; a pointer whose names somebody made absurdly long leads to what is around instead."""
    pointer = finding.pointer
    if pointer is None or len(pointer) <= _LONGEST_POINTER:
        return finding
    while len(pointer) > _LONGEST_POINTER:
        pointer = pointer.rpartition("/")[0]
    return replace(finding, pointer=pointer)


@dataclass(frozen=True, slots=True)
class Report:
    """What doctor has to say about a project. `entries`: how many files and folders were looked at, `.nexus` included;
    0 when there is none. `findings`: the worst first. `more`: code -> how many there are beyond those."""

    project: str
    entries: int
    findings: tuple[Finding, ...]
    more: dict[str, int]

    @property
    def totals(self) -> dict[str, int]:
        """Severity -> how many findings."""
        counts = dict.fromkeys(SEVERITIES, 0)
        for finding in self.findings:
            counts[finding.severity] += 1
        for code, number in self.more.items():
            counts[CODES[code].severity] += number
        return counts

    @property
    def healthy(self) -> bool:
        """Whether nothing was found but notes."""
        return all(finding.severity == NOTE for finding in self.findings)
