"""post_tool_use: log the use of a tool, and count reads of notes."""

from __future__ import annotations

import os

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.definition import MAIN, TEXT, Event, EventContext
from nexus_mcp.lifecycle.file_leases import logged_name
from nexus_mcp.lifecycle.nexus_files import inside
from nexus_mcp.lifecycle.sources import catalog_of
from nexus_mcp.quoting import quoted_name
from nexus_mcp.store import harness_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OK = "ok"
_MEMORY, _NOTE = ".nexus/memory/", ".md"


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Append one line per file, or one line if there is no file, to the tool log, and count the read of each note in
    memory/.

    The capability map of the harness says which tools read files, and in which parameter the file is. Writes,
    listings, searches and failed calls are no reads.
    """
    from nexus_mcp.catalog.tool_files import came_to_nothing, entry_of, read_paths, written_paths

    tool, file = params["tool"], params.get("file")
    files = [file] if file else []
    known = catalog_of(ctx).maps.get(ctx.harness_id)
    read: list[str] = []
    if known is not None:
        tool_input = params.get("tool_input")
        read = read_paths(known, tool, tool_input)
        if not read and file and entry_of(known["opening"], tool) is not None:
            read = [file]
        files += [*(written_paths(known, tool, tool_input) or ((), True))[0], *read]
    if (client := ctx.host.client) is not None:
        files, read = [client.place(path) for path in files], [client.place(path) for path in read]
    root, status = ctx.workspace.root, params.get("status", "").strip() or OK
    line = {"timestamp": ctx.store.stamp(), "agent_id": params.get("agent_id", MAIN), "tool": tool}
    named = dict.fromkeys(logged_name(ctx, path) for path in files)
    lines = [{**line, "file": path, "status": status} for path in named] or [{**line, "status": status}]
    if params.get("session_id"):
        from nexus_mcp.lifecycle.agent_identity import touch

        touch(ctx, params["session_id"])
    if ctx.host.is_deaf and "agent_id" not in params:
        _give_carried(ctx, params.get("session_id", ""))
    logged = harness_files.log_tool_uses(ctx.store, lines)
    if not logged:
        ctx.warn("The use of the tool is not in the tool log: its names are too long.")
    if not logged or came_to_nothing(status):
        return {"logged": logged}
    found = dict.fromkeys(inside(root, path) for path in read)
    notes = [note for note in found if note is not None and _is_note(root, note)]
    counted = [note for note in notes if _count_read(ctx, params, note)]
    more = {"also_read": counted[1:]} if len(counted) > 1 else {}
    return {"logged": logged, **({"read": counted[0]} if counted else {}), **more}


def _give_carried(ctx: EventContext, session: str) -> None:
    """Add the warnings that subagent_complete stored for the main session, for example about an agent of this call."""
    from nexus_mcp.lifecycle.session_memory import SessionMemory

    memory = SessionMemory(ctx, session)
    for warning in memory.take_carried():
        ctx.warn(warning)
    memory.save()


def _is_note(root: str, path: str) -> bool:
    """Return whether the path is an existing note in memory/: a tool that failed to read may not report the failure."""
    return path.startswith(_MEMORY) and path.endswith(_NOTE) and os.path.isfile(os.path.join(root, path))


def _count_read(ctx: EventContext, params: dict[str, Any], note: str) -> bool:
    from nexus_mcp.lifecycle.agent_identity import name_reader
    from nexus_mcp.store.harness_files import note_read

    try:
        note_read(ctx.store, ctx.harness_id, note, name_reader(ctx, params))
    except NexusError as error:
        ctx.warn(f"The read of {quoted_name(note)} was not counted: {error}")
        return False
    return True


EVENT = Event(
    required=("tool",),
    optional=("tool_input", "file", "status", "agent_id", "agent_name", "session_id"),
    types={"agent_name": TEXT},
    run=run,
)
