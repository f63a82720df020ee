"""Render a report as text or as JSON.

The text lists the worst findings first, with their places and next steps; the last line has the totals. Findings that
differ only in their place form one group.
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from nexus_mcp.doctor.codes import ERROR, NOTE, WARNING
from nexus_mcp.quoting import inert
from nexus_mcp.wording import rest_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.finding import Finding, Report

FORMAT = 1
"""Version of the JSON report; it grows when a field changes its meaning or is removed."""
WIDTH = 80
"""Columns of a line of text."""
MOST_PLACES = 6
_FIELDS = ("code", "severity", "file", "line", "column", "pointer", "problem", "next_step")
"""The fields of a finding in the JSON report."""
_INDENT = 9
_COLOURS = {ERROR: "\x1b[1;31m", WARNING: "\x1b[1;33m", NOTE: "\x1b[1;36m"}
_PLAIN = "\x1b[0m"


def to_text(report: Report, width: int = WIDTH, *, colour: bool = False) -> str:
    """Return the report as lines of at most `width` columns (long names excepted), without a final newline."""
    lines = [inert(report.project), *_state_lines(report)]
    if not report.entries and not report.findings:
        return "\n".join([*lines, "Healthy: there is no .nexus/ yet. nexus-mcp init creates it."])
    for group, more in _groups(report):
        severity = group[0].severity
        word = f"{_COLOURS[severity]}{severity}{_PLAIN}" if colour else severity
        first, *rest = _group_lines(group, more, width)
        lines += ["", word + first[len(severity) :], *rest]
    return "\n".join([*lines, "", _summary(report)])


def _state_lines(report: Report) -> list[str]:
    """Return a line that says whose plan, tasks and history a linked worktree uses; [] for any other project."""
    if not report.state_root:
        return []
    if report.state_root == report.project:
        return ["Plan, tasks and history: this worktree's own."]
    main = inert(report.state_root)
    return [f"Plan, tasks and history: those of the main worktree, {main}. Check them with nexus-mcp doctor there."]


def _groups(report: Report) -> Iterator[tuple[list[Finding], int]]:
    """Yield groups of findings that differ only in their place, the last group of each code with the number of unlisted
    findings of the code, the others with 0.
    """
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.code, finding.problem, finding.next_step), []).append(finding)
    last = {code: key for key in groups for code in key[:1]}
    for key, group in groups.items():
        yield group, report.more.get(key[0], 0) if last[key[0]] == key else 0


def _group_lines(group: list[Finding], more: int, width: int) -> Iterator[str]:
    """Yield the lines of one group; the first has room for the severity."""
    for finding in group[:MOST_PLACES]:
        yield f"{'':{_INDENT}}{inert(finding.file)}{_place(finding)}"
    for text in rest_line(len(group[MOST_PLACES:]) + more):
        yield f"{'':{_INDENT}}{text} of this kind"
    each = "each " if len(group) > 1 else ""
    yield from _wrap(f"{each}{inert(group[0].problem)} [{group[0].code}]", "", width)
    yield from _wrap(group[0].next_step, "> ", width)


def _place(finding: Finding) -> str:
    places = (
        f"line {finding.line}" if finding.line is not None else "",
        f"column {finding.column}" if finding.column is not None else "",
        inert(finding.pointer or ""),
    )
    return "".join(f", {place}" for place in places if place)


def _wrap(text: str, mark: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=" " * _INDENT + mark,
        subsequent_indent=" " * (_INDENT + len(mark)),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(report: Report) -> str:
    counts = ", ".join(f"{number} {word}{'s' * (number != 1)}" for word, number in report.totals.items())
    counted = f"{report.entries} files and folders checked: {counts}."
    return f"Healthy. {counted}" if report.healthy else counted


def to_json(report: Report) -> str:
    """Return the report as JSON text, without a final newline. It is ASCII, because file names may hold any bytes."""
    return json.dumps(document(report), indent=2)


def document(report: Report) -> dict[str, Any]:
    """Return the report as a JSON value that matches schemas/doctor/report.schema.json."""
    return {
        "format": FORMAT,
        "project": report.project,
        "state_root": report.state_root or report.project,
        "healthy": report.healthy,
        "entries": report.entries,
        "totals": report.totals,
        "findings": [{name: getattr(finding, name) for name in _FIELDS} for finding in report.findings],
        "more": report.more,
    }
