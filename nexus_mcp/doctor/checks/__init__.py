"""The table of doctor checks. Each check takes a Site and yields findings; each module has those of one subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor.checks import files, git, history, installed, interrupted, lines, lock, own_files, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.doctor.finding import Finding, More
    from nexus_mcp.doctor.site import Site

    Check = Callable[[Site], Iterable[Finding | More]]

# The report lists findings of equal severity in this order. Of two findings with equal keys it has only the first.
CHECKS: tuple[Check, ...] = (
    files.check_kinds,
    files.check_permissions,
    session.check_shapes,
    history.check,
    lines.check,
    files.check_notes,
    own_files.check,
    installed.check,
    session.check_references,
    interrupted.check,
    git.check_ignored,
    git.check_tracked,
    git.check_merge_driver,
    lock.check,
)
