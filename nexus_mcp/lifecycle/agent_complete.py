"""agent_complete: an agent has ended its work."""

from __future__ import annotations

from nexus_mcp.catalog.tool_files import came_to_nothing
from nexus_mcp.errors import NexusError, PathRefused, StateError
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.unfinished import listed, tasks_of, unfinished, waiting
from nexus_mcp.lifecycle.unknown import warn_unknown
from nexus_mcp.quoting import quoted_name
from nexus_mcp.state.agent_records import COMPLETE
from nexus_mcp.store.agent_files import read, record
from nexus_mcp.store.harness_files import TOOL_LOG, tool_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


MESSAGE = 1 << 16
"""Characters that are kept of a last message."""
FILES, PATH = 1000, 4096
"""How many files are kept, and how many characters a path may have."""
_STAMP = len("2026-01-01T00:00:00.000Z")


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Mark the agent as completed and warn about what it leaves undone.

    Without files_touched in the params they are the files that the log of the tools has for the agent; without a log
    nothing is said about them. An agent that is not in the tracker is worth a warning only.
    """
    agent_id, session = params["agent_id"], params.get("session_id", "")
    told: dict[str, Any] = {name: params[name] for name in ("last_message", "files_touched") if name in params}
    if "files_touched" not in told:
        files = _logged_files(ctx, agent_id, session)
        if files is not None:
            told["files_touched"] = files
    _bound(ctx, told)
    tasks = tasks_of(ctx)
    event = {"kind": COMPLETE, "at": ctx.store.stamp(), "agent_id": agent_id, "session_id": session, **told}
    records, is_cut = record(ctx.store, ctx.harness_id, event)
    entry = None if records is None else records.own(agent_id, session)
    if records is None or entry is None:
        ctx.warnings.clear()  # about files of which nothing was needed after all
        warn_unknown(ctx, agent_id)
        return {"agent_id": agent_id, "completed": False}
    if is_cut:
        ctx.warn("The lock was held, so only the beginning of last_message and of the files touched is kept.")
    _warn_unfinished(ctx, agent_id, next(iter(records.names_of(entry)), None), tasks)
    return {"agent_id": agent_id, "completed": True, **{n: told[n] for n in ("files_touched",) if n in told}}


def _bound(ctx: EventContext, told: dict[str, Any]) -> None:
    """Cut what is too long for the tracker, which every event about an agent reads, and tell it."""
    if len(told.get("last_message", "")) > MESSAGE:
        told["last_message"] = told["last_message"][:MESSAGE]
        ctx.warn(f"Of last_message the first {MESSAGE} characters are kept. Keep what matters in an artifact.")
    files = told.get("files_touched", [])
    kept = [file for file in files if len(file) <= PATH][:FILES]
    if len(kept) < len(files):
        told["files_touched"] = kept
        ctx.warn(f"Of {len(files)} files touched {len(kept)} are kept: {FILES} at most, of {PATH} characters at most.")


def _logged_files(ctx: EventContext, agent_id: str, session: str) -> list[str] | None:
    """The files that the log of the tools has for the agent, in order, each once; None when there is no log."""
    try:
        log = tool_log(ctx.store)
    except (StateError, PathRefused) as error:
        ctx.warn(f"The files it touched are not known: {error.fault}. {error.next_step}".rstrip())
        return None
    if log is None:
        return None
    lines, bad = log
    if bad:
        ctx.warn(f".nexus/state/{TOOL_LOG} has {bad} unreadable line{'s' * (bad > 1)}; what they say is not counted.")
    began = _began(ctx, agent_id, session)
    own = [
        line
        for line in lines
        if line.get("agent_id") == agent_id
        and isinstance(line.get("file"), str)
        and not came_to_nothing(str(line.get("status", "")))
        and (_stamp(line.get("timestamp")) or began) >= began  # a harness may give an id again in another session
    ]
    if not own:  # the rest loads the catalog
        return []
    is_touching = _touching(ctx)
    return list(dict.fromkeys(str(line["file"]) for line in own if is_touching(str(line.get("tool", "")))))


def _began(ctx: EventContext, agent_id: str, session: str) -> str:
    """When the agent began, or was resumed last; "" when that is not known, or not to be compared.

    Files that are told are of the run that ends, too: the end of it is when they were touched at the latest.
    """
    try:
        entry = read(ctx.store, ctx.harness_id).records.own(agent_id, session) or {}
    except NexusError:  # told when the event is recorded
        return ""
    return _stamp(entry.get("last_resumed_at", entry.get("started_at")))


def _stamp(value: object) -> str:
    """A time as the contract writes it, which sorts as a text; "" for any other."""
    return value if isinstance(value, str) and len(value) == _STAMP and value.endswith("Z") else ""


def _touching(ctx: EventContext) -> Callable[[str], bool]:
    """Whether a tool may have changed a file: none that only reads, and none of another harness, whose ids are its own.

    A tool that no map knows may be anybody's.
    """
    from nexus_mcp.catalog.tool_files import edits, only_reads
    from nexus_mcp.lifecycle.known import catalog_of

    maps = catalog_of(ctx).maps
    known = maps.get(ctx.harness_id)
    others = [other for harness, other in maps.items() if harness != ctx.harness_id]
    if known is None:
        return lambda _: True

    def is_touching(tool: str) -> bool:
        if only_reads(known, tool):
            return False
        return edits(known, tool) or not any(edits(other, tool) for other in others)

    return is_touching


def _warn_unfinished(ctx: EventContext, agent_id: str, name: str | None, tasks: list[dict[str, Any]]) -> None:
    own = [
        task
        for task in unfinished(tasks)
        if task.get("owner_agent_id") == agent_id or (name is not None and task.get("owner") == name)
    ]
    late = waiting(tasks)
    later = [task for task in own if task in late]
    left = [task for task in own if task not in late]
    who = quoted_name(name or agent_id)
    if left:
        ctx.warn(
            f"{who} has ended, but tasks of its own are not done: {listed(left)}. "
            "Have those that are finished checked, and set them to completed with task_update when they pass; see who "
            "does the others."
        )
    if later:
        ctx.warn(
            f"{who} has ended, and tasks of its own still wait for others: {listed(later)}. "
            "See who does them when it is their turn."
        )


EVENT = Event(
    required=("agent_id",),
    optional=("last_message", "files_touched", "session_id"),
    run=run,
)
