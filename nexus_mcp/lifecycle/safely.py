"""An event for a hook: whatever goes wrong, the session goes on and is told, and a line is left in a log."""

from __future__ import annotations

import time

from nexus_mcp.errors import InvalidArguments, NexusError
from nexus_mcp.lifecycle import deadline
from nexus_mcp.lifecycle.definition import CONTINUE, DENY
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

DECIDING = "pre_tool_use"
"""The event whose answer keeps a tool from running."""
MEND = "Mend the hook that tells of it, then all goes on as usual."


def answered(name: str, params: object, workspace: Workspace) -> dict[str, Any]:
    """The answer to an event; to one that could not be carried out too: a warning says why.

    Its decision is "continue" then, but for what an agent may not do whatever the rest of the params is (unsure.py).
    """
    ctx: EventContext | None = None
    try:
        from nexus_mcp.lifecycle.handle import begun

        event, ctx, given = begun(name, params, workspace)
        deadline.note(ctx)
        return ctx.answer(name, event.run(ctx, given))
    except Exception as error:  # noqa: BLE001 - a fault of ours is no reason to stop somebody's work
        answer = failed(name, fault_of(error), workspace, params)
    if ctx is None or name == DECIDING:
        return answer
    ctx.warnings[:] = dict.fromkeys([*answer["warnings"], *ctx.warnings])
    return ctx.answer(name, {})  # what it came to before it failed is good


def failed(
    name: str, fault: str, workspace: Workspace | None, params: object = None, *, is_whole: bool = True
) -> dict[str, Any]:
    """The answer to an event of which nothing could be made. Without a workspace there is no place for a line.

    `params` is what is known of them all the same; `is_whole` says that there are no others.
    """
    own = None if workspace is None else _own(workspace, params)
    if own is not None:
        from nexus_mcp.state.times import stamp
        from nexus_mcp.store import error_log

        error_log.note(own, stamp(time.time()), name, fault)
    from nexus_mcp.quoting import inert

    answer: dict[str, Any] = {
        "event": name,
        "harness_id": DEFAULT_HARNESS_ID if own is None else own.harness_id,
        "decision": CONTINUE,
        "warnings": [inert(f"The event {name} could not be dealt with: {fault}")],
    }
    if name != DECIDING:
        return answer
    if not isinstance(params, dict):  # any agent may have sent it
        params, is_whole = {}, False
    if own is not None:
        try:
            return _decided(answer, own, params, is_whole=is_whole)
        except Exception as error:  # noqa: BLE001 - as above
            answer["warnings"].append(inert(fault_of(error)))
    if is_whole and not any(params.get(name) for name in ("agent_id", "agent_name")):
        return answer
    # Not even the restrictions can be read: whoever may have one is denied.
    return {**answer, "decision": DENY, "reason": f"What an agent may not do cannot be read now. {deadline.AGAIN}"}


def _decided(answer: dict[str, Any], own: Workspace, params: dict[str, Any], *, is_whole: bool) -> dict[str, Any]:
    from nexus_mcp.lifecycle import unsure
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.store.store import Store

    ctx = EventContext(own, Store(own, wait=0.0))
    unsure.decide(ctx, params, is_whole=is_whole)
    told = {"decision": ctx.decision, **({"reason": ctx.reason} if ctx.reason else {})}
    warnings = dict.fromkeys([*answer.pop("warnings"), *ctx.warnings])
    return {**answer, **told, "warnings": list(warnings)}


def fault_of(error: Exception) -> str:
    """What went wrong in words that have nothing of what the params held."""
    if isinstance(error, InvalidArguments):
        return f"{error}. {MEND}"
    if isinstance(error, NexusError):
        return str(error)
    # The text of any other exception may quote what it choked on.
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" ({_module(at.tb_frame.f_code.co_filename)}, line {at.tb_lineno})"
    return f"nexus-mcp has a fault of its own: {type(error).__name__}{where}. Please report it."


def _module(path: str) -> str:
    return "/".join(path.replace("\\", "/").rsplit("/", 2)[-2:])


def _own(workspace: Workspace, params: object) -> Workspace:
    """The workspace for the harness that the params tell, where that much can be made of them."""
    told = params.get("harness_id") if isinstance(params, dict) else None
    from nexus_mcp.lifecycle.handle import harness_of

    try:
        return Workspace(workspace.root, harness_of(told, workspace))
    except InvalidArguments:
        return workspace
