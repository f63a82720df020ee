"""A sequential model of the calls: a plan, tasks and a history, as small as the answers allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.reliability.suite import Json
from tests.reliability.suites.linearizable.close_receipts import Kept, forgotten, given, left
from tests.reliability.suites.linearizable.history import History, Op

_BRANCH = "_default"
_BUSY = "Could not get the lock"


class Plan(NamedTuple):
    """The open plan. `issues` are pairs (title, decision); the decision is None while the issue is pending."""

    number: int
    topic: str
    issues: tuple[tuple[str, str | None], ...]

    def decided(self) -> list[tuple[str, str]]:
        return [(title, decision) for title, decision in self.issues if decision is not None]


class Cycle(NamedTuple):
    """An archived plan, and the number of its tasks."""

    plan: Plan | None
    tasks: int


class State(NamedTuple):
    """A state of the project. `tasks` are pairs (title, status); `kept` are the receipts of undelivered closes.

    A state is hashable, because the checker caches the states that it has tried.
    """

    plan: Plan | None = None
    tasks: tuple[tuple[str, str], ...] | None = None
    cycles: tuple[Cycle, ...] = ()
    kept: Kept = frozenset()


Outcomes = Iterator[tuple[Json, State]]  # an answer, and the state after it


class Model:
    """The calls of one history."""

    def __init__(self, history: History) -> None:
        self._stamps = history.stamps
        self._deaths = history.deaths

    def step(self, state: State, op: Op) -> Iterable[State]:
        """Return the states to which `op` can lead with the answer that it returned."""
        if op.answer is not None and str(op.answer.get("error", "")).startswith(_BUSY):
            return [state]
        return [
            after
            for answer, after in _TOOLS[op.tool](self, state, op)
            if (op.answer is None or op.answer == answer) and len(after.cycles) <= len(self._stamps)
        ]

    def task_add(self, state: State, op: Op) -> Outcomes:
        rows = (*(state.tasks or ()), (op.arguments["title"], "pending"))
        return self._changed(op, state._replace(tasks=rows), {"task": _task(len(rows), rows[-1])})

    def task_update(self, state: State, op: Op) -> Outcomes:
        number = op.arguments["id"]
        if state.tasks is None:
            return iter([({"error": "tasks.json not found"}, state)])
        if number > len(state.tasks):
            return iter([({"error": f"Task id {number} not found"}, state)])
        row = (state.tasks[number - 1][0], op.arguments["status"])
        rows = (*state.tasks[: number - 1], row, *state.tasks[number:])
        return self._changed(op, state._replace(tasks=rows), {"task": _task(number, row)})

    def task_list(self, state: State, op: Op) -> Outcomes:
        yield _listed(state.tasks), state

    def plan_start(self, state: State, op: Op) -> Outcomes:
        before = state.plan
        numbers = [plan.number for plan in (before, *(cycle.plan for cycle in state.cycles)) if plan is not None]
        issues = tuple((title, None) for title in op.arguments["issues"])
        plan = Plan(1 + max(numbers, default=0), op.arguments["topic"], issues)
        cycles = state.cycles if before is None else (*state.cycles, Cycle(before, 0))
        answer = {
            "created": True,
            "plan_id": plan.number,
            "topic": plan.topic,
            "issueCount": len(issues),
            "previousArchived": before is not None,
        }
        return self._changed(op, state._replace(plan=plan, cycles=cycles), answer)

    def plan_decide(self, state: State, op: Op) -> Outcomes:
        if state.plan is None:
            return iter([({"error": "No active plan session"}, state)])
        at = op.arguments["issue_id"] - 1
        title = state.plan.issues[at][0]
        issues = (*state.plan.issues[:at], (title, op.arguments["decision"]), *state.plan.issues[at + 1 :])
        remaining = [issue for issue in _issues(issues) if issue["status"] == "pending"]
        answer = {"decided": True, "issue": title, "allComplete": not remaining}
        if remaining:
            answer["remaining"] = remaining
        return self._changed(op, state._replace(plan=state.plan._replace(issues=issues)), answer)

    def plan_status(self, state: State, op: Op) -> Outcomes:
        plan = state.plan
        if plan is None:
            yield {"active": False}, state
            return
        decided = len(plan.decided())
        summary = {"total": len(plan.issues), "pending": len(plan.issues) - decided, "decided": decided}
        issues = _issues(plan.issues)
        yield {"active": True, "plan_id": plan.number, "topic": plan.topic, "issues": issues, "summary": summary}, state

    def history_search(self, state: State, op: Op) -> Outcomes:
        cycles = [self._summary(number, cycle) for number, cycle in enumerate(state.cycles)]
        yield {"total": len(cycles), "showing": len(cycles), "cycles": cycles}, state

    def task_close(self, state: State, op: Op) -> Outcomes:
        if state.plan is None and state.tasks is None:
            for number, kept in given(state.kept, op, self._deaths):
                yield self._closed(number, state.cycles[number]), state._replace(kept=kept)
            if any(self._deaths[process].gone < op.began for _, process in state.kept):
                return
        number, cycle = len(state.cycles), Cycle(state.plan, len(state.tasks or ()))
        closed = State(None, None, (*state.cycles, cycle), state.kept)
        for _, after in self._changed(op, closed, None):
            for own in left(number, op):
                yield self._closed(number, cycle), after._replace(kept=after.kept | own)

    def _changed(self, op: Op, after: State, answer: Json) -> Outcomes:
        for kept in forgotten(after.kept, op, self._deaths):
            yield answer, after._replace(kept=kept)

    def _closed(self, number: int, cycle: Cycle) -> Json:
        plan = cycle.plan
        decisions = 0 if plan is None else len(plan.decided())
        topics = [] if plan is None else [plan.topic]
        return {
            "closed": True,
            "cycle": self._stamp(number),
            "branch": _BRANCH,
            "archived": {"plan": plan is not None, "decisions": decisions, "tasks": cycle.tasks},
            "deleted": ["plan.json"] * (plan is not None) + ["tasks.json"] * (cycle.tasks > 0),
            "total_cycles": number + 1,
            "memoryHint": {"taskCount": cycle.tasks, "decisionCount": decisions, "cycleTopics": topics},
        }

    def _summary(self, number: int, cycle: Cycle) -> Json:
        shown: Json = {"completed_at": self._stamp(number), "branch": _BRANCH, "task_count": cycle.tasks}
        if cycle.plan is not None:
            decisions = [{"title": title, "decision": decision} for title, decision in cycle.plan.decided()]
            shown |= {"topic": cycle.plan.topic, "decisions": decisions}
        return shown

    def _stamp(self, number: int) -> str:
        # The history only grows, so its times at the end are also those that it had at the call.
        return self._stamps[number] if number < len(self._stamps) else ""


_TOOLS: dict[str, Callable[[Model, State, Op], Outcomes]] = {
    "task_add": Model.task_add,
    "task_update": Model.task_update,
    "task_list": Model.task_list,
    "task_close": Model.task_close,
    "plan_start": Model.plan_start,
    "plan_decide": Model.plan_decide,
    "plan_status": Model.plan_status,
    "history_search": Model.history_search,
}


def _task(number: int, row: tuple[str, str]) -> Json:
    return {"id": number, "title": row[0], "status": row[1]}


def _listed(rows: tuple[tuple[str, str], ...] | None) -> Json:
    if rows is None:
        return {"exists": False}
    statuses = [status for _, status in rows]
    summary = {
        "total": len(rows),
        "completed": statuses.count("completed"),
        "pending": statuses.count("pending"),
        "blocked": statuses.count("in_progress"),
        "ready": [number for number, status in enumerate(statuses, 1) if status == "pending"],
    }
    return {"goal": "", "tasks": [_task(number, row) for number, row in enumerate(rows, 1)], "summary": summary}


def _issues(issues: tuple[tuple[str, str | None], ...]) -> Json:
    shown = []
    for number, (title, decision) in enumerate(issues, 1):
        issue = {"id": number, "title": title, "status": "pending" if decision is None else "decided"}
        shown.append(issue if decision is None else {**issue, "decision": decision})
    return shown
