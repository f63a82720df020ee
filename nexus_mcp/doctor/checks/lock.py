"""Check the workspace lock and name its holder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor import places
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.log import printable
from nexus_mcp.store import lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

_FILE = f"{places.STATE}/{lock.NAME}"


def check(site: Site) -> Iterator[Finding]:
    with site.watch.quiet(site.nexus):
        pass
    if site.watch.trouble:
        if any(site.files(places.LOCK)):
            yield Finding("lock-unusable", _FILE, site.watch.trouble)
    elif site.watch.is_stuck:
        (pid,) = site.watch.holders
        yield Finding(
            "lock-held",
            _FILE,
            f"was held during the whole check by {holder(pid)}; its change in progress was not checked",
        )


def holder(pid: int | None) -> str:
    """Return the process as text for a message, with its state."""
    if pid is None or pid <= 0:
        return "a process that did not record its pid"
    import psutil

    try:
        process = psutil.Process(pid)
        return f"process {pid} ({printable(process.name())}, {process.status()})"
    except psutil.NoSuchProcess:
        return f"process {pid}, which is not visible on this machine"
    except (psutil.Error, OSError, OverflowError):
        return f"process {pid}"
