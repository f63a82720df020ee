"""Run all checks on a project until the findings are stable.

Servers may be writing at the same time, so one pass may find a state that lasts for a moment only. If nothing changed
during a pass and no process held the lock at its end, the findings of that pass are reported. Otherwise another pass
follows, at most MAX_PASSES in all. If each pass was disturbed, only the findings that every pass had are reported. No
further pass follows once these are only notes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents
from nexus_mcp.doctor.checks import CHECKS
from nexus_mcp.doctor.codes import SEVERITIES
from nexus_mcp.doctor.finding import Finding, Findings, Report
from nexus_mcp.doctor.git import Queries
from nexus_mcp.doctor.lock_watch import PATIENCE_S, LockWatch
from nexus_mcp.doctor.places import NEXUS
from nexus_mcp.doctor.site import Site
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.journal import SHOWN_HISTORY
from nexus_mcp.tags.config import worktree_mode
from nexus_mcp.wording import line_and_column
from nexus_mcp.worktree import is_linked, main_of, state_root

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PASSES = 4
_LINES_LIMIT = 4 << 20


def examine(root: str, patience: float = PATIENCE_S) -> Report:
    """Return the report on the project at `root`, an absolute path without links.

    `patience` is in seconds: how long to wait in all for moments without a writer. Raise PathRefused or StorageError
    when the project or its `.nexus` cannot be opened.
    """
    with Folder.root(root) as top:
        nexus = top.child(NEXUS)
        if nexus is None:
            return Report(root, 0, (), {}, _state_root(root))
        with nexus:
            site, found = _examine_until_stable(Queries(root), nexus, LockWatch(patience))
    order = {severity: number for number, severity in enumerate(SEVERITIES)}
    findings = sorted(_with_positions(site, found), key=lambda finding: order[finding.severity])
    count = len(site.survey.entries) + site.survey.temporaries
    return Report(root, count, tuple(findings), found.more, _state_root(root))


def _state_root(root: str) -> str:
    """Return the folder whose state the linked worktree `root` uses; "" for any other project."""
    return state_root(root, worktree_mode(root)) if is_linked(root) and main_of(root) else ""


def _examine_until_stable(queries: Queries, nexus: Folder, watch: LockWatch) -> tuple[Site, Findings]:
    """Repeat the checks as the module docstring says. Return the last pass, and the findings to report."""
    site, found = _run_checks(queries, nexus, watch)
    reliable = found
    for rest in reversed(range(MAX_PASSES)):
        if site.is_current():
            return site, found
        if reliable.are_notes or not rest:
            break
        site, found = _run_checks(queries, nexus, watch)
        reliable = found.intersect(reliable)
    if not (reliable.are_notes or watch.is_stuck):
        reliable.add(Finding("busy", NEXUS, "was written to during every pass"))
    return site, reliable


def _run_checks(queries: Queries, nexus: Folder, watch: LockWatch) -> tuple[Site, Findings]:
    site = Site(queries, nexus, watch)
    return site, Findings(finding for check in CHECKS for finding in check(site))


def _with_positions(site: Site, found: Findings) -> Iterator[Finding]:
    """Yield the findings, with line and column for each pointer into a cycle, or into a text of at most _LINES_LIMIT
    characters.
    """
    for finding in found.kept.values():
        line, column = finding.line, finding.column
        if line is None and finding.pointer is not None:
            line, column = _locate(site, finding.file, finding.pointer) or (None, None)
        yield replace(finding, line=line, column=column)


def _locate(site: Site, file: str, pointer: str) -> tuple[int, int] | None:
    text, start = site.texts.get(file), 0
    if text is None:
        return None
    past, parts = site.history.file, pointer.split("/", 3)
    if file == SHOWN_HISTORY and past is not None and parts[1:2] == ["cycles"] and len(parts) > 2:
        # The offset of each cycle is known, so earlier cycles are not scanned again.
        start, pointer = past.spans[int(parts[2])][0], "".join(f"/{part}" for part in parts[3:])
    elif len(text) > _LINES_LIMIT:
        return None
    try:
        return line_and_column(text, documents.find_value(text, pointer, start))
    except (ValueError, IndexError, RecursionError):
        return None
