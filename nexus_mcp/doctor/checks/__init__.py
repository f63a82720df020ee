"""The table of the checks: each takes what one look saw and tells what is wrong with it. One file for each concern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor.checks import (
    git_ignore,
    git_merge,
    git_tracked,
    history,
    interrupted,
    kinds,
    knowledge,
    lines,
    lock,
    meaning,
    own_files,
    permissions,
    session,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.doctor.finding import Finding, More
    from nexus_mcp.doctor.site import Site

    Check = Callable[[Site], Iterable[Finding | More]]

# What several of them could tell is told by the first: a link is a link before it is a plan that cannot be read.
CHECKS: tuple[Check, ...] = (
    kinds.check,
    permissions.check,
    session.check,
    history.check,
    lines.check,
    knowledge.check,
    own_files.check,
    meaning.check,
    interrupted.check,
    git_ignore.check,
    git_tracked.check,
    git_merge.check,
    lock.check,
)
