"""Resolve which agent an event is about: the tracker, what is kept beside it, and the payload.

A call without an agent's id and name is the main session's. An agent is known when the tracker has a name for its id in
this session, or the payload names it; a name that the catalog does not have counts, and restricts nothing. Where
several names may be meant, the restrictions of all of them hold. Any other agent is unknown, and whatever some agent of
the catalog may not do is denied to it: an entry that was lost must not open anything.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.definition import MAIN
from nexus_mcp.quoting import quoted, quoted_name
from nexus_mcp.state.agent_records import ANONYMOUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.state.agent_records import Records
    from nexus_mcp.state.tracker import Entry
    from nexus_mcp.store.agent_files import Agents

_SHOWN, _LISTED = 80, 3
_UNKNOWN = "unknown"


class Identity:
    """`names` are all names that the agent may have, that of the tracker first; [] for the main session.

    `is_unknown`: an agent that nobody names, so that it may be any.
    """

    __slots__ = ("agent_id", "is_unknown", "names")

    def __init__(self, agent_id: str, names: list[str], *, is_unknown: bool = False) -> None:
        self.agent_id = agent_id
        self.names = names
        self.is_unknown = is_unknown

    @property
    def is_main(self) -> bool:
        """Whether the main session is at work."""
        return not (self.names or self.is_unknown)

    def agents(self, catalog: Catalog) -> list[dict[str, Any]]:
        """Return the agents of the catalog whose restrictions hold, each once."""
        if self.is_unknown:
            catalog.unlisted(_UNKNOWN)  # where not all can be listed it may be one of the others
            return list(catalog.agents.values())
        found = {name: agent for name in self.names if (agent := agent_of(catalog, name)) is not None}
        return list({agent["id"]: agent for agent in found.values()}.values())

    def unknown_text(self) -> str:
        """Return what is told of an unknown agent: who it is, and how it becomes known."""
        return (
            f"Which agent {quoted(self.agent_id, _SHOWN)} is cannot be told: neither the tracker nor the event names it"
        )


def identify(ctx: EventContext, params: dict[str, Any]) -> Identity:
    """Return who uses a tool. Warns of a tracker that cannot be relied on. Notes that the session goes on."""
    told = [params["agent_name"]] if params.get("agent_name", "").strip() else []
    session = params.get("session_id", ANONYMOUS)
    if "agent_id" not in params:
        if session:
            touch(ctx, session)
        return Identity("", told)
    agent_id = params["agent_id"]
    agents = _agents(ctx)
    if agents is None:
        return Identity(agent_id, told, is_unknown=not told)
    _touch(ctx, session, agents.records)
    entries, is_own = _candidates(agents, agent_id, session)
    found = [agents.records.names_of(entry) for entry in entries]
    _warn(ctx, agents, is_known=bool(entries))
    names = list(dict.fromkeys([*(name for names in found for name in names), *told]))
    is_known = bool(told) or (is_own and all(found))
    is_cut = any(map(agents.records.has_too_many_names, entries))
    return Identity(agent_id, names, is_unknown=is_cut or not is_known)


def agent_of(catalog: Catalog, name: str) -> dict[str, Any] | None:
    """The agent of this name; also of one as a harness may show it: with a plug-in before it, or in capitals."""
    known = catalog.agents.get(name) or catalog.agents.get(name.rpartition(":")[2].strip().lower())
    return known or catalog.unlisted(name)


def unknown_denial(barred: list[str], tool: str, identity: Identity) -> str:
    """Return why a tool is denied to an unknown agent that these agents may not use, and what to do next."""
    more = f" and {len(barred) - _LISTED} more" if len(barred) > _LISTED else ""
    listed = ", ".join(map(quoted_name, barred[:_LISTED]))
    return (
        f"{identity.unknown_text()}, and {listed}{more} may not use {quoted(tool, _SHOWN)}. End "
        "here, and tell whoever leads the work: an agent is known once subagent_spawn tells of it, or when each event "
        "has its agent_name."
    )


def reader(ctx: EventContext, params: dict[str, Any]) -> str:
    """Who read a note: the agent's name, else its id, else "main" for the session itself."""
    return next(iter(identify(ctx, params).names), params.get("agent_id", MAIN))


def touch(ctx: EventContext, session: str) -> None:
    """Note that the session goes on, at most once an hour. Never raises."""
    agents = _agents(ctx, is_quiet=True)
    if agents is not None:
        _touch(ctx, session, agents.records)


def _touch(ctx: EventContext, session: str, records: Records) -> None:
    from nexus_mcp.store import agent_sessions

    agent_sessions.touch(ctx.store, ctx.harness_id, session, records)


def _agents(ctx: EventContext, *, is_quiet: bool = False) -> Agents | None:
    from nexus_mcp.store.agent_files import read

    try:
        return read(ctx.store, ctx.harness_id)
    except NexusError as error:
        if not is_quiet:
            ctx.warn(f"What the tracker says of the agent is not known: {error.fault}. {error.next_step}".rstrip())
        return None


def _candidates(agents: Agents, agent_id: str, session: str) -> tuple[list[Entry], bool]:
    """(the entries that may be meant, whether one of them is the session's own).

    The session's own agent is meant. Where it has none, those of other sessions add their restrictions; so they do
    where the event does not tell its session.
    """
    records = agents.records
    everyone = records.all(agent_id)
    own = [entry for entry in everyone if records.session_of(entry) == session]
    if session == ANONYMOUS:
        return everyone, bool(own) and agents.is_sure
    return own or everyone, bool(own)


def _warn(ctx: EventContext, agents: Agents, *, is_known: bool) -> None:
    for fault, file in ((agents.fault, "The tracker"), (agents.extension_fault, "What is kept beside the tracker")):
        if fault is not None:
            head = f"{file} is not whole" if is_known else "What the tracker says of the agent is not known"
            ctx.warn(f"{head}: {fault.fault}. {fault.next_step}".rstrip())
