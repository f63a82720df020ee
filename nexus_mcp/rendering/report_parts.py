"""Make the texts that the HTML and the Markdown report share: title, totals, and the parts of the present state."""

from __future__ import annotations

from nexus_mcp.state import plan as plans
from nexus_mcp.views import task_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nexus_mcp.views.task_rows import Row

_DAY, _MINUTE = len("2026-11-03"), len("2026-11-03T14:00")
NOTHING = "No cycle was closed in this period."
NO_TOPIC = "No plan"
STATES = ((task_rows.RUNNING, "In progress"), (task_rows.READY, "Ready"), (task_rows.WAITING, "Waiting"))
"""The states of unfinished tasks, and their headings."""


def title(report: Mapping[str, Any], today: str) -> str:
    """Return the title, with the days of the period. `today` is a stamp."""
    return f"Report, {_period(report['since'][:_DAY], (report['until'] or today)[:_DAY])}"


def _period(first: str, last: str) -> str:
    return f"until {last}" if not first else first if first == last else f"{first} to {last}"


def totals(report: Mapping[str, Any]) -> str:
    """Return the numbers of the period: `3 cycles closed · 7 decisions · 12 of 12 tasks done`."""
    number = report["totals"]
    branch = f" on branch {report['branch']}" if report["branch"] else ""
    return (
        f"{_count(number['cycles'], 'cycle')} closed{branch} · {_count(number['decisions'], 'decision')} · "
        f"{number['done']} of {_count(number['tasks'], 'task')} done"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def closing_line(cycle: Mapping[str, Any]) -> str:
    """Return when and where a cycle was closed: `Cycle 2, closed 2026-11-20 14:02 UTC on main`."""
    stamp = cycle["completed_at"]
    when = f" {stamp[:_MINUTE].replace('T', ' ')} UTC" if stamp else ""
    where = f" on {cycle['branch']}" if cycle["branch"] else ""
    return f"Cycle {cycle['number']}, closed{when}{where}"


def decided_issues(cycle: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the decided issues of a cycle."""
    return [one for one in _issues(cycle["plan"]) if one.get("status") == plans.DECIDED]


def open_questions(plan: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the open questions of a plan."""
    return [one for one in _issues(plan) if one.get("status") != plans.DECIDED]


def _issues(plan: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return plan["issues"] if plan else []


def stored_text(row: Mapping[str, Any], name: str) -> str:
    """Return a text of a row, "" if it has none."""
    value = row.get(name)
    return value if isinstance(value, str) else ""


def unfinished_groups(status: Mapping[str, Any]) -> list[tuple[str, list[Row]]]:
    """Return (heading, rows) for each state that unfinished tasks have now."""
    rows: list[Row] = status["tasks"]["rows"] if status["tasks"] else []
    found = ((heading, [row for row in rows if row["state"] == state]) for state, heading in STATES)
    return [(heading, some) for heading, some in found if some]
