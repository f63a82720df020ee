"""The view `status`: the plan, the tasks, the newest run, the agents that run, and the cycle that was closed last."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.state import plan as plans
from nexus_mcp.views import VERSION, read_or_fault, task_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow
    from nexus_mcp.views.agents import Agent
    from nexus_mcp.views.cycles import CycleRow
    from nexus_mcp.views.runs import RunRow
    from nexus_mcp.workspace import Workspace

    class Status(TypedDict):
        """See schemas/views/status.schema.json. `state_root` is "" unless the project uses the state of another
        worktree. What could not be read is empty, and `faults` has the reason.
        """

        version: int
        project: str
        state_root: str
        plan: dict[str, Any] | None
        tasks: dict[str, Any] | None
        run: RunRow | None
        agents: list[Agent]
        cycles: int
        last_cycle: CycleRow | None
        faults: list[FaultRow]


def status(store: Store, workspace: Workspace) -> Status:
    """Return the status of the project. Never raises NexusError: an unreadable file is one of the `faults`."""
    from nexus_mcp.views.agents import running_agents  # imported late, because `line` has to start fast
    from nexus_mcp.views.runs import newest_run

    faults: list[FaultRow] = []
    both = store.snapshot()
    plan = read_or_fault(both.plan, faults)
    tasks = read_or_fault(both.tasks, faults)
    run = read_or_fault(lambda: newest_run(store), faults)
    agents, unreadable = running_agents(store)
    count, last = read_or_fault(lambda: store.history(_last_cycle), faults) or (0, None)
    return {
        "version": VERSION,
        "project": workspace.root,
        "state_root": workspace.state_root if workspace.state_root != workspace.root else "",
        "plan": None if plan is None else plan_view(plan),
        "tasks": None if tasks is None else tasks_view(tasks),
        "run": run,
        "agents": agents,
        "cycles": count,
        "last_cycle": last,
        "faults": [*faults, *unreadable],
    }


def plan_view(plan: dict[str, Any]) -> dict[str, Any]:
    """Return `id`, `topic`, `created_at`, `research_summary` and `issues` of a plan, with the number of pending and
    decided issues.
    """
    return {
        "id": plan["id"],
        "topic": plan["topic"],
        "created_at": plan["created_at"],
        "research_summary": _text(plan.get("research_summary")),
        "pending": len(plans.pending(plan)),
        "decided": len(plans.decided_issues(plan)),
        "issues": [_issue(issue) for issue in plan["issues"]],
    }


def _issue(issue: dict[str, Any]) -> dict[str, Any]:
    """Return an issue whose optional fields have our types: another harness may have written anything into them."""
    agents, advice = issue.get("how_agents"), issue.get("how_summary")
    good = {
        "decision": _text(issue.get("decision")),
        "how_agents": [one for one in agents if isinstance(one, str)] if isinstance(agents, list) else [],
        "how_summary": {k: v for k, v in advice.items() if isinstance(v, str)} if isinstance(advice, dict) else {},
    }
    return {name: good.get(name, value) for name, value in issue.items()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def tasks_view(tasks: dict[str, Any]) -> dict[str, Any]:
    """Return `goal`, `decisions`, the `counts` of each state, `cycles` (groups of ids that depend on each other), the
    `critical_path` (ids) and the `rows` of a task list.
    """
    found = task_rows.rows(tasks["tasks"])
    after = {row["id"]: row["deps"] for row in found}
    unfinished = [row["id"] for row in found if row["state"] != task_rows.DONE]
    return {
        "goal": tasks["goal"],
        "decisions": tasks["decisions"],
        "counts": task_rows.counts(found),
        "cycles": task_rows.cycles(after, dict.fromkeys(unfinished)),
        "critical_path": task_rows.critical_path(after, dict.fromkeys(unfinished)),
        "rows": found,
    }


def line(store: Store) -> str:
    """Return the status on one line: `2/5 done · 1 running · 2 ready · 1 question · run: paused`, without the parts
    that do not apply.

    If no part applies, it is `no plan` or, with a plan, `plan decided`; if a file cannot be read, it is
    `unreadable: nexus-mcp doctor`. Only plan.json, tasks.json and the status of the newest run are read, and no library
    is imported: a status bar calls this every few seconds.
    """
    from nexus_mcp.views.runs import newest_run, part

    both = store.snapshot()
    try:
        plan, tasks, run = both.plan(), both.tasks(), newest_run(store)
    except NexusError:
        return "unreadable: nexus-mcp doctor"
    parts = []
    if tasks is not None and tasks["tasks"]:
        number = task_rows.count_states(tasks["tasks"])
        parts.append(f"{number[task_rows.DONE]}/{number['total']} done")
        parts += [f"{number[task_rows.RUNNING]} running"] if number[task_rows.RUNNING] else []
        parts += [f"{number[task_rows.READY]} ready"] if number[task_rows.READY] else []
    pending = 0 if plan is None else len(plans.pending(plan))
    parts += [f"{pending} question{'s' * (pending != 1)}"] if pending else []
    at_work = part(run, has_tasks=tasks is not None and bool(tasks["tasks"]))
    parts += [at_work] if at_work else []
    if not parts:
        parts = ["no plan"] if plan is None else ["plan decided"]
    return " · ".join(parts)


def _last_cycle(archive: Archive) -> tuple[int, CycleRow | None]:
    from nexus_mcp.views.cycles import cycle_row

    count = len(archive)
    return count, cycle_row(count, archive.cycle(count - 1)) if count else None
