"""pre_tool_use where the payload cannot be used: what an agent may not do stays so, whatever it put into the input."""

from __future__ import annotations

from nexus_mcp.catalog.capabilities import effective, refused
from nexus_mcp.lifecycle.agent_identity import identify
from nexus_mcp.lifecycle.definition import BLOCK, CONTINUE, DENY
from nexus_mcp.lifecycle.known import catalog_of
from nexus_mcp.lifecycle.pre_tool_use import decide as decide_on
from nexus_mcp.quoting import quoted, quoted_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

NAMES = ("harness_id", "tool", "agent_id", "agent_name", "session_id", "tool_input", "file")
_WHO = ("agent_id", "agent_name")
_SHOWN, _NAMED = 200, 3


def decide(ctx: EventContext, told: Mapping[str, object], *, is_whole: bool) -> None:
    """Deny or block as far as what is told of the tool, its input and the agent goes.

    `told` is of NAMES, whatever the values are; `is_whole` says that the payload has no more of them. An agent that
    cannot be told from it may be any, so what any may not use is denied; an input that cannot be read may name any
    file.
    """
    catalog = catalog_of(ctx)
    known = {name: text for name in (*_WHO, "session_id") if (text := _word(told.get(name)))}
    identity = identify(ctx, dict(known))
    tool = _word(told.get("tool"))
    if tool:
        if not identity.names and not (is_whole and _is_told(told)):
            _deny_if_any(ctx, catalog, tool)
        if ctx.decision != DENY:
            file = _word(told.get("file"))
            given = {"tool": tool, "tool_input": told.get("tool_input"), "file": file, **known}
            may_be_agent = not is_whole or any(told.get(one) is not None for one in _WHO)
            is_lost = not is_whole or bool(file) or told.get("tool_input") is not None
            decide_on(ctx, given, may_be_agent=may_be_agent, is_input_lost=is_lost)
    else:
        is_known = bool(identity.names) or identity.is_unknown or (is_whole and _is_told(told))
        agents = identity.agents(catalog) if is_known else list(catalog.agents.values())
        _deny_if_limited(ctx, catalog, agents, is_one=len(identity.names) == 1)
    if ctx.decision not in (DENY, BLOCK):  # no more than that is certain
        ctx.decide(CONTINUE)


def _deny_if_any(ctx: EventContext, catalog: Catalog, tool: str) -> None:
    barred = refused(catalog, tool, ctx.harness_id)
    if barred:
        names = ", ".join(map(quoted_name, barred[:_NAMED]))
        more = f" and {len(barred) - _NAMED} more" if len(barred) > _NAMED else ""
        ctx.decide(
            DENY,
            f"Which agent wants to use {quoted(tool, _SHOWN)} cannot be told, and {names}{more} may not. "
            "Use it again with a smaller and plainer input.",
        )


def _deny_if_limited(ctx: EventContext, catalog: Catalog, agents: list[dict[str, Any]], *, is_one: bool) -> None:
    """Deny when one of the agents, of which each may be the one, may not use every tool."""
    limited = [agent["id"] for agent in agents if effective(agent)]
    if limited and (ctx.harness_id in catalog.maps or catalog.lost_map(ctx.harness_id)):
        told = (
            f"Which tool {quoted_name(limited[0])} wants to use cannot be told, and it may not use all of them."
            if is_one
            else "The payload names neither the tool nor the agent, and some agents may not use every tool."
        )
        ctx.decide(DENY, f"{told} Use it again with a smaller and plainer input.")


def _is_told(told: Mapping[str, object]) -> bool:
    """Whether what is told of the agent can be used, or nothing is: then it is the session itself."""
    return all(told.get(name) is None or isinstance(told[name], str) for name in _WHO)


def _word(value: object) -> str:
    """A text that is more than blanks; "" for anything else."""
    return value if isinstance(value, str) and value.strip() else ""
