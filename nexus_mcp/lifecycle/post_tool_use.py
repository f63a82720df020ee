"""post_tool_use: a tool was used."""

from __future__ import annotations

import os

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.definition import MAIN, Event, EventContext
from nexus_mcp.lifecycle.files import inside
from nexus_mcp.lifecycle.known import catalog_of
from nexus_mcp.lifecycle.params import TEXT
from nexus_mcp.quoting import quoted_name
from nexus_mcp.store import tool_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OK = "ok"
_MEMORY, _NOTE = ".nexus/memory/", ".md"


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Add the use to the log of the tools, a line for each file; count the read of each note.

    Which tools read files, and which parameter names it, is what the capability map of the harness says. Writes,
    listings and searches are no reads, and neither is one that failed.
    """
    from nexus_mcp.catalog.tool_files import came_to_nothing, edited, opened
    from nexus_mcp.catalog.tool_names import entry_of

    tool, told = params["tool"], params.get("file")
    files = [told] if told else []
    known = catalog_of(ctx).maps.get(ctx.harness_id)
    read: list[str] = []
    if known is not None:
        tool_input = params.get("tool_input")
        read = opened(known, tool, tool_input)
        if not read and told and entry_of(known["opening"], tool) is not None:
            read = [told]
        files += [*(edited(known, tool, tool_input) or ((), True))[0], *read]
    root, status = ctx.workspace.root, params.get("status", "").strip() or OK
    line = {"timestamp": ctx.store.stamp(), "agent_id": params.get("agent_id", MAIN), "tool": tool}
    named = dict.fromkeys(inside(root, file) or file for file in files)
    lines = [{**line, "file": file, "status": status} for file in named] or [{**line, "status": status}]
    if params.get("session_id"):
        from nexus_mcp.lifecycle.agent_identity import touch

        touch(ctx, params["session_id"])
    logged = tool_log.add(ctx.store, lines)
    if not logged:
        ctx.warn("The use of the tool is not in the log of the tools: its names are too long.")
    if not logged or came_to_nothing(status):
        return {"logged": logged}
    found = dict.fromkeys(inside(root, file) for file in read)
    notes = [note for note in found if note is not None and _is_note(root, note)]
    counted = [note for note in notes if _is_counted(ctx, params, note)]
    more = {"also_read": counted[1:]} if len(counted) > 1 else {}
    return {"logged": logged, **({"read": counted[0]} if counted else {}), **more}


def _is_note(root: str, path: str) -> bool:
    """Whether it is a note that is there: a tool that came to nothing need not have said so."""
    return path.startswith(_MEMORY) and path.endswith(_NOTE) and os.path.isfile(os.path.join(root, path))


def _is_counted(ctx: EventContext, params: dict[str, Any], note: str) -> bool:
    from nexus_mcp.lifecycle.agent_identity import reader
    from nexus_mcp.store.memory_access import note_read

    try:
        note_read(ctx.store, ctx.harness_id, note, reader(ctx, params))
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
