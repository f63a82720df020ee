"""Resolve to which agent an event refers, from the tracker, its extension file and the payload.

A call without agent id and agent name comes from the main session. An agent is known if the tracker has a name for its
id in this session, or the payload has its name. A name that is not in the catalog counts too, and restricts nothing. If
several names are possible, the restrictions of all of them hold. An agent without such a name, or with too many names,
is unknown. It gets the restrictions of all agents of the catalog, so that a lost tracker entry grants nothing.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.definition import MAIN
from nexus_mcp.quoting import quote, quoted_name
from nexus_mcp.state.agents import ANONYMOUS
from nexus_mcp.wording import join_first

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.state.agents import Records
    from nexus_mcp.store.agents import Agents

_LONGEST = 256
_SHOWN, _LISTED = 80, 3
_UNKNOWN = "unknown"


def warn_unknown(ctx: EventContext, agent_id: str) -> None:
    """Warn that nothing was recorded for an unknown agent, with the next step."""
    ctx.warn(
        f"No agent {quote(agent_id, _LONGEST)} is in the tracker of {ctx.harness_id}, so nothing was recorded. "
        "Send agent_spawn when an agent begins."
    )


class Identity:
    """`names` are all names that the agent may have, the tracker's first; [] for the main session and if none is known.

    `is_unknown` marks an agent without a certain name, which may be any agent. `is_main` marks the main session.
    """

    __slots__ = ("agent_id", "is_main", "is_unknown", "names")

    def __init__(self, agent_id: str, names: list[str], *, is_unknown: bool = False) -> None:
        self.agent_id = agent_id
        self.names = names
        self.is_unknown = is_unknown
        self.is_main = not (names or is_unknown)

    def agents(self, catalog: Catalog) -> list[dict[str, Any]]:
        """Return the agents of the catalog whose restrictions hold, each once."""
        if self.is_unknown:
            catalog.unlisted_agent(_UNKNOWN)  # adds an agent with every restriction if the list is incomplete
            return list(catalog.agents.values())
        found = {name: agent for name in self.names if (agent := agent_of(catalog, name)) is not None}
        return list({agent["id"]: agent for agent in found.values()}.values())

    def unknown_text(self) -> str:
        """Return the sentence about an unknown agent for warnings and refusals."""
        return f"Agent {quote(self.agent_id, _SHOWN)} is unknown: neither the tracker nor the event has its name"


def identify(ctx: EventContext, params: dict[str, Any]) -> Identity:
    """Return the agent that uses a tool. Warn about an unreliable tracker. Record that the session is active."""
    payload_names = [params["agent_name"]] if params.get("agent_name", "").strip() else []
    session = params.get("session_id", ANONYMOUS)
    if "agent_id" not in params:
        if session:
            touch(ctx, session)
        return Identity("", payload_names)
    agent_id = params["agent_id"]
    agents = _agents(ctx)
    if agents is None:
        return Identity(agent_id, payload_names, is_unknown=not payload_names)
    _touch(ctx, session, agents.records)
    found, is_own, is_cut = agents.records.names_for(agent_id, session)
    _warn(ctx, agents, is_known=bool(found))
    names = list(dict.fromkeys([*(name for names in found for name in names), *payload_names]))
    is_certain = is_own and (session != ANONYMOUS or agents.is_sure)
    is_known = bool(payload_names) or (is_certain and all(found))
    return Identity(agent_id, names, is_unknown=is_cut or not is_known)


def agent_of(catalog: Catalog, name: str) -> dict[str, Any] | None:
    """Return the catalog's agent with this name, None without one. The name may have a plugin prefix or capital
    letters, as in some harnesses.
    """
    known = catalog.agents.get(name) or catalog.agents.get(name.rpartition(":")[2].strip().lower())
    return known or catalog.unlisted_agent(name)


def unknown_denial(barred: list[str], tool: str, identity: Identity) -> str:
    """Return the reason and the next step for denying an unknown agent a tool that the agents `barred` may not use."""
    names = join_first(barred, _LISTED, quoted_name)
    return (
        f"{identity.unknown_text()}, and {names} may not use {quote(tool, _SHOWN)}. End "
        "here, and tell the lead: an agent is known after a subagent_spawn event, or if each event has its agent_name."
    )


def name_reader(ctx: EventContext, params: dict[str, Any]) -> str:
    """Return the name of the agent that has read a note, else its id, else "main" for the main session."""
    return next(iter(identify(ctx, params).names), params.get("agent_id", MAIN))


def touch(ctx: EventContext, session: str) -> None:
    """Record that the session is active, at most once an hour. Never raise."""
    agents = _agents(ctx, is_quiet=True)
    if agents is not None:
        _touch(ctx, session, agents.records)


def _touch(ctx: EventContext, session: str, records: Records) -> None:
    from nexus_mcp.store import agents as store_agents

    store_agents.touch(ctx.store, ctx.harness_id, session, records)


def _agents(ctx: EventContext, *, is_quiet: bool = False) -> Agents | None:
    from nexus_mcp.store.agents import read

    try:
        ctx.agents = read(ctx.store, ctx.harness_id)
    except NexusError as error:
        if not is_quiet:
            ctx.warn(f"The tracker entry of the agent could not be read: {error.fault}. {error.next_step}".rstrip())
        return None
    return ctx.agents


def _warn(ctx: EventContext, agents: Agents, *, is_known: bool) -> None:
    for fault, file in ((agents.fault, "The tracker"), (agents.extension_fault, "The extension file of the tracker")):
        if fault is not None:
            head = f"{file} is incomplete" if is_known else "The tracker entry of the agent could not be read"
            ctx.warn(f"{head}: {fault.fault}. {fault.next_step}".rstrip())
