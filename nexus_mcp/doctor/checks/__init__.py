"""The table of checks. Each takes a Site and yields findings; there is one file per subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor.checks import files, git, history, installed, interrupted, lines, lock, own_files, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.doctor.finding import Finding, More
    from nexus_mcp.doctor.site import Site

    Check = Callable[[Site], Iterable[Finding | More]]

# The order matters: the first check that explains a problem reports it, e.g. a link before an unreadable plan.
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
