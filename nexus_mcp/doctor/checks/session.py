"""Check the session files: shapes of plan.json, tasks.json and harness files, and references between ids."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.dependencies import find_cycles
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.values import format_id, format_ids
from nexus_mcp.state import tracker
from nexus_mcp.store.codec import decode
from nexus_mcp.store.journal import SESSION_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

PLAN = ".nexus/state/plan.json"
TASKS = ".nexus/state/tasks.json"


def check_shapes(site: Site) -> Iterator[Finding]:
    """Yield session files that are not JSON or break their schema."""
    yield from site.plan.findings
    yield from site.tasks.findings
    for entry in site.files(places.TRACKER):
        yield from documents.load_checked(site, entry, tracker.SCHEMA).findings
    for entry in site.files(places.EXTENSION):
        # The harness alone defines its shape.
        yield from documents.load(site, entry, SESSION_LIMIT, partial(decode, file=entry.path))[1]


def check_references(site: Site) -> Iterator[Finding]:
    """Yield repeated ids, missing issues and dependencies, and dependency cycles."""
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
            problem = f"has another {what} with the id {format_id(row['id'])}"
            yield Finding(f"repeated-{what}-id", file, problem, f"{pointer}/{index}/id")
        seen.add(row["id"])


def _dependencies(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    depends_on: dict[float, list[float]] = {}
    places: dict[float, int] = {}
    for index, row in enumerate(rows):
        depends_on.setdefault(row["id"], []).extend(row["deps"])
        places.setdefault(row["id"], index)
    for index, row in enumerate(rows):
        missing = list(dict.fromkeys(dep for dep in row["deps"] if dep not in depends_on))
        if missing:
            problem = f"has task {format_id(row['id'])}, which depends on {format_ids(missing)}: no such task"
            yield Finding("missing-dependency", TASKS, problem, f"/tasks/{index}/deps")
    for component in find_cycles(depends_on):
        around = format_ids([*component, component[0]], " -> ")
        alone = f"has task {format_id(component[0])}, which depends on itself"
        problem = f"has tasks that depend on each other in a cycle: {around}" if len(component) > 1 else alone
        yield Finding("dependency-cycle", TASKS, problem, f"/tasks/{places[component[0]]}/deps")


def _missing_issues(rows: list[dict[str, Any]], known: set[float]) -> Iterator[Finding]:
    for index, row in enumerate(rows):
        wanted = row.get("plan_issue")
        if isinstance(wanted, (int, float)) and wanted not in known:
            problem = f"has task {format_id(row['id'])} for issue {format_id(wanted)}, which is not in the plan"
            yield Finding("missing-issue", TASKS, problem, f"/tasks/{index}/plan_issue")


def _without_plan(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    named = [row["id"] for row in rows if row.get("plan_issue") is not None]
    if named:
        tasks = "task" if len(named) == 1 else "tasks"
        yield Finding("no-plan", TASKS, f"names plan issues in {tasks} {format_ids(named)}, but there is no plan")
