"""Where a search found its text in a cycle: the field, and the words around the hit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypedDict

    class Match(TypedDict):
        """`field` names what has the text; `before`, `hit` and `after` are parts of it."""

        field: str
        before: str
        hit: str
        after: str


_BEFORE, _AFTER = 30, 60
"""Characters around the hit, at most."""
_TASK_FIELDS = ("title", "context", "approach", "acceptance", "risk", "owner")


def first_match(cycle: Mapping[str, Any], query: str) -> Match | None:
    """Return where the first text in the cycle has `query`, ignoring case; None if only a name of a field has it."""
    wanted = query.lower()
    for field, text in _texts(cycle):
        at = text.lower().find(wanted)
        if at >= 0 and len(text.lower()) == len(text):  # else the place in `text` is another one
            end = at + len(wanted)
            start, stop = max(0, at - _BEFORE), end + _AFTER
            before, hit, after = text[start:at], text[at:end], text[end:stop]
            if start:
                before = f"…{before.partition(' ')[2] or before}"
            if stop < len(text):
                after = f"{after.rpartition(' ')[0] or after}…"
            return {"field": field, "before": before, "hit": hit, "after": after}
    return None


def _texts(cycle: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (field, text on one line) of each stored text."""
    from nexus_mcp.views.cycles import issues_of, tasks_of

    plan = cycle.get("plan")
    found: list[tuple[str, object]] = []
    if isinstance(plan, dict):
        found.append(("topic", plan.get("topic")))
    for issue in issues_of(cycle):
        found += [("question", issue.get("title")), ("decision", issue.get("decision"))]
    for issue in issues_of(cycle):
        advice = issue.get("how_summary")
        found += advice.items() if isinstance(advice, dict) else ()
    for task in tasks_of(cycle):
        id_ = task.get("id")
        labels = (f"task {id_}" if name == "title" else f"{name} of task {id_}" for name in _TASK_FIELDS)
        found += zip(labels, map(task.get, _TASK_FIELDS), strict=True)
    if isinstance(plan, dict):
        found.append(("research", plan.get("research_summary")))
    found += [("branch", cycle.get("branch")), ("closed", cycle.get("completed_at"))]
    for field, value in found:
        if isinstance(value, str):
            yield field, " ".join(value.split())
