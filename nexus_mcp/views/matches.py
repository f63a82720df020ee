"""Find the text of a search in a cycle: the field that has it, and the words around the hit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypedDict

    class Match(TypedDict):
        """`field` names the field with the hit; `before`, `hit` and `after` are successive parts of its text.

        If the position of the hit is unknown, `before` is the beginning of the text, and `hit` and `after` are "".
        """

        field: str
        before: str
        hit: str
        after: str


_BEFORE, _AFTER = 30, 60
"""Characters around the hit, at most."""
_TASK_FIELDS = ("title", "context", "approach", "acceptance", "risk", "owner")


_NAMES = (
    '{"cycles":[{"schema_version":"0.5","completed_at":"","branch":"","plan":{"id":1,"topic":"","issues":[{"id":1,'
    '"title":"","status":"decided","status":"pending","decision":"","how_agents":[],"how_summary":{},'
    '"how_agent_ids":{}}],"research_summary":"","created_at":""},"tasks":[{"id":1,"title":"","context":"","approach":"",'
    '"acceptance":"","risk":"","status":"completed","status":"in_progress","deps":[],"owner":"","owner_agent_id":"",'
    '"owner_reuse_policy":"","plan_issue":1,"created_at":""}],"memory_hints":[]}]}'
)
"""The parts of history.json that are no stored text: names of fields, statuses, and JSON punctuation."""


def is_in_names(query: str) -> bool:
    """Return whether the query is part of _NAMES, such as the name of a field: then a cycle may match although none of
    its stored texts has the query.
    """
    return query.lower() in _NAMES


def first_match(cycle: Mapping[str, Any], query: str) -> Match | None:
    """Return the first match of `query` in the texts of the cycle that `_texts` yields, ignoring case, None without
    one.
    """
    wanted = query.lower()
    for field, text in _texts(cycle):
        at = text.lower().find(wanted)
        if at >= 0 and len(text.lower()) != len(text):  # lower() changed the length, so `at` is no position in `text`
            return {"field": field, "before": text[: _BEFORE + _AFTER], "hit": "", "after": ""}
        if at >= 0:
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
    """Yield (field, text on one line) of topic, issues, decisions, advice, tasks, research, branch and closing time."""
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
        agents = issue.get("how_agents")
        found += [("agent", agent) for agent in agents] if isinstance(agents, list) else ()
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
