"""Looks at a project until what is found can be relied on.

Servers may be writing at the same time, so a look may find what is only so for a moment. One during which nothing
changed and nobody held the lock is believed as it is; otherwise only what several looks in succession all found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nexus_mcp.doctor import locate
from nexus_mcp.doctor.checks import CHECKS
from nexus_mcp.doctor.codes import SEVERITIES
from nexus_mcp.doctor.finding import Finding, Findings, Report
from nexus_mcp.doctor.git import Questions
from nexus_mcp.doctor.lock_watch import PATIENCE, LockWatch
from nexus_mcp.doctor.places import NEXUS
from nexus_mcp.doctor.site import Site
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.journal import SHOWN_HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKS = 4
_LINES_LIMIT = 4 << 20


def examine(root: str, patience: float = PATIENCE) -> Report:
    """What is wrong with the workspace of the project at `root`, an absolute path without links.

    `patience`: seconds to wait for a moment without a writer. Raises PathRefused and StorageError when the project or
    its `.nexus` cannot be looked into.
    """
    with Folder.root(root) as top:
        nexus = top.child(NEXUS)
        if nexus is None:
            return Report(root, 0, (), {})
        with nexus:
            site, found = _settled(Questions(root), nexus, LockWatch(patience))
    order = {severity: number for number, severity in enumerate(SEVERITIES)}
    findings = sorted(_placed(site, found), key=lambda finding: order[finding.severity])
    return Report(root, len(site.survey.entries) + site.survey.temporaries, tuple(findings), found.more)


def _settled(questions: Questions, nexus: Folder, watch: LockWatch) -> tuple[Site, Findings]:
    """The last look, and the findings to believe."""
    site, found = _look(questions, nexus, watch)
    believed = found
    for rest in reversed(range(LOOKS)):
        if site.is_current():
            return site, found
        if believed.are_notes or not rest:
            break
        site, found = _look(questions, nexus, watch)
        believed = found.also_in(believed)
    if not (believed.are_notes or watch.is_stuck):
        believed.add(Finding("busy", NEXUS, "was being written to at each look"))
    return site, believed


def _look(questions: Questions, nexus: Folder, watch: LockWatch) -> tuple[Site, Findings]:
    site = Site(questions, nexus, watch)
    return site, Findings(finding for check in CHECKS for finding in check(site))


def _placed(site: Site, found: Findings) -> Iterator[Finding]:
    """The findings, with the line of each pointer into a text that was read and is of a sensible size."""
    for finding in found.kept.values():
        line, column = finding.line, finding.column
        if line is None and finding.pointer is not None:
            line, column = _place(site, finding.file, finding.pointer) or (None, None)
        yield replace(finding, line=line, column=column)


def _place(site: Site, file: str, pointer: str) -> tuple[int, int] | None:
    text, start = site.texts.get(file), 0
    if text is None:
        return None
    past, parts = site.history.file, pointer.split("/", 3)
    if file == SHOWN_HISTORY and past is not None and parts[1:2] == ["cycles"] and len(parts) > 2:
        # Where each cycle begins is known, so those before it need no second reading.
        start, pointer = past.spans[int(parts[2])][0], "".join(f"/{part}" for part in parts[3:])
    elif len(text) > _LINES_LIMIT:
        return None
    try:
        return locate.line_and_column(text, locate.position(text, pointer, start))
    except (ValueError, IndexError, RecursionError):
        return None
