"""Run an event for a hook: whatever fails, the session continues, with a warning and a line in the log of failures."""

from __future__ import annotations

import os
import time

from nexus_mcp.errors import InvalidArguments, NexusError, UsageError
from nexus_mcp.lifecycle import EVENTS, deadline
from nexus_mcp.lifecycle.definition import (
    CONTINUE,
    DECIDING,
    DENY,
    HARNESS_ID,
    MEND,
    UNREADABLE,
    EventContext,
    check_params,
    failure_text,
    own_fault,
)
from nexus_mcp.lifecycle.host import NEUTRAL
from nexus_mcp.lifecycle.settings import limit_of
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, LIMIT_VARIABLE, TAKEN, Workspace, check_harness_id

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.lifecycle.definition import Event
    from nexus_mcp.lifecycle.host import Host

WAIT_SECONDS = 2.0
"""Seconds that one event may wait for the lock and git in total; some harnesses kill a hook after 3 s."""


def begin(
    name: str,
    params: object,
    workspace: Workspace,
    now: Callable[[], float] | None = None,
    wait: float = WAIT_SECONDS,
    *,
    host: Host = NEUTRAL,
) -> tuple[Event, EventContext, dict[str, Any]]:
    """Return (the event, its context, its checked params). The waiting time of `wait` seconds starts now.

    Raise InvalidArguments.
    """
    event = EVENTS[name].load()
    values = check_params(event, params)
    own = workspace.of_harness(harness_of(values.pop(HARNESS_ID, None), workspace))
    return event, EventContext(own, Store(own, now, wait, in_all=True), host), values


def harness_of(value: object, workspace: Workspace) -> str:
    """Return the harness id in the params, else that of the workspace. Raise InvalidArguments."""
    if value is None:
        return workspace.harness_id
    try:
        return check_harness_id(value if isinstance(value, str) else "")
    except UsageError as error:
        # The text of the error is not logged, because it quotes the value.
        taken = ", ".join(TAKEN)
        problem = f"harness_id is not usable: it must start with a-z, go on with a-z, 0-9 and -, and be none of {taken}"
        raise InvalidArguments([problem]) from error


def answer_event(name: str, params: object, workspace: Workspace, host: Host = NEUTRAL) -> dict[str, Any]:
    """Run an event and return its answer; after an error an answer with a warning. Never raise.

    After an error an event keeps the decision that it has made so far, by default "continue". For pre_tool_use the
    decision is "continue", except for tools that are or may be forbidden (malformed_payload.py).
    """
    ctx: EventContext | None = None
    try:
        event, ctx, values = begin(name, params, workspace, host=host)
        deadline.note(ctx)
        members = event.run(ctx, values)
        ctx.limit = limit_of(ctx)
        return ctx.answer(name, members)
    except Exception as error:  # noqa: BLE001 - an error of ours must not stop the work
        is_valid = ctx is not None
        result = answer_failure(name, fault_of(error), workspace, params, is_valid=is_valid, host=host)
    if ctx is None or name == DECIDING:
        return result
    ctx.warnings[:] = dict.fromkeys([*result["warnings"], *ctx.warnings])
    return ctx.answer(name, {})  # the results before the error are valid


def answer_failure(
    name: str,
    fault: str,
    workspace: Workspace | None,
    params: object = None,
    *,
    is_whole: bool = True,
    is_valid: bool = False,
    host: Host = NEUTRAL,
) -> dict[str, Any]:
    """Log the failure of an event and return its answer. Without a workspace nothing is logged.

    `params` has the readable params; `is_whole` says that none is missing, `is_valid` that the payload is well-formed.
    """
    own = None if workspace is None else _own(workspace, params)
    if own is not None:
        from nexus_mcp.state.times import stamp
        from nexus_mcp.store import harness_files

        harness_files.log_hook_error(own, stamp(time.time()), name, fault)
    from nexus_mcp.quoting import inert

    answer: dict[str, Any] = {
        "event": name,
        "harness_id": DEFAULT_HARNESS_ID if own is None else own.harness_id,
        "decision": CONTINUE,
        "warnings": [inert(failure_text(name, fault))],
    }
    if name != DECIDING:
        return answer
    if not isinstance(params, dict):  # the sender may be any agent
        params, is_whole = {}, False
    if own is not None:
        try:
            return _decide(answer, own, params, host, is_whole=is_whole, is_valid=is_valid)
        except Exception as error:  # noqa: BLE001 - as above
            answer["warnings"].append(inert(fault_of(error)))
    is_agent = any(params.get(name) for name in ("agent_id", "agent_name")) or bool(os.environ.get(LIMIT_VARIABLE))
    if is_whole and not is_agent:
        return answer
    # The restrictions cannot be read: every caller that may have one is denied.
    return {**answer, "decision": DENY, "reason": UNREADABLE}


def _decide(
    answer: dict[str, Any],
    own: Workspace,
    params: dict[str, Any],
    host: Host,
    *,
    is_whole: bool,
    is_valid: bool,
) -> dict[str, Any]:
    from nexus_mcp.lifecycle import malformed_payload

    ctx = EventContext(own, Store(own, wait=0.0), host)
    malformed_payload.decide(ctx, params, is_whole=is_whole, is_valid=is_valid)
    decision = {"decision": ctx.decision, **({"reason": ctx.reason} if ctx.reason else {})}
    warnings = dict.fromkeys([*answer.pop("warnings"), *ctx.warnings])
    return {**answer, **decision, "warnings": list(warnings)}


def fault_of(error: Exception) -> str:
    """Return the text of an error, without values of the params."""
    if isinstance(error, InvalidArguments):
        return f"{error}. {MEND}"
    if isinstance(error, NexusError):
        return str(error)
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" ({_module(at.tb_frame.f_code.co_filename)}, line {at.tb_lineno})"
    return own_fault(error, where)


def _module(path: str) -> str:
    return "/".join(path.replace("\\", "/").rsplit("/", 2)[-2:])


def _own(workspace: Workspace, params: object) -> Workspace:
    """Return the workspace for the harness in the params, else `workspace`."""
    harness_id = params.get("harness_id") if isinstance(params, dict) else None
    try:
        return workspace.of_harness(harness_of(harness_id, workspace))
    except InvalidArguments:
        return workspace
