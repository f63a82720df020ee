"""The view `decisions`: each decision with its question, its reasons and its cycle, newest first."""

from __future__ import annotations

from nexus_mcp.state import plan as plans
from nexus_mcp.views import VERSION
from nexus_mcp.views.cycles import issues_of, newest_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypedDict

    from nexus_mcp.store.history.archive import Archive

    class Decision(TypedDict):
        """One decision. `cycle` is the number of the closed cycle, None for the present plan; `at` is when the cycle
        was closed, "" for the present plan. `advice` maps an agent to what it advised.
        """

        cycle: int | None
        at: str
        branch: str
        topic: str
        question: str
        decision: str
        agents: list[str]
        advice: dict[str, str]


def decisions(
    archive: Archive, plan: Mapping[str, Any] | None, *, query: str = "", since: str = "", most: int | None = None
) -> dict[str, Any]:
    """Return `version`, `total` (all that match) and `decisions`: the `most` newest, those of the present plan first.

    A decision matches if its question, its text, its topic or an advice has each word of `query`, ignoring case, and if
    its cycle was closed from the stamp `since` on. Raise StorageError.
    """
    words = query.casefold().split()
    found = [one for one in _all(archive, plan, since) if all(word in _searched(one) for word in words)]
    return {"version": VERSION, "total": len(found), "decisions": found if most is None else found[:most]}


def _all(archive: Archive, plan: Mapping[str, Any] | None, since: str) -> Iterator[Decision]:
    if plan is not None:
        yield from _of_plan(plan, {"plan": plan}, None)
    for number, cycle in newest_first(archive, since=since):
        archived = cycle.get("plan")
        if isinstance(archived, dict):
            yield from _of_plan(archived, cycle, number)


def _of_plan(plan: Mapping[str, Any], cycle: Mapping[str, Any], number: int | None) -> Iterator[Decision]:
    for issue in issues_of(cycle):
        if issue.get("status") == plans.DECIDED:
            agents, advice = issue.get("how_agents"), issue.get("how_summary")
            yield {
                "cycle": number,
                "at": _text(cycle.get("completed_at")),
                "branch": _text(cycle.get("branch")),
                "topic": _text(plan.get("topic")),
                "question": _text(issue.get("title")),
                "decision": _text(issue.get("decision")),
                "agents": [one for one in agents if isinstance(one, str)] if isinstance(agents, list) else [],
                "advice": {k: v for k, v in advice.items() if isinstance(v, str)} if isinstance(advice, dict) else {},
            }


def _searched(one: Decision) -> str:
    return "\n".join(
        (one["question"], one["decision"], one["topic"], *one["advice"], *one["advice"].values())
    ).casefold()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
