"""The report for people: the worst first, each with its place and its next step, the counts in the last line."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from nexus_mcp.doctor.codes import ERROR, NOTE, WARNING
from nexus_mcp.quoting import inert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.finding import Finding, Report

WIDTH = 80
MOST_PLACES = 6
_INDENT = 9
_COLOURS = {ERROR: "\x1b[1;31m", WARNING: "\x1b[1;33m", NOTE: "\x1b[1;36m"}
_PLAIN = "\x1b[0m"


def to_text(report: Report, width: int = WIDTH, *, colour: bool = False) -> str:
    """The lines of the report, without a newline at the end. No line is wider than `width` but for a long name."""
    lines = [inert(report.project)]
    if not report.entries and not report.findings:
        return "\n".join([*lines, "Healthy: nothing is here yet; nexus-mcp init makes .nexus/."])
    for group, more in _groups(report):
        severity = group[0].severity
        word = f"{_COLOURS[severity]}{severity}{_PLAIN}" if colour else severity
        first, *rest = _told(group, more, width)
        lines += ["", word + first[len(severity) :], *rest]
    return "\n".join([*lines, "", _last(report)])


def _groups(report: Report) -> Iterator[tuple[list[Finding], int]]:
    """(findings that differ in nothing but their place, how many more of the last one's code are not listed)."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.code, finding.problem, finding.next_step), []).append(finding)
    last = {code: key for key in groups for code in key[:1]}
    for key, group in groups.items():
        yield group, report.more.get(key[0], 0) if last[key[0]] == key else 0


def _told(group: list[Finding], more: int, width: int) -> Iterator[str]:
    """The lines of one group, the first with room for the severity at its beginning."""
    for finding in group[:MOST_PLACES]:
        yield f"{'':{_INDENT}}{inert(finding.file)}{_place(finding)}"
    unlisted = len(group[MOST_PLACES:]) + more
    if unlisted:
        yield f"{'':{_INDENT}}and {unlisted} more of this kind"
    each = "each " if len(group) > 1 else ""
    yield from _wrapped(f"{each}{inert(group[0].problem)} [{group[0].code}]", "", width)
    yield from _wrapped(group[0].next_step, "> ", width)


def _place(finding: Finding) -> str:
    places = (
        f"line {finding.line}" if finding.line is not None else "",
        f"column {finding.column}" if finding.column is not None else "",
        inert(finding.pointer or ""),
    )
    return "".join(f", {place}" for place in places if place)


def _wrapped(text: str, mark: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=" " * _INDENT + mark,
        subsequent_indent=" " * (_INDENT + len(mark)),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _last(report: Report) -> str:
    counts = ", ".join(f"{number} {word}{'s' * (number != 1)}" for word, number in report.totals.items())
    looked = f"{report.entries} files and folders looked at: {counts}."
    return f"Healthy. {looked}" if report.healthy else looked
