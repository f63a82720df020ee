"""The view `timeline`: the changes in the operation log, and the plan and tasks as they were after each of them.

The log holds deltas from the new bytes of a file to the old ones, so this module reads it backwards, from the present
files. The entry of a close has no old content. Before a close, the files are the plan and the tasks in the closed
cycle, if their bytes have the checksums that earlier entries recorded.
"""

from __future__ import annotations

import re
from functools import partial

from nexus_mcp.errors import NexusError, UndoRefused, UsageError
from nexus_mcp.state import oplog, shapes
from nexus_mcp.store import codec, paths, session
from nexus_mcp.store import oplog as log_file
from nexus_mcp.store.journal import SESSION_LIMIT
from nexus_mcp.views import VERSION, read_or_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from nexus_mcp.state.oplog import Entry, Line
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow

    Files = dict[str, bytes | None]


def changes(store: Store, most: int | None = None) -> dict[str, Any]:
    """Return `version`, `total`, `unreadable` (the number of lines that cannot be read) and `changes`: the `most`
    newest, newest first.

    A change has `line` (its number in the log, from 1), `id`, `at`, `tool`, `what`, `client`, `harness_id`, `files`
    (names), `cycle` (the closing time of the cycle that it added, or None), `is_undone` and `is_permanent` (undo can
    never take it back). Raise StateError, PathRefused, StorageError.
    """
    with store.state() as state:
        lines = log_file.read(state)
    undone = oplog.undone_ids(lines)
    known = [(number, entry) for number, entry in reversed(lines) if entry is not None]
    shown = known if most is None else known[:most]
    return {
        "version": VERSION,
        "total": len(known),
        "unreadable": len(lines) - len(known),
        "changes": [change_row(number, entry, is_undone=entry["id"] in undone) for number, entry in shown],
    }


def change_row(number: int, entry: Entry, *, is_undone: bool) -> dict[str, Any]:
    """Return a row of `changes`: the entry in the line `number` of the log."""
    return {
        "line": number,
        "id": entry["id"],
        "at": entry["at"],
        "tool": entry["tool"],
        "what": entry.get("what", ""),
        "client": entry["client"],
        "harness_id": entry["harness_id"],
        "files": [file["name"] for file in entry["files"]],
        "cycle": entry.get("cycle"),
        "is_undone": is_undone,
        "is_permanent": oplog.is_permanent(entry),
    }


def titles(store: Store, shown: Sequence[Mapping[str, Any]], faults: list[FaultRow]) -> dict[int, str]:
    """Return line -> the title of the task or issue, or the topic of the plan, that the change is about, as far as it
    is known. `shown` are `changes`, newest first. A file that cannot be read is added to `faults`, once. Never raises
    NexusError.

    The titles come from the present plan and tasks, and for changes before a close from the closed cycle.
    """
    found: dict[int, str] = {}
    both = store.snapshot()
    plan, tasks = read_or_fault(both.plan, faults), read_or_fault(both.tasks, faults)
    rows: object = tasks["tasks"] if tasks else []
    names = _names(plan, rows)
    for change in shown:
        match, is_start = _ABOUT.search(change["what"]), _STARTS in change["what"]
        title = names.get(match[0], "") if match else names.get("plan", "") if is_start else ""
        if change["cycle"] is not None:
            ended = read_or_fault(partial(store.history, _ended_at(change["cycle"])), faults)
            closed = ended[0] if ended else {}
            if paths.TASKS in change["files"]:  # plan_start archives an open plan, and leaves the tasks
                rows = closed.get("tasks")
            names = _names(closed.get("plan"), rows)
            title = title if is_start else names.get("plan", "")
        if title:
            found[change["line"]] = title
    return found


def _ended_at(stamp: str) -> Callable[[Archive], list[dict[str, Any]]]:
    return lambda archive: archive.ended_at(stamp)


_ABOUT = re.compile(r"\b(?:task|issue) \d+\b")
_STARTS = "starts plan"


def _names(plan: object, tasks: object) -> dict[str, str]:
    """Return `plan`, `task 1`, `issue 1` and so on -> title."""
    topic = plan.get("topic") if isinstance(plan, dict) else None
    found = {"plan": topic} if isinstance(topic, str) else {}
    issues = plan.get("issues") if isinstance(plan, dict) else None
    for word, rows in (("task", tasks), ("issue", issues)):
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("title"), str):
                found[f"{word} {row.get('id')}"] = row["title"]
    return found


def state_after(store: Store, line: int) -> dict[str, Any]:
    """Return the state after the change in this line of the log: `version`, `line`, `at`, and `plan` and `tasks`, the
    values of the files (None for no file). `unknown` names the files whose content the log does not hold.

    Raise UsageError if no readable change has this line, or if the log does not reach back to it; StateError,
    PathRefused, StorageError.
    """
    lines, now = _read(store)
    if not any(number == line and entry is not None for number, entry in lines):
        raise UsageError(f"The log has no change in line {line}.", next_step="nexus-mcp log lists the changes.")
    for number, entry, files in _walk(store, lines, now):
        if number == line:
            plan, tasks = (_value(name, files.get(name)) for name in paths.SESSION)
            unknown = [name for name in paths.SESSION if name not in files]
            return {
                **{"version": VERSION, "line": line, "at": entry["at"]},
                **{"plan": plan, "tasks": tasks, "unknown": unknown},
            }
    raise UsageError(
        f"The state after line {line} of the log is not known: the log lacks the old content of a later change.",
        next_step="nexus-mcp history shows the closed cycles.",
    )


def reachable(store: Store) -> list[int]:
    """Return the lines whose state `state_after` can show, newest first.

    Raise StateError, PathRefused, StorageError.
    """
    lines, now = _read(store)
    return [number for number, _, _ in _walk(store, lines, now)]


def _read(store: Store) -> tuple[list[Line], Files]:
    """Return (the lines of the log, the present session files)."""
    with store.state() as state:
        lines = log_file.read(state)
        return lines, {name: None if state is None else state.read(name, SESSION_LIMIT) for name in paths.SESSION}


def _walk(store: Store, lines: Sequence[Line], now: Files) -> Iterator[tuple[int, Entry, Files]]:
    """Yield (line, entry, the files after it), newest first. An unknown file is left out. Stop at a line that cannot be
    read, and when no file is known any more.
    """
    files = dict(now)
    archived: Files = {}  # tasks.json from a cycle, without goal and decisions: only to be shown
    for number, entry in reversed(lines):
        if entry is None:
            return
        changed = [file for file in entry["files"] if file["name"] in paths.SESSION]
        for file in changed:
            name = file["name"]
            if name in files and oplog.mark(files[name]) != file["after"]:
                del files[name]
        yield number, entry, {**archived, **files}
        archived = {}
        if "cycle" in entry:
            names = {file["name"] for file in changed}
            before, archived = _before_close(store, entry)
            files = {name: data for name, data in files.items() if name not in names}
            files |= {name: data for name, data in before.items() if name in names}
            if paths.TASKS not in names:  # plan_start archives an open plan, and leaves the tasks
                archived = {}
            continue
        for file in changed:
            name = file["name"]
            try:
                files[name] = oplog.restore(file, files[name], entry)
            except (KeyError, UndoRefused):  # the content after the change is unknown, or the entry has no old content
                files.pop(name, None)
        if not files:
            return


def _before_close(store: Store, entry: Entry) -> tuple[Files, Files]:
    """Return (the files before the close, as far as the cycle has their bytes; tasks.json as the cycle has it).

    A cycle keeps neither goal nor decisions of tasks.json, so the bytes of tasks.json are right only if both were
    empty. Return ({}, {}) if there is no such cycle, or if it is malformed.
    """
    try:
        found = store.history(lambda archive: archive.ended_at(entry["cycle"]))
        plan, tasks = found[0].get("plan"), found[0].get("tasks")
        files: Files = {paths.PLAN: None if plan is None else session.compose(paths.PLAN, plan).data}
        rows = {"goal": "", "decisions": [], "tasks": tasks} if tasks else None
        files[paths.TASKS] = None if rows is None else session.compose(paths.TASKS, rows).data
    except (IndexError, TypeError, KeyError, ValueError, codec.Invalid, NexusError):  # no cycle, or a malformed one
        return {}, {}
    return files, {paths.TASKS: files[paths.TASKS]}


def _value(name: str, data: bytes | None) -> dict[str, Any] | None:
    if data is None:
        return None
    shown = f".nexus/state/{name}"
    return shapes.check(codec.decode(data, shown), session.KINDS[name].schema, shown)
