"""The tool `hook` of `serve --hook-tool`: a harness calls it as a hook, which is faster than a process for each event.

It is no tool of the contract, and not in TOOLS. A model may see the tool and call it. So the tool takes only events
that give a model no advantage when the model forges them. A forged user message, or a forged start of an agent, would
give one. Payloads and answers have the neutral form (docs/lifecycle.md), or the native form of Claude Code and Codex,
which use the same names. The fields of a native payload may also be separate arguments, because harnesses insert their
values only into arguments, not into the fields of an argument such as `payload`.
"""

from __future__ import annotations

from nexus_mcp.errors import InvalidArguments, NexusError
from nexus_mcp.harness import dialect
from nexus_mcp.workspace import Workspace, check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

NAME = "hook"
NATIVE = {
    "pre_tool_use": ("PreToolUse",),
    "post_tool_use": ("PostToolUse", "PostToolUseFailure"),
    "turn_end": ("Stop",),
}
"""The events, each with its names in Claude Code and Codex."""
FIELDS = ("hook_event_name", *dialect.NAMES, "is_interrupt", "stop_hook_active", "last_assistant_message")
"""Fields of a native payload that may be arguments."""
_BEFORE = "pre_tool_use"
_TOO_LARGE = "The input is larger than the server reads."
_FLAGS = {"true": True, "false": False}
_GATE = "gate"
_FAILED = "error"


def definition(prefix: str) -> Json:
    """Return the tool as `tools/list` shows it."""
    return {
        "name": prefix + NAME,
        "description": "Only for hooks of the harness; of no use to a model.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "event": {"type": "string", "enum": list(NATIVE)},
                "harness": {"type": "string"},
                _GATE: {"type": "string"},
                "payload": {"anyOf": [{"type": "object"}, {"type": "string"}]},
                **{name: {} for name in FIELDS},
            },
            "additionalProperties": False,
            "required": ["event"],
        },
        "annotations": {
            "title": "Answer a hook",
            "readOnlyHint": False,
            "destructiveHint": False,
            "openWorldHint": False,
        },
    }


def too_large(name: str, head: bytes) -> Json | None:
    """Return substitute arguments if `head` is the start of a pre_tool_use call that is too long to be read, else None.

    A text in a model's input cannot pass for the fields `name` and `event`: each quotation mark in a text is escaped.
    """
    plain = head.translate(None, b" \t\r\n")
    event = _BEFORE.encode()
    if b'"name":"%b"' % name.encode() in plain and b'"event":"%b"' % event in plain:
        return {"event": _BEFORE, "payload": _TOO_LARGE}
    return None


def answer(workspace: Workspace, arguments: Json) -> Json:
    """Return the answer to an event in the form of its payload; {} for a native event without a decision or text.

    A payload that is no JSON object gets an answer in the native form. A malformed payload of pre_tool_use is answered
    as by the command `hook`: restrictions still apply. Raise NexusError for an unknown event, gate or argument, and for
    an invalid harness id.
    """
    event, own = _check_arguments(workspace, arguments)
    from nexus_mcp.lifecycle.guard import answer_event, answer_failure
    from nexus_mcp.lifecycle.host import BLOCK, Host

    host = Host(arguments.get(_GATE, BLOCK), **dialect.host_fields(own.harness_id))
    fields = {name: arguments[name] for name in FIELDS if name in arguments}
    payload = fields or _object(arguments.get("payload"))
    native = payload.get(dialect.EVENT_NAME) if payload else None
    if fields and not native:
        native = NATIVE[event][0]
    if payload is not None and native is None:
        return answer_event(event, payload, own, Host(arguments.get(_GATE, BLOCK)))
    if payload is None:
        problem = _TOO_LARGE if arguments.get("payload") == _TOO_LARGE else "The payload is no JSON object."
        found = answer_failure(event, problem, own, None, is_whole=False, host=host)
        return dialect.render(NATIVE[event][0], found)
    _clean(payload)
    if native not in NATIVE[event]:
        params = {ours: payload[theirs] for theirs, ours in dialect.NAMES.items() if theirs in payload}
        problem = "The payload belongs to another event."
        found = answer_failure(event, problem, own, params, is_whole=False, host=host)
        return dialect.render(NATIVE[event][0], found)
    return dialect.render(native, answer_event(event, dialect.EVENTS[native][1](payload), own, host))


def _check_arguments(workspace: Workspace, arguments: Json) -> tuple[str, Workspace]:
    """Return (the event, the workspace of the harness). Raise InvalidArguments, UsageError."""
    from nexus_mcp.lifecycle.host import BLOCK, GATES

    unknown = [name for name in arguments if name not in ("event", "harness", "payload", _GATE, *FIELDS)]
    event, harness = arguments.get("event"), arguments.get("harness") or workspace.harness_id
    if unknown or not isinstance(event, str) or event not in NATIVE or arguments.get(_GATE, BLOCK) not in GATES:
        takes = (
            f"event (one of {', '.join(NATIVE)}), harness, gate (one of {', '.join(GATES)}), and payload or its fields"
        )
        raise InvalidArguments([f"The tool takes {takes}, nothing else"])
    return event, workspace.of_harness(check_harness_id(harness if isinstance(harness, str) else ""))


def _object(value: object) -> Json | None:
    """Return a payload that came as an object or as its JSON text; None for anything else."""
    if isinstance(value, str):
        from nexus_mcp.store.codec import decode

        try:
            value = decode(value.encode("utf-8", "replace"), "payload") if value.strip() else None
        except NexusError:
            return None
    return value if isinstance(value, dict) else None


def _clean(payload: Json) -> None:
    """Drop null and "", which harnesses send for absent fields. Parse flags and an input that came as texts. If the
    payload has an `error` and no response, add a response that says so.
    """
    for name in [name for name, value in payload.items() if value in (None, "")]:
        del payload[name]
    for name in ("is_interrupt", "stop_hook_active"):
        if name in payload:
            payload[name] = _FLAGS.get(str(payload[name]).lower(), payload[name])
    if isinstance(payload.get("tool_input"), str):
        payload["tool_input"] = _object(payload["tool_input"]) or payload["tool_input"]
    if payload.get(_FAILED):
        payload.setdefault("tool_response", {"isError": True})
