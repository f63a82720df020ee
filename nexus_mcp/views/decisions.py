"""The view `decisions`: each decision with its issue, its advice, its cycle and its tasks, newest cycle first."""

from __future__ import annotations

from itertools import chain, islice

from nexus_mcp.state import plan as plans
from nexus_mcp.views import VERSION, read_or_fault
from nexus_mcp.views.cycles import issues_of, newest_first, tasks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow

    class Decision(TypedDict):
        """One decision. `cycle` is the number of the closed cycle, None for the present plan; `at` is when the cycle
        was closed, "" for the present plan. `issue` is the id of the issue in its plan, None without a valid id,
        `question` is the title of the issue, and `tasks` are the ids of the tasks that carry the decision out. `advice`
        maps the name of an agent to its advice.
        """

        cycle: int | None
        at: str
        branch: str
        topic: str
        issue: int | None
        question: str
        decision: str
        agents: list[str]
        advice: dict[str, str]
        tasks: list[int]


def readable(store: Store, *, query: str = "", since: str = "", most: int, counted: bool) -> dict[str, Any]:
    """Return the view of the decisions that can be read, and `faults`: the files that cannot be read.

    The view is that of `decisions` if `counted` is true, else that of `newest`. Never raises NexusError.
    """
    faults: list[FaultRow] = []
    both = store.snapshot()
    plan = read_or_fault(both.plan, faults)
    present = read_or_fault(both.tasks, faults)
    tasks = present["tasks"] if present else ()

    def view(archive: Archive | None) -> dict[str, Any]:
        if counted:
            return decisions(archive, plan, tasks=tasks, query=query, since=since, most=most)
        return newest(archive, plan, query, most, tasks=tasks, since=since)

    found = read_or_fault(lambda: store.history(view), faults)
    return {**(view(None) if found is None else found), "faults": faults}


def decisions(
    archive: Archive | None,
    plan: Mapping[str, Any] | None,
    *,
    tasks: Iterable[Mapping[str, Any]] = (),
    query: str = "",
    since: str = "",
    most: int | None = None,
) -> dict[str, Any]:
    """Return `version`, `faults` (none), `total` (the number of matches) and `decisions`: the `most` newest matches,
    those of the present plan first.

    `tasks` are those of tasks.json. Without an `archive` only the decisions of the plan are found. A decision matches
    if each word of `query` is in its question, its text, its topic, an advice or the name of an advising agent,
    ignoring case, and if its cycle was closed at the stamp `since` or later; `since` does not apply to the present
    plan. Raise StorageError.
    """
    found = list(_matching(archive, plan, tasks, query, since))
    return {"version": VERSION, "total": len(found), "decisions": found if most is None else found[:most], "faults": []}


def newest(
    archive: Archive | None,
    plan: Mapping[str, Any] | None,
    query: str,
    most: int,
    *,
    tasks: Iterable[Mapping[str, Any]] = (),
    since: str = "",
) -> dict[str, Any]:
    """Return `version`, `faults` (none), `decisions`, the `most` newest that match as in `decisions`, and `more`:
    whether others match.

    This is faster in a long history, because no cycle is parsed after the first match that is not returned. Raise
    StorageError.
    """
    found = list(islice(_matching(archive, plan, tasks, query, since), most + 1))
    return {"version": VERSION, "decisions": found[:most], "more": len(found) > most, "faults": []}


def _matching(
    archive: Archive | None, plan: Mapping[str, Any] | None, tasks: Iterable[Mapping[str, Any]], query: str, since: str
) -> Iterator[Decision]:
    """Yield the decisions that match, those of the present plan first, then those of the cycles, newest cycle first."""
    words = query.lower().split()
    present = iter(()) if plan is None else of_cycle({"plan": plan, "tasks": list(tasks)}, None)
    closed = iter(()) if archive is None else _search_archive(archive, words, since)
    for one in chain(present, closed):
        text = _searchable_text(one)
        if all(word in text for word in words):
            yield one


def _search_archive(archive: Archive, words: Sequence[str], since: str) -> Iterator[Decision]:
    """Yield the decisions of the cycles whose JSON text has all words, newest cycle first: no other cycle is parsed."""
    from nexus_mcp.store.codec import compact

    numbers: set[int] | None = None
    for word in words:
        matching = set(archive.matches(compact(word)[1:-1]))
        numbers = matching if numbers is None else numbers & matching
    for number, cycle in newest_first(archive, since=since, among=numbers):
        yield from of_cycle(cycle, number)


def of_cycle(cycle: Mapping[str, Any], number: int | None) -> Iterator[Decision]:
    """Yield the decisions of a closed cycle, in the order of its plan; or, without `number`, of the present plan."""
    plan = cycle.get("plan")
    for issue in issues_of(cycle):
        if issue.get("status") != plans.DECIDED:
            continue
        agents, advice = issue.get("how_agents"), issue.get("how_summary")
        id_ = _id(issue.get("id"))
        yield {
            "cycle": number,
            "at": _text(cycle.get("completed_at")),
            "branch": _text(cycle.get("branch")),
            "topic": _text(plan.get("topic")) if isinstance(plan, dict) else "",
            "issue": id_,
            "question": _text(issue.get("title")),
            "decision": _text(issue.get("decision")),
            "agents": [one for one in agents if isinstance(one, str)] if isinstance(agents, list) else [],
            "advice": {k: v for k, v in advice.items() if isinstance(v, str)} if isinstance(advice, dict) else {},
            "tasks": [
                task_id
                for task in tasks_of(cycle)
                if id_ is not None and task.get("plan_issue") == id_ and (task_id := _id(task.get("id"))) is not None
            ],
        }


def _searchable_text(one: Decision) -> str:
    return "\n".join((one["question"], one["decision"], one["topic"], *one["advice"], *one["advice"].values())).lower()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _id(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
