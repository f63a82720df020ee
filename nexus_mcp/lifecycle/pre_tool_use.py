"""pre_tool_use: a tool is about to be used."""

from __future__ import annotations

from nexus_mcp.catalog.capabilities import allowed, effective, refused
from nexus_mcp.catalog.tool_files import edited, only_reads
from nexus_mcp.errors import NexusError, PathRefused
from nexus_mcp.lifecycle.agent_identity import identify, unknown_denial
from nexus_mcp.lifecycle.definition import ALLOW, BLOCK, DENY, Event, EventContext
from nexus_mcp.lifecycle.files import inside
from nexus_mcp.lifecycle.known import catalog_of, mending
from nexus_mcp.lifecycle.params import TEXT
from nexus_mcp.quoting import quoted
from nexus_mcp.store.transaction import TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.agent_identity import Identity

_CREATION = "nexus_task_creation"
_PATH = 200


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Reading is never in question. What the agent may not do is denied; editing without a task list is blocked.

    Of a harness without a capability map nothing is known by name, so that nothing is decided.
    """
    catalog = catalog_of(ctx)
    known, tool = catalog.maps.get(ctx.harness_id), params["tool"]
    if known is None and not catalog.lost_map(ctx.harness_id):
        return {}
    ctx.decide(ALLOW)
    if known is not None and only_reads(known, tool):
        return {}
    identity = identify(ctx, params)
    agents = identity.agents(catalog)
    if _is_denied(ctx, catalog, identity, agents, tool):
        return {}
    files = None if known is None else edited(known, tool, params.get("tool_input"))
    if files is None:
        return {}
    told = params.get("file")
    counted = _uncovered(ctx, catalog, [*files, *([told] if told else [])])
    if counted != "" and not _has_tasks(ctx):
        ctx.decide(BLOCK, _reason(catalog, agents, tool, counted))
    return {}


def _is_denied(
    ctx: EventContext, catalog: Catalog, identity: Identity, agents: list[dict[str, Any]], tool: str
) -> bool:
    """Deny the tool when one of the agents may not use it; whether that is so. Warns of an unknown agent else."""
    barring = frozenset(refused(catalog, tool, ctx.harness_id))
    barred = [agent for agent in agents if agent["id"] in barring]
    if barred and identity.is_unknown:
        ctx.decide(DENY, unknown_denial([agent["id"] for agent in barred], tool, identity))
    elif barred:
        reason = allowed(catalog, barred[0]["id"], tool, ctx.harness_id)[1]
        ctx.decide(DENY, f"{reason}{mending(barred[0])}")
    elif identity.is_unknown:
        ctx.warn(f"{identity.unknown_text()}, so it may do what every agent may do.")
    return bool(barred)


def _uncovered(ctx: EventContext, catalog: Catalog, files: list[str]) -> str | None:
    """The first of the files that needs a task; "" when none does, None when it is not known which they are."""
    if not files:
        return None
    exempt = tuple(catalog.vocabulary["task_exceptions"]["paths"])
    for file in files:
        found = inside(ctx.workspace.root, file)
        if found is None or not found.startswith(exempt):
            return file
    return ""


def _has_tasks(ctx: EventContext) -> bool:
    """Whether tasks.json is there. One that cannot be used is: nobody is kept from work by a trouble of ours."""
    try:
        with ctx.store.state() as state:
            return state is not None and state.check_plain(TASKS)
    except PathRefused:
        return True
    except NexusError as error:
        ctx.warn(f"Whether there are tasks is not known: {error}")
        return True


def _reason(catalog: Catalog, agents: list[dict[str, Any]], tool: str, file: str | None) -> str:
    what = f"change {quoted(file, _PATH)}" if file else "change files"
    head = f"There is no task list, and {quoted(tool, _PATH)} would {what}: files are edited for a task. "
    capabilities = catalog.vocabulary["capabilities"]
    if any(_CREATION in capabilities[name]["classes"] for agent in agents for name in effective(agent)):
        return head + (
            "You add no tasks yourself: end here, and tell whoever leads the work which task is missing, with title, "
            "context and acceptance. Files under .nexus/ need none."
        )
    return head + (
        "First add one with task_add, with title, context and acceptance, then use the tool again; where it is open "
        "what to do, begin with plan_start. Files under .nexus/ need none."
    )


EVENT = Event(
    required=("tool",),
    optional=("tool_input", "file", "agent_id", "agent_name", "session_id"),
    types={"agent_name": TEXT},  # whatever a harness calls its own agents: those are none of ours
    run=run,
)
