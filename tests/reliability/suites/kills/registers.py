"""Check values that are written repeatedly: the stored one must be one of the last writes."""

from __future__ import annotations

from collections.abc import Iterable

from tests.reliability.suite import Json
from tests.reliability.suites.kills.client_records import Book, Sent
from tests.reliability.suites.kills.files import Files


def overwritten(book: Book, files: Files) -> Iterable[str]:
    """Yield a line for each stored value that cannot be the last one written."""
    updates = [call for call in book.calls if call.tool == "task_update" and not call.refused]
    for task in files.all_tasks:
        writes = [
            (call, call.arguments["status"])
            for call in updates
            if (call.answer["task"]["title"] == task["title"] if call.answer else call.arguments["id"] == task["id"])
        ]
        if task["status"] not in _possible(writes, "pending"):
            yield f"task {task['title']} is {task['status']}, which is not what was acknowledged last"
    decisions = [call for call in book.calls if call.tool == "plan_decide" and not call.refused]
    for issue in [issue for plan in files.all_plans for issue in plan["issues"]]:
        writes = [
            (call, call.arguments["decision"])
            for call in decisions
            if (call.answer["issue"] == issue["title"] if call.answer else call.arguments["issue_id"] == issue["id"])
        ]
        if issue.get("decision") not in _possible(writes, None):
            yield f"issue {issue['title']} has not the decision that was acknowledged last"
    written = [call for call in book.calls if call.tool == "artifact_write" and not call.refused]
    for name in {call.arguments["filename"] for call in written}:
        writes = [(call, call.arguments["content"]) for call in written if call.arguments["filename"] == name]
        if files.artifacts.get(name) not in _possible(writes, None):
            yield f"artifact {name} has not the content that was acknowledged last"


def _possible(writes: list[tuple[Sent, Json]], initial: Json) -> list[Json]:
    """Return the possible values: those of writes, and the initial one, that no acknowledged write followed."""
    sure = [call for call, _ in writes if call.answer is not None]
    possible = [value for call, value in writes if not any(_is_after(later, call) for later in sure)]
    return possible if sure else [*possible, initial]


def _is_after(later: Sent, call: Sent) -> bool:
    """Return whether `later` was certainly carried out after `call`. A server carries out its calls in order."""
    if later.server == call.server:
        return later.number > call.number
    return later.sent > call.over
