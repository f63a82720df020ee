"""agent_complete: record that an agent ended, and warn about its unfinished tasks."""

from __future__ import annotations

from nexus_mcp.catalog.tool_files import came_to_nothing
from nexus_mcp.errors import NexusError, PathRefused, StateError
from nexus_mcp.lifecycle.agent_identity import warn_unknown
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.sources import list_ids, select_unfinished, select_waiting, tasks_of
from nexus_mcp.quoting import quoted_name
from nexus_mcp.state.agents import COMPLETE
from nexus_mcp.store.agents import read, record
from nexus_mcp.store.harness_files import TOOL_LOG, tool_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


MESSAGE = 1 << 16
"""Maximum characters of a recorded last message."""
FILES, PATH = 1000, 4096
"""The maximum number of recorded files, and the maximum number of characters of a path."""
_STAMP = len("2026-01-01T00:00:00.000Z")


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Mark the agent as completed and warn about its unfinished tasks (_complete).

    If the harness drops the answer, a later event of the session delivers the warnings.
    """
    fields = _complete(ctx, params)
    if ctx.host.is_deaf and ctx.warnings:
        from nexus_mcp.lifecycle.session_memory import SessionMemory

        memory = SessionMemory(ctx, params.get("session_id", ""))
        memory.carry(ctx.warnings)
        memory.save()
    return fields


def _complete(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Mark the agent as completed and warn about its unfinished tasks.

    Without files_touched in the params, the files come from the tool log; without a log they stay unknown. An agent
    that is not in the tracker causes only a warning.
    """
    agent_id, session = params["agent_id"], params.get("session_id", "")
    fields: dict[str, Any] = {name: params[name] for name in ("last_message", "files_touched") if name in params}
    if ctx.host.client is not None and "files_touched" in fields:
        fields["files_touched"] = [ctx.host.client.place(path) for path in fields["files_touched"]]
    if "files_touched" not in fields:
        files = _logged_files(ctx, agent_id, session)
        if files is not None:
            fields["files_touched"] = files
    _truncate_fields(ctx, fields)
    tasks = tasks_of(ctx)
    event = {"kind": COMPLETE, "at": ctx.store.stamp(), "agent_id": agent_id, "session_id": session, **fields}
    records, is_cut = record(ctx.store, ctx.harness_id, event)
    entry = None if records is None else records.own(agent_id, session)
    if records is None or entry is None:
        ctx.warnings.clear()  # warnings about the files of an unknown agent would not help anyone
        warn_unknown(ctx, agent_id)
        return {"agent_id": agent_id, "completed": False}
    if is_cut:
        ctx.warn("The lock was held, so only the beginning of last_message and of the files touched is kept.")
    name = next(iter(records.names_of(entry)), None)
    _warn_unfinished(ctx, agent_id, name, tasks)
    if name is not None and select_unfinished(tasks):
        from nexus_mcp.lifecycle.missing_verdict import warn_missing

        warn_missing(ctx, name, _began(entry), fields.get("last_message", ""))
    return {"agent_id": agent_id, "completed": True, **{n: fields[n] for n in ("files_touched",) if n in fields}}


def _truncate_fields(ctx: EventContext, fields: dict[str, Any]) -> None:
    """Truncate long fields and add a warning. Every event about an agent reads the tracker, so it has to be short."""
    if len(fields.get("last_message", "")) > MESSAGE:
        fields["last_message"] = fields["last_message"][:MESSAGE]
        ctx.warn(f"Of last_message the first {MESSAGE} characters are kept. Keep what matters in an artifact.")
    files = fields.get("files_touched", [])
    short = [file for file in files if len(file) <= PATH][:FILES]
    if len(short) < len(files):
        fields["files_touched"] = short
        ctx.warn(f"Of {len(files)} files touched {len(short)} are kept: {FILES} at most, of {PATH} characters at most.")


def _logged_files(ctx: EventContext, agent_id: str, session: str) -> list[str] | None:
    """Return the files in the tool log that the agent may have changed since its start or resume, in the order of their
    first use; None if there is no log or it cannot be read.
    """
    try:
        log = tool_log(ctx.store)
    except (StateError, PathRefused) as error:
        ctx.warn(f"The files that the agent touched are unknown: {error.fault}. {error.next_step}".rstrip())
        return None
    if log is None:
        return None
    lines, bad = log
    if bad:
        ctx.warn(f".nexus/state/{TOOL_LOG} has {bad} unreadable line{'s' * (bad > 1)}; only the other lines count.")
    began = _start_time(ctx, agent_id, session)
    own = [
        line
        for line in lines
        if line.get("agent_id") == agent_id
        and isinstance(line.get("file"), str)
        and not came_to_nothing(str(line.get("status", "")))
        and (_stamp(line.get("timestamp")) or began) >= began  # a harness may reuse an id in another session
    ]
    if not own:  # then the catalog below need not be loaded
        return []
    is_touching = _touch_test(ctx)
    return list(dict.fromkeys(str(line["file"]) for line in own if is_touching(str(line.get("tool", "")))))


def _start_time(ctx: EventContext, agent_id: str, session: str) -> str:
    """Return the time at which the agent started or was last resumed; "" if unknown or not comparable.

    Only files touched since then belong to the work that ends now.
    """
    try:
        entry = read(ctx.store, ctx.harness_id).records.own(agent_id, session) or {}
    except NexusError:  # the fault is reported when the event is recorded
        return ""
    return _began(entry)


def _began(entry: dict[str, Any]) -> str:
    return _stamp(entry.get("last_resumed_at", entry.get("started_at")))


def _stamp(value: object) -> str:
    """Return a timestamp in the format of the contract, which sorts as text; "" for any other value."""
    return value if isinstance(value, str) and len(value) == _STAMP and value.endswith("Z") else ""


def _touch_test(ctx: EventContext) -> Callable[[str], bool]:
    """Return a function that returns whether a tool may have changed a file for an agent of this harness.

    Tools that only read do not count. Nor do tools that edit files in other harnesses only: their lines are of other
    agents, with the same id by chance. All other tools count; without a capability map of this harness, every tool.
    """
    from nexus_mcp.catalog.tool_files import is_edit, only_reads
    from nexus_mcp.lifecycle.sources import catalog_of

    maps = catalog_of(ctx).maps
    known = maps.get(ctx.harness_id)
    others = [other for harness, other in maps.items() if harness != ctx.harness_id]
    if known is None:
        return lambda _: True

    def is_touching(tool: str) -> bool:
        if only_reads(known, tool):
            return False
        return is_edit(known, tool) or not any(is_edit(other, tool) for other in others)

    return is_touching


def _warn_unfinished(ctx: EventContext, agent_id: str, name: str | None, tasks: list[dict[str, Any]]) -> None:
    own = [
        task
        for task in select_unfinished(tasks)
        if task.get("owner_agent_id") == agent_id or (name is not None and task.get("owner") == name)
    ]
    late = select_waiting(tasks)
    later = [task for task in own if task in late]
    left = [task for task in own if task not in late]
    agent = quoted_name(name or agent_id)
    if left:
        ctx.warn(
            f"{agent} has ended, but tasks of its own are not done: {list_ids(left)}. "
            "Let a tester check those that are finished, and set them to completed with task_update when they pass; "
            "choose an agent for the others."
        )
    if later:
        ctx.warn(
            f"{agent} has ended, and tasks of its own still wait for others: {list_ids(later)}. "
            "Choose an agent for them when they are ready."
        )


EVENT = Event(
    required=("agent_id",),
    optional=("last_message", "files_touched", "session_id"),
    run=run,
)
