"""Translate hook payloads of Claude Code and Codex into our events, and our answers into the form of these harnesses.

Both harnesses send one JSON object with `hook_event_name`. Codex drops an answer that has an unknown field, even a
denial. So an answer has only the fields that both accept for the event. The decision `allow` is never printed: it would
override the user's rules that ask for permission.
"""

from __future__ import annotations

import re

from nexus_mcp.lifecycle.definition import BLOCK, DENY, is_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Payload = Mapping[str, Any]
    Params = dict[str, Any]

EVENT_NAME = "hook_event_name"
LIMIT = 9000
"""Limit of a context in characters. Claude Code and Codex shorten a context of more than 10 000."""
NAMES = {
    "tool_name": "tool",
    "tool_input": "tool_input",
    "agent_id": "agent_id",
    "agent_type": "agent_name",
    "session_id": "session_id",
}
"""The harnesses' names of the fields on which the decision about a tool depends → our names."""
DECIDING = "PreToolUse"
_HIDING = "codex"
"""The harness that has no event when an agent is resumed: after a follow-up message Codex reports only the agent's end.
"""
_STOPPING = "Stop"
_GIVING = ("SessionStart", "UserPromptSubmit", DECIDING, "PostToolUse", "PostToolUseFailure", "SubagentStart")
"""Events whose additionalContext reaches a model."""
_SILENT = ("SessionEnd", "PreCompact", "PostCompact")
"""Events for which nothing is printed: the harness drops the answer, or expects it in another form."""
# Reports and notices of the harnesses begin with an element whose name has a hyphen or an underscore, such as
# <system-reminder>, or with <tick>; a message from a channel begins with <channel>. Invisible characters before the
# element are ignored.
_NOTICE = r"[\s\ufeff\u200b-\u200f\u2060]*<(?:[a-z]+(?:[-_][a-z0-9]+)+|channel|tick)[\s>/]"
# The report of a subagent, anywhere in a message: the harness may put words before it.
_REPORT = r"<task[-_]notification\b"


def _session(payload: Payload) -> Params:
    return _take(payload, {"session_id": "session_id"})


def _start(payload: Payload) -> Params:
    return _session(payload) | _take(payload, {"source": "source"})


def _message(payload: Payload) -> Params:
    return _session(payload) | _take(payload, {"prompt": "prompt"}) | {"origin": origin_of(payload)}


def _before(payload: Payload) -> Params:
    return _take(payload, NAMES)


def _after(payload: Payload) -> Params:
    response = payload.get("tool_response")
    is_error = isinstance(response, dict) and bool(response.get("isError") or response.get("is_error"))
    return _take(payload, NAMES) | {"status": "error" if is_error else "ok"}


def _tool_failure(payload: Payload) -> Params:
    return _take(payload, NAMES) | {"status": "interrupted" if payload.get("is_interrupt") is True else "error"}


def _agent_start(payload: Payload) -> Params:
    return {"agent_name": "", **_take(payload, NAMES)}


def _agent_stop(payload: Payload) -> Params | None:
    if payload.get("agent_type") == "":  # a harness reports a compaction as the end of a subagent without a type
        return None
    return _take(payload, {**NAMES, "last_assistant_message": "last_message"})


def _turn(payload: Payload) -> Params:
    names = {"stop_hook_active": "stop_hook_active", "last_assistant_message": "last_message"}
    return _session(payload) | _take(payload, names)


def _nothing(_payload: Payload) -> Params | None:
    return None


EVENTS: dict[str, tuple[str, Callable[[Payload], Params | None]]] = {
    "SessionStart": ("session_start", _start),
    "UserPromptSubmit": ("user_message", _message),
    DECIDING: ("pre_tool_use", _before),
    "PostToolUse": ("post_tool_use", _after),
    "PostToolUseFailure": ("post_tool_use", _tool_failure),
    "SubagentStart": ("subagent_spawn", _agent_start),
    "SubagentStop": ("subagent_complete", _agent_stop),
    _STOPPING: ("turn_end", _turn),
    # A context printed for these events would reach only the summary, not the model, but would count as sent.
    # SessionStart with "compact" sends the context.
    "PreCompact": ("context_compact", _nothing),
    "PostCompact": ("context_compact", _nothing),
    "SessionEnd": ("session_end", _session),
}
"""Event of the harnesses → (our event, a function that returns our params, or None if the event needs no action)."""
OTHERS = frozenset(
    {
        *("UserPromptExpansion", "PermissionRequest", "PostToolBatch", "TaskCreated", "TaskCompleted"),
        *("InstructionsLoaded", "Setup", "Notification", "StopFailure", "PermissionDenied", "PreModelSwitch"),
        *("PostModelSwitch", "TeammateIdle", "Elicitation", "ElicitationResult", "ConfigChange", "WorktreeCreate"),
        *("WorktreeRemove", "CwdChanged", "FileChanged", "DirectoryAdded", "MessageDisplay", "Interrupt"),
    }
)
"""Events of these harnesses that we ignore without a warning."""


def host_fields(harness: str) -> dict[str, Any]:
    """Return the fields of a Host that are equal for all hooks of the harness."""
    return {"limit": LIMIT, "is_deaf": True, "hides_resumes": harness == _HIDING}


def origin_of(payload: Payload) -> str:
    """Return the origin of a message: agent, system or user.

    Claude Code sends a subagent's report, and Codex a subagent's task, as a message of the session.
    """
    if payload.get("agent_id"):
        return "agent"
    prompt = payload.get("prompt")
    text = prompt if isinstance(prompt, str) and "<" in prompt else ""
    if text and re.search(_REPORT, text, re.IGNORECASE):
        return "agent"
    if text and re.match(_NOTICE, text, re.IGNORECASE):
        return "system"
    return "user" if payload.get("source", "user") == "user" else "system"


def render(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return our answer to the harness's `event` in the form of the harness; {} to print nothing."""
    if event in _SILENT:
        return {}
    if answer["decision"] in (DENY, BLOCK):
        if event == _STOPPING:
            return {"decision": "block", "reason": answer["reason"]}
        if event == DECIDING:
            return denial(refusal_of(answer))
    failures = [text for text in answer["warnings"] if is_failure(text)]
    found: dict[str, Any] = {"systemMessage": "\n".join(failures)[:LIMIT]} if failures else {}
    text = text_of({**answer, "warnings": [text for text in answer["warnings"] if text not in failures]}, LIMIT)
    if text and event in _GIVING:
        found["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    return found


def refusal_of(answer: Mapping[str, Any]) -> str:
    """Return the reason of a refusal together with the warnings, which may explain why a rule is stricter than
    expected.
    """
    return "\n\n".join([answer["reason"], *(f"Warning: {text}" for text in answer["warnings"])])[:LIMIT]


def denial(reason: str) -> dict[str, Any]:
    """Return the refusal of a tool in the form of the harness."""
    fields = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": DECIDING, **fields}}


def text_of(answer: Mapping[str, Any], limit: int) -> str:
    """Return warnings and context as one text for the model, about `limit` characters at most.

    The caller ensures that the context fits. Warnings fill the remaining room; the text says how many were left out.
    """
    context = answer.get("context", "")
    lines: list[str] = []
    left = limit - len(context) - 60
    warnings = answer["warnings"]
    for text in warnings:
        line = f"Warning: {text}"
        if len(line) + 2 > left:
            more = len(warnings) - len(lines)
            lines.append(f"({more} more warning{'s are' if more > 1 else ' is'} left out here.)")
            break
        lines.append(line)
        left -= len(line) + 2
    return "\n\n".join([*lines, *filter(None, [context])])


def _take(payload: Payload, names: Mapping[str, str]) -> Params:
    return {ours: payload[theirs] for theirs, ours in names.items() if payload.get(theirs) is not None}
