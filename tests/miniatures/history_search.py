"""Servers that are wrong about history_search."""

from __future__ import annotations

import json
from collections.abc import Callable

from nexus_mcp.server.app import Answer
from nexus_mcp.state.history import summary
from tests.miniatures.base import Call, Json, Miniature, answering, failed, load, shown, success, without

_SEARCH = ("history_search",)


def _text(cycle: Json) -> str:
    return json.dumps(cycle, ensure_ascii=False, separators=(",", ":"))


def _values(cycle: Json) -> str:
    if isinstance(cycle, dict):
        return "\n".join(_values(member) for member in cycle.values())
    return "\n".join(map(_values, cycle)) if isinstance(cycle, list) else str(cycle)


def _topic(cycle: Json) -> str:
    return str((cycle.get("plan") or {}).get("topic", ""))


def _search(
    call: Call,
    *,
    text: Callable[[Json], str] = _text,
    fold: Callable[[str], str] = str.lower,
    default: int = 10,
    chosen: Callable[[list[Json], int], list[Json]] = lambda matches, n: matches[-n:],
) -> Answer:
    """Search in a wrong way if the correct server succeeds."""
    answer = call.right()
    if failed(answer):
        return answer
    query = str(call.arguments.get("query") or "")
    cycles = (load(call.history) or {"cycles": []})["cycles"]
    matches = [cycle for cycle in cycles if not query.strip() or fold(query) in fold(text(cycle))]
    showing = chosen(matches, int(call.arguments.get("last_n") or default))
    return shown(answer, {"total": len(matches), "showing": len(showing), "cycles": list(map(summary, showing))})


def minds_case(call: Call) -> Answer:
    return _search(call, fold=str)


def lowers_ascii_only(call: Call) -> Answer:
    return _search(call, fold=lambda text: "".join(c.lower() if c.isascii() else c for c in text))


def reads_only_topics(call: Call) -> Answer:
    return _search(call, text=_topic)


def reads_no_keys(call: Call) -> Answer:
    return _search(call, text=_values)


def reads_spaced_text(call: Call) -> Answer:
    return _search(call, text=lambda cycle: json.dumps(cycle, ensure_ascii=False))


def reads_escaped_text(call: Call) -> Answer:
    return _search(call, text=lambda cycle: json.dumps(cycle, separators=(",", ":")))


def shows_the_oldest(call: Call) -> Answer:
    return _search(call, chosen=lambda matches, n: matches[:n])


def shows_the_newest_first(call: Call) -> Answer:
    return _search(call, chosen=lambda matches, n: matches[-n:][::-1])


def shows_five(call: Call) -> Answer:
    return _search(call, default=5)


def shows_all(call: Call) -> Answer:
    return _search(call, default=1000)


def limits_before_it_searches(call: Call) -> Answer:
    answer = call.right()
    if failed(answer) or not call.history.exists():
        return answer
    query = str(call.arguments.get("query") or "").lower()
    newest = load(call.history)["cycles"][-int(call.arguments.get("last_n") or 10) :]
    matches = [cycle for cycle in newest if query in _text(cycle).lower()]
    return shown(answer, {"total": len(matches), "showing": len(matches), "cycles": list(map(summary, matches))})


def takes_blank_for_a_query(call: Call) -> Answer:
    query = call.arguments.get("query")
    if isinstance(query, str) and not query.strip():
        return success({"total": 0, "showing": 0, "cycles": []})
    return call.right()


def takes_corrupt_for_empty(call: Call) -> Answer:
    answer = call.right()
    is_corrupt = (
        failed(answer)
        and call.history.name in answer.result["structuredContent"]["error"]
        and not call.history.is_symlink()
    )
    return success({"total": 0, "showing": 0, "cycles": []}) if is_corrupt else answer


def _each(edit: Callable[[Json, Json], Json]) -> Callable[[Json, Call], Json]:
    """Return an edit of each cycle of an answer, which also gets the cycle in the file."""

    def edited(value: Json, call: Call) -> Json:
        kept = {c.get("completed_at"): c for c in (load(call.history) or {"cycles": []})["cycles"]}
        return {**value, "cycles": [edit(c, kept.get(c.get("completed_at"), {})) for c in value["cycles"]]}

    return edited


def _every_issue(cycle: Json, kept: Json) -> Json:
    if "decisions" not in cycle:
        return cycle
    lines = [{k: i[k] for k in ("title", "decision") if k in i} for i in kept["plan"]["issues"]]
    return {**cycle, "decisions": lines}


def _whole_issues(cycle: Json, kept: Json) -> Json:
    if "decisions" not in cycle:
        return cycle
    return {**cycle, "decisions": [i for i in kept["plan"]["issues"] if i["status"] == "decided"]}


MINIATURES = (
    Miniature("search-minds-case", "history_search distinguishes upper and lower case.", _SEARCH, minds_case),
    Miniature("search-ascii-case", "history_search lowers only ASCII letters.", _SEARCH, lowers_ascii_only),
    Miniature("search-topics-only", "history_search looks only at topics.", _SEARCH, reads_only_topics),
    Miniature("search-no-keys", "history_search looks at values, not at keys.", _SEARCH, reads_no_keys),
    Miniature("search-spaced-text", "history_search looks through JSON with spaces.", _SEARCH, reads_spaced_text),
    Miniature(
        "search-escaped-text",
        "history_search looks through JSON with non-ASCII escaped.",
        _SEARCH,
        reads_escaped_text,
    ),
    Miniature("search-oldest", "history_search shows the last_n oldest matches.", _SEARCH, shows_the_oldest),
    Miniature("search-newest-first", "history_search shows the newest match first.", _SEARCH, shows_the_newest_first),
    Miniature("search-five", "history_search shows five cycles without last_n.", _SEARCH, shows_five),
    Miniature("search-all", "history_search shows every match without last_n.", _SEARCH, shows_all),
    Miniature(
        "search-limits-first",
        "history_search looks only through the newest last_n cycles.",
        _SEARCH,
        limits_before_it_searches,
    ),
    Miniature(
        "search-total-shown",
        "history_search returns the number of shown cycles as the total.",
        _SEARCH,
        answering(lambda value, _: {**value, "total": value["showing"]}),
    ),
    Miniature(
        "search-blank-finds-nothing",
        "history_search finds nothing for a blank query.",
        _SEARCH,
        takes_blank_for_a_query,
    ),
    Miniature(
        "search-corrupt-is-empty",
        "history_search reads a corrupt history.json as an empty one.",
        _SEARCH,
        takes_corrupt_for_empty,
    ),
    Miniature(
        "search-every-issue",
        "history_search lists pending issues among the decisions.",
        _SEARCH,
        answering(_each(_every_issue)),
    ),
    Miniature(
        "search-whole-issues",
        "history_search returns decisions with all their fields.",
        _SEARCH,
        answering(_each(_whole_issues)),
    ),
    Miniature(
        "search-decisions-of-no-plan",
        "history_search returns an empty list of decisions for a cycle without a plan.",
        _SEARCH,
        answering(_each(lambda cycle, _: {"decisions": [], **cycle})),
    ),
    Miniature(
        "search-null-topic",
        "history_search returns a null topic for a cycle without a plan.",
        _SEARCH,
        answering(_each(lambda cycle, _: {"topic": None, **cycle})),
    ),
    Miniature(
        "search-drops-task-count",
        "history_search leaves task_count out.",
        _SEARCH,
        answering(_each(lambda cycle, _: without(cycle, "task_count"))),
    ),
    Miniature(
        "search-whole-cycles",
        "history_search also returns the tasks of each cycle.",
        _SEARCH,
        answering(_each(lambda cycle, kept: {**cycle, "tasks": kept.get("tasks", [])})),
    ),
)
