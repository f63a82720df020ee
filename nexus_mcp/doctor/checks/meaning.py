"""What ids in plan.json and tasks.json refer to: each once, and to something that is there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from nexus_mcp.doctor.dependencies import cycles
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.numbers import listed, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

PLAN = ".nexus/state/plan.json"
TASKS = ".nexus/state/tasks.json"


def check(site: Site) -> Iterator[Finding]:
    plan, tasks = site.plan.value, site.tasks.value
    if plan is not None:
        yield from _repeated(plan["issues"], PLAN, "/issues", "issue")
    if tasks is None:
        return
    rows = tasks["tasks"]
    yield from _repeated(rows, TASKS, "/tasks", "task")
    yield from _dependencies(rows)
    if plan is not None:
        yield from _missing_issues(rows, {issue["id"] for issue in plan["issues"]})
    elif not site.plan.findings:
        yield from _without_plan(rows)


def _repeated(rows: list[dict[str, Any]], file: str, pointer: str, what: str) -> Iterator[Finding]:
    count = Counter(row["id"] for row in rows)
    seen: set[float] = set()
    for index, row in enumerate(rows):
        if count[row["id"]] > 1 and row["id"] in seen:
            problem = f"has another {what} with the id {spelled(row['id'])}"
            yield Finding(f"repeated-{what}-id", file, problem, f"{pointer}/{index}/id")
        seen.add(row["id"])


def _dependencies(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    waits_for: dict[float, list[float]] = {}
    places: dict[float, int] = {}
    for index, row in enumerate(rows):
        waits_for.setdefault(row["id"], []).extend(row["deps"])
        places.setdefault(row["id"], index)
    for index, row in enumerate(rows):
        missing = list(dict.fromkeys(dep for dep in row["deps"] if dep not in waits_for))
        if missing:
            problem = f"has task {spelled(row['id'])} wait for {listed(missing)}, which is not there"
            yield Finding("missing-dependency", TASKS, problem, f"/tasks/{index}/deps")
    for knot in cycles(waits_for):
        around = listed([*knot, knot[0]], " -> ")
        alone = f"has task {spelled(knot[0])} wait for itself"
        problem = f"has tasks wait in a circle: {around}" if len(knot) > 1 else alone
        yield Finding("dependency-cycle", TASKS, problem, f"/tasks/{places[knot[0]]}/deps")


def _missing_issues(rows: list[dict[str, Any]], known: set[float]) -> Iterator[Finding]:
    for index, row in enumerate(rows):
        wanted = row.get("plan_issue")
        if isinstance(wanted, (int, float)) and wanted not in known:
            problem = f"has task {spelled(row['id'])} carry out issue {spelled(wanted)}, which is not in the plan"
            yield Finding("missing-issue", TASKS, problem, f"/tasks/{index}/plan_issue")


def _without_plan(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    named = [row["id"] for row in rows if row.get("plan_issue") is not None]
    if named:
        tasks = "task" if len(named) == 1 else "tasks"
        yield Finding("no-plan", TASKS, f"names plan issues in {tasks} {listed(named)}, and there is no plan")
