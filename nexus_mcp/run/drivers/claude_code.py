"""Claude Code as a driver: `claude -p` with stream-json output."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from nexus_mcp.run.drivers.definition import (
    Command,
    Output,
    Probe,
    SessionRequest,
    count,
    json_object,
    part,
    probe_program,
    why_failed,
)

_EDITING = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_NOT_LOGGED_IN = ("invalid api key", "please run /login", "not logged in", "oauth token", "authentication_error")
_LIMITED = ("usage limit reached", "rate_limit_error", "credit balance is too low")


class ClaudeCode:
    """The driver of Claude Code. A resumed session gets role and restrictions again: it does not keep them."""

    id = "claude-code"
    format: Literal["jsonl", "text"] = "jsonl"
    can_resume = True

    def probe(self) -> Probe:
        return probe_program("claude", has_cost=True)

    def command(self, request: SessionRequest) -> Command:
        files: dict[str, str] = {}
        words = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
        words += ["--resume", request.resume] if request.resume else ["--session-id", request.session]
        words += ["--append-system-prompt", request.role_text] if request.role_text else []
        words += ["--model", request.model] if request.model else []
        mode = (
            "bypassPermissions"
            if request.unsafe
            else "plan"
            if request.read_only and not request.serve
            else "acceptEdits"
        )
        words += ["--permission-mode", mode]
        if request.forbidden:
            words += ["--disallowedTools", ",".join(request.forbidden)]
        if request.serve:
            path = os.path.join(request.scratch, "mcp.json")
            first, *rest = request.serve
            files[path] = json.dumps({"mcpServers": {"nexus": {"type": "stdio", "command": first, "args": rest}}})
            words += ["--mcp-config", path, "--strict-mcp-config", "--allowedTools", "mcp__nexus"]
        if request.hook:
            path = os.path.join(request.scratch, "settings.json")
            files[path] = json.dumps({"hooks": _hooks(request.hook)})
            words += ["--settings", path]
        words += ["--json-schema", json.dumps(request.schema)] if request.schema else []
        words += ["--max-budget-usd", f"{request.max_cost_usd:.4f}"] if request.max_cost_usd else []
        return Command(tuple(words), request.prompt.encode(), request.environ, files)

    def outputs(self, line: bytes) -> Iterable[Output]:
        return tuple(_outputs(json_object(line)))

    def failure(self, code: int | None, stderr: str) -> Literal["environment", "limit"] | None:
        return why_failed(code, stderr, not_logged_in=_NOT_LOGGED_IN, limited=_LIMITED)


def _hooks(words: tuple[str, ...]) -> dict[str, Any]:
    import shlex

    hook = {"type": "command", "command": shlex.join(words), "timeout": 10}
    events = ("SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop")
    return {event: [{"hooks": [hook]}] for event in events}


def _outputs(value: dict[str, Any]) -> Iterator[Output]:
    kind = value.get("type")
    if kind == "system" and value.get("subtype") == "init" and isinstance(value.get("session_id"), str):
        yield Output("session", value["session_id"])
    elif kind in ("assistant", "user"):
        content = part(value, "message").get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                yield from _block(block)
    elif kind == "result":
        number = part(value, "usage")
        cost = value.get("total_cost_usd")
        yield Output(
            "usage",
            input=count(number.get("input_tokens")),
            output=count(number.get("output_tokens")),
            cost_usd=float(cost) if isinstance(cost, int | float) else None,
        )
        text = value.get("result")
        structured = value.get("structured_output")
        yield Output(
            "result", json.dumps(structured) if structured is not None else text if isinstance(text, str) else ""
        )
        yield Output("error", str(text)[:2000]) if value.get("is_error") else Output("done")


def _block(block: dict[str, Any]) -> Iterator[Output]:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        yield Output("text", block["text"])
    elif kind == "tool_use" and isinstance(block.get("name"), str):
        tool_input = part(block, "input")
        path = tool_input.get("file_path") or tool_input.get("notebook_path")
        name = block["name"]
        file = path if isinstance(path, str) else ""
        yield Output("tool_start", name, file=file, is_edit=name in _EDITING, call=str(block.get("id") or ""))
    elif kind == "tool_result":
        call, failed = str(block.get("tool_use_id") or ""), block.get("is_error") is True
        yield Output("tool_end", call=call, failed=failed)


DRIVER = ClaudeCode()
