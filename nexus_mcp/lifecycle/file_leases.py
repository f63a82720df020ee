"""Find another running agent that has edited a file, because two agents that edit one file may undo each other's work.

An agent holds a file if the tool log has its edit of the file and the tracker of its harness lists the agent as
running. All harnesses write the same log, so the trackers of up to _HARNESSES other harnesses are read, too. An agent
holds a file for at most LEASE_S seconds after its last edit: an agent whose end was never reported must not hold a file
for ever.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.nexus_files import inside
from nexus_mcp.lifecycle.settings import settings_of
from nexus_mcp.quoting import quote, quoted_name
from nexus_mcp.store.harness_files import TRACKER
from nexus_mcp.workspace import is_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.store.folder import Folder

OFF, WARN, BLOCK = "off", "warn", "block"
LEASE_S = 1800
"""A running agent holds a file for this number of seconds after its last edit of the file."""
_RUNNING = "running"
_PATH = 200
_HARNESSES = 5
"""The maximum number of other harnesses whose trackers are read."""


def lease_mode(ctx: EventContext) -> str:
    """Return the setting gates.file_leases: off, warn (the default) or block."""
    mode: str = settings_of(ctx).get("gates", {}).get("file_leases", WARN)
    return mode


def logged_name(ctx: EventContext, path: str) -> str:
    """Return the file's name in the tool log: its path from `state_root`, the folder whose `.nexus` has the state. For
    a file outside of that folder, return the path as in the call, in a linked worktree the absolute path.

    So worktrees that share one log have different names for their copies of one file.
    """
    own = ctx.workspace
    if own.state_root == own.root:
        return inside(own.root, path) or path
    return inside(own.state_root, os.path.join(own.root, path)) or os.path.join(own.root, path)


def find_holder(ctx: EventContext, agent_id: str, paths: Collection[str]) -> str:
    """Return a sentence about the latest edit by which another running agent holds one of the files; "" when there is
    none.

    Agents whose tracker cannot be read hold no file. If the tool log cannot be read, no file counts as held.
    """
    names = _running(ctx, agent_id)
    if not names:
        return ""
    wanted = {logged_name(ctx, path): path for path in paths}
    since, until = ctx.store.stamp(-LEASE_S), ctx.store.stamp(LEASE_S)  # a clock may have been set back
    for line in reversed(_log(ctx)):
        agent, file = line.get("agent_id"), line.get("file")
        if isinstance(agent, str) and agent in names and isinstance(file, str) and file in wanted:
            at = line.get("timestamp")
            name, harness = names[agent]
            if isinstance(at, str) and since <= at <= until and _is_edit(ctx, line, harness):
                where = "" if harness == ctx.harness_id else f" in {harness}"
                return f"{quoted_name(name or agent)} is at work{where} and has edited {quote(wanted[file], _PATH)}."
    return ""


def _running(ctx: EventContext, agent_id: str) -> dict[str, tuple[str, str]]:
    """Return id → (name, harness) of the running agents with another id. The log has only agent ids, so agents with
    the same id in other sessions do not count.
    """
    from nexus_mcp.store.agents import read

    found: dict[str, tuple[str, str]] = {}
    for harness in (ctx.harness_id, *_other_harnesses(ctx)):
        try:
            own = ctx.agents if harness == ctx.harness_id else None
            records = (own or read(ctx.store, harness)).records
        except NexusError:  # the fault is reported when an agent of that harness is identified
            continue
        for entry in records.entries:
            other = entry.get("agent_id")
            if entry.get("status") == _RUNNING and isinstance(other, str) and other != agent_id:
                found.setdefault(other, (next(iter(records.names_of(entry)), ""), harness))
    return found


def _other_harnesses(ctx: EventContext) -> list[str]:
    """Return the ids of other harnesses that have a tracker, at most _HARNESSES."""
    found: list[str] = []
    try:
        with ctx.store.state() as state:
            names = [] if state is None else sorted(filter(is_harness_id, state.names()))
            for name in names:
                if state is not None and name != ctx.harness_id and len(found) < _HARNESSES:
                    found += [name] if _has_tracker(state, name) else []
    except NexusError:
        return found
    return found


def _has_tracker(state: Folder, name: str) -> bool:
    """Return whether the folder of a harness has a tracker; False for anything else of this name."""
    try:
        own = state.child(name)
        if own is None:
            return False
        with own:
            return own.check_plain(TRACKER)
    except NexusError:
        return False


def _log(ctx: EventContext) -> list[dict[str, object]]:
    from nexus_mcp.store.harness_files import tool_log

    try:
        log = tool_log(ctx.store)
    except NexusError:
        return []
    return [] if log is None else log[0]


def _is_edit(ctx: EventContext, line: dict[str, object], harness: str) -> bool:
    """Return whether a line of the tool log is about a successful edit in a harness. Without a capability map of the
    harness every successful use of a tool counts.
    """
    from nexus_mcp.catalog.tool_files import came_to_nothing, is_edit, only_reads
    from nexus_mcp.lifecycle.sources import catalog_of

    known, tool = catalog_of(ctx).maps.get(harness), str(line.get("tool", ""))
    if came_to_nothing(str(line.get("status", ""))):
        return False
    return known is None or (is_edit(known, tool) and not only_reads(known, tool))
