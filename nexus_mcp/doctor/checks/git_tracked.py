"""Session files that git has in its index; and whether git could be asked at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor import places
from nexus_mcp.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site


def check(site: Site) -> Iterator[Finding]:
    if site.git.reason:
        problem = f"was not looked at with git ({site.git.reason}): what is tracked, what is ignored, how it merges"
        yield Finding("git-not-asked", places.NEXUS, problem)
    for path in site.git.tracked:
        yield Finding("tracked", path, "is tracked by git")
