"""Cases of leftovers of a crash: the journal of a change, and the receipt of an unanswered close."""

from __future__ import annotations

import errno
import hashlib
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest.mock import patch

from nexus_mcp.errors import NotAppliedYet
from nexus_mcp.state.oplog import UNDO, By
from nexus_mcp.store import journal as store_journal
from nexus_mcp.store.atomic import PREFIX
from nexus_mcp.store.store import Store, undo
from tests.reliability.suites.files import answers, projects, reference_reader
from tests.reliability.suites.files.project import ADVICE, Done, Files, Ground
from tests.reliability.suites.files.projects import HISTORY, JOURNAL, PLAN, TASKS
from tests.reliability.suites.files.reference_reader import Broken, same
from tests.support import SMALLEST

Json = Any

_SHOWN = f".nexus/{JOURNAL}"
_READING = ("plan_status", "task_list", "history_search", "context")


def interrupted(ground: Ground, rng: random.Random) -> Files:
    """Return a project in which a change of several files was interrupted right after its commit point."""
    ground.lay(projects.valid(rng))
    tool = rng.choice(("task_close", "plan_start", "undo"))
    if tool == "undo":
        ground.call("task_add", title="Added", context="C")
        ground.call("plan_update", action="add", title="Added")
    with patch.object(store_journal, "apply", side_effect=OSError(errno.EIO, "as if the power had gone")):
        if tool == "undo":
            with suppress(NotAppliedYet):
                undo(Store(ground.workspace, ground.clock), By(UNDO, "nexus-mcp", ""), 2)
        else:
            ground.call(tool, **(SMALLEST[tool]))
    found = ground.files()
    assert JOURNAL in found, "nothing was left to complete"
    return found


def journal(ground: Ground, rng: random.Random, files: Files, original: bytes) -> Iterator[str]:
    """Return the failures with a journal that may be corrupt. `original` is its valid form."""
    ground.lay(files)
    tool = rng.choice(_READING)
    done = ground.call(tool)
    try:
        value, why = reference_reader.read("journal", files[JOURNAL]), ""
    except Broken as error:
        value, why = None, f"that cannot be read: {error}"
    if value is not None and not _is_consistent(value):
        value, why = None, "whose content is not what its digests say"
    if done.error:
        if _SHOWN not in done.error:
            yield f"{tool} does not name the journal: {done.error[:300]}"
        if done.changed:
            yield f"{tool} is refused and changed {sorted(done.changed)}: {done.error[:300]}"
        if value is not None and same(value, reference_reader.read("journal", original)):
            yield f"{tool} refuses a journal that can be completed: {done.error[:300]}"
    elif value is None:
        yield f"{tool} answers, although a change is pending {why}"
    elif not _has_changes(value):
        yield f"{tool} answers, although the pending change is unknown"
    else:
        yield from _completed(done, value)
        yield from _answered(ground, done)


def _completed(done: Done, value: Json) -> Iterator[str]:
    """Check that exactly the change in the journal was carried out."""
    if JOURNAL in done.after:
        yield "a change is still pending after a successful call"
    receipt = f"state/closed-{value['id']}.json"
    named = {f"state/{file['name']}": file["content"] for file in value["files"]}
    aside = {path for path in done.changed if path.rpartition("/")[2].startswith("conflict-")}
    swept = {path for path in done.changed - done.after.keys() if path.rpartition("/")[2].startswith(PREFIX)}
    if others := done.changed - {JOURNAL, HISTORY, ADVICE, receipt, *named, *aside, *swept}:
        yield f"changed {sorted(others)}"
    for path, content in named.items():
        wanted = None if content is None else content.encode("utf-8", "backslashreplace")
        if done.after.get(path) != wanted:
            yield f"{path} is not what the journal says"
        old = done.before.get(path)
        if old is not None and old != wanted and not _is_known(value, path, old) and old not in done.after.values():
            yield f"the foreign content of {path} is lost"
    old, new = (reference_reader.read("history", files[HISTORY])["cycles"] for files in (done.before, done.after))
    more = [] if value["cycle"] is None or any(same(cycle, value["cycle"]) for cycle in old) else [value["cycle"]]
    if not same(new, [*old, *more]):
        yield f"the history has {len(new)} cycles after {len(old)}, or others than it must"


def _has_changes(value: Json) -> bool:
    try:
        return (
            all({"name", "before", "content"} <= file.keys() for file in value["files"])
            and {"id", "cycle"} <= value.keys()
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _is_consistent(value: Json) -> bool:
    """Return whether each content in the journal matches its digest, as far as these fields exist."""
    try:
        return all(_digest(file["content"]) == file["after"] for file in value["files"])
    except (KeyError, TypeError, AttributeError):
        return True


def _digest(content: str | None) -> str | None:
    data = None if content is None else content.encode("utf-8", "backslashreplace")
    return None if data is None else f"sha256:{hashlib.sha256(data).hexdigest()}"


def _is_known(value: Json, path: str, data: bytes) -> bool:
    known = [file["before"] for file in value["files"] if f"state/{file['name']}" == path]
    return f"sha256:{hashlib.sha256(data).hexdigest()}" in known


def _answered(ground: Ground, done: Done) -> Iterator[str]:
    """Check the files after a completed change like any others."""
    for tool, path, kind, right in (
        ("plan_status", PLAN, "plan", answers.plan_status),
        ("task_list", TASKS, "tasks", answers.task_list),
    ):
        found = ground.call(tool)
        value = reference_reader.read(kind, done.after[path]) if path in done.after else None
        if found.error or not same(found.answer, answers.sendable(right(value))):
            yield f"{tool} after it answers {str(found.answer)[:300]}"


def unheard(ground: Ground, rng: random.Random) -> Files:
    """Return a project after a close whose answer was never delivered."""
    ground.lay(projects.valid(rng))
    ground.call("task_close", deliver=False)
    found = ground.files()
    assert receipt_of(found), "no receipt was left"
    return found


def receipt_of(files: Files) -> str:
    """Return the path of the receipt."""
    return next((path for path in files if path.startswith("state/closed-")), "")


def receipt(ground: Ground, rng: random.Random, files: Files, original: bytes) -> Iterator[str]:
    """Return the failures with a receipt that may be corrupt. `original` is its valid form."""
    ground.lay(files)
    path = receipt_of(files)
    done = ground.call("task_close")
    if done.error:
        yield f"task_close is refused: {done.error[:300]}"
        return
    old, new = (reference_reader.read("history", found[HISTORY])["cycles"] for found in (done.before, done.after))
    try:
        value = reference_reader.read("journal", files[path])
    except Broken as error:
        value, why = None, str(error)
    if len(new) == len(old):
        if value is None:
            yield f"task_close answers from a receipt that cannot be read ({why})"
        elif not same(done.answer, answers.sendable(value.get("answer"))) or path in done.after:
            yield f"task_close answers {str(done.answer)[:300]}, which is not in the receipt, or leaves the receipt"
        elif not any(same(cycle, value["cycle"]) for cycle in old):
            yield "task_close answers with a close that the history does not have"
    else:
        if value is not None and same(value, reference_reader.read("journal", original)):
            yield "task_close does not return the answer of an undelivered close"
        if not same(new[:-1], old) or not same(new[-1]["tasks"], []):
            yield "task_close with nothing open archived something else"
        if value is None and done.after.get(path) != files[path]:
            yield f"task_close changed a receipt that it cannot read ({why})"
    if others := done.changed - {HISTORY, ADVICE, path}:
        yield f"task_close changed {sorted(others)}"
