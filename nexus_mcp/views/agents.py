"""The agents that run now, of all harnesses, with the time of their last activity."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.state.tracker import RUNNING
from nexus_mcp.store import harness_files
from nexus_mcp.store.agents import read
from nexus_mcp.views import fault_row
from nexus_mcp.workspace import is_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow

    class Agent(TypedDict):
        """`name` and `id` are "" if no event named them. `last_activity` is the latest of the known times of the agent:
        start, resume and last tool call. `last_tool` is the tool of that call, "" if the tool log has none since the
        start.
        """

        harness_id: str
        name: str
        id: str
        session: str
        started_at: str
        last_activity: str
        last_tool: str
        resumes: int


_MOST_FOLDERS = 200


def running_agents(store: Store) -> tuple[list[Agent], list[FaultRow]]:
    """Return (the running agents, the latest activity first; the faults of the files that could not be read)."""
    faults: list[FaultRow] = []
    try:
        harnesses = _harnesses(store)
    except NexusError as error:
        return [], [fault_row(error)]
    found: list[Agent] = []
    uses = _last_uses(store, faults) if harnesses else {}
    for harness_id in harnesses:
        try:
            agents = read(store, harness_id)
        except NexusError as error:
            faults.append(fault_row(error))
            continue
        faults += [fault_row(error) for error in (agents.fault, agents.extension_fault) if error is not None]
        records = agents.records
        for entry in records.entries:
            if entry.get("status") == RUNNING:
                session = records.session_of(entry)
                found.append(_agent(harness_id, entry, session, (records.names_of(entry) or [""])[0], uses))
    return sorted(found, key=lambda agent: agent["last_activity"], reverse=True), faults


def _harnesses(store: Store) -> list[str]:
    """Return the ids of the harnesses that have a folder in `.nexus/state`; some may be missing if that folder has more
    than _MOST_FOLDERS names.
    """
    with store.state_as_it_is() as state:
        names = [] if state is None else state.names(_MOST_FOLDERS)
        return [
            name for name in sorted(names) if is_harness_id(name) and state is not None and _is_folder(state.look(name))
        ]


def _is_folder(info: Any) -> bool:
    import stat

    return info is not None and stat.S_ISDIR(info.st_mode)


def _agent(harness_id: str, entry: dict[str, Any], session: str, name: str, uses: dict[str, tuple[str, str]]) -> Agent:
    id_ = entry.get("agent_id") if isinstance(entry.get("agent_id"), str) else ""
    started = entry["started_at"]
    times = [started, entry.get("last_resumed_at") or ""]
    at, tool = uses.get(id_ or "", ("", "")) if id_ else ("", "")
    if at < started:  # no call, or the call of an earlier agent with the same id
        tool = ""
    else:
        times.append(at)
    return {
        "harness_id": harness_id,
        "name": name,
        "id": id_ or "",
        "session": session,
        "started_at": started,
        "last_activity": max(times),
        "last_tool": tool,
        "resumes": entry.get("resume_count") or 0,
    }


def _last_uses(store: Store, faults: list[FaultRow]) -> dict[str, tuple[str, str]]:
    """Return agent id -> (time, tool) of the agent's last line in the tool log."""
    try:
        log = harness_files.tool_log(store)
    except NexusError as error:
        faults.append(fault_row(error))
        return {}
    last: dict[str, tuple[str, str]] = {}
    for line in log[0] if log else ():
        agent, at, tool = line.get("agent_id"), line.get("timestamp"), line.get("tool")
        if isinstance(agent, str) and isinstance(at, str) and isinstance(tool, str):
            last[agent] = max(last.get(agent, ("", "")), (at, tool))
    return last
