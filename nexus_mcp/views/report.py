"""The view `report`: the decisions and the work of a period, for a changelog, a stand-up or a review."""

from __future__ import annotations

from nexus_mcp.views import VERSION
from nexus_mcp.views.cycles import cycle_view, newest_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.views.status import Status


def report(archive: Archive, status: Status, *, since: str = "", until: str = "", branch: str = "") -> dict[str, Any]:
    """Return `version`, `since`, `until`, `branch`, `cycles` (each as cycle_view returns it, oldest first), `totals`
    and `status`, the present state.

    `totals` has the numbers of `cycles`, `decisions`, `tasks` and `done`. `since` and `until` are stamps; "" is no
    bound. Raise StorageError.
    """
    found = newest_first(archive, since=since, until=until, branch=branch)
    cycles = [cycle_view(number, cycle) for number, cycle in found][::-1]
    return {
        "version": VERSION,
        "since": since,
        "until": until,
        "branch": branch,
        "cycles": cycles,
        "totals": {
            "cycles": len(cycles),
            **{name: sum(cycle[name] for cycle in cycles) for name in ("decisions", "tasks", "done")},
        },
        "status": status,
    }
