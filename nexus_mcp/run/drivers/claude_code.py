"""Claude Code as a driver: `claude -p` with stream-json output."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from nexus_mcp.run.drivers.definition import (
    Command,
    Failure,
    Figure,
    Login,
    Output,
    Probe,
    SessionRequest,
    answer_of,
    count,
    json_object,
    part,
    probe_program,
    text_of,
    why_failed,
)

_EDITING = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_NOT_LOGGED_IN = ("invalid api key", "please run /login", "not logged in", "oauth token", "authentication_error")
_LIMITED = ("usage limit reached", "rate_limit_error", "credit balance is too low", "error_max_budget_usd")
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ClaudeCode:
    """The driver of Claude Code. A resumed session gets the text of the agent and its restrictions again:
    Claude Code does not keep them.
    """

    id = "claude-code"
    format: Literal["jsonl", "text"] = "jsonl"
    can_resume = True
    tells_tools = True
    totals: frozenset[Figure] = frozenset(("cost",))
    login_command = "claude auth login"

    def probe(self) -> Probe:
        return probe_program("claude", has_cost=True)

    def login(self, path: str) -> Login:
        try:
            _, out = answer_of(path, "auth", "status", "--json")
        except (OSError, subprocess.TimeoutExpired):
            return Login()
        status = json_object(out[out.find("{") : out.rfind("}") + 1].encode())
        found = status.get("loggedIn")
        if not isinstance(found, bool):
            return Login()  # an older version
        words = f"by {status.get('authMethod')}" if found else f"not logged in: type {self.login_command}"
        return Login(words, found=found)

    def command(self, request: SessionRequest) -> Command:
        files = dict(request.mount.files)
        words = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
        words += ["--resume", request.resume] if request.resume else ["--session-id", request.session]
        words += ["--append-system-prompt", request.role_text] if request.role_text else []
        words += ["--model", request.model] if request.model else []
        # A reviewer does not get the mode `plan`: the model would write a plan in place of the verdict.
        words += ["--permission-mode", "bypassPermissions" if request.unsafe else "acceptEdits"]
        forbidden = dict.fromkeys((*request.forbidden, *(_EDITING if request.read_only else ())))
        words += ["--disallowedTools", ",".join(forbidden)] if forbidden else []
        if request.mount.server:
            path = os.path.join(request.scratch, "mcp.json")
            files[path] = json.dumps(request.mount.server)
            names = [f"mcp__{name}" for name in request.mount.server["mcpServers"]]
            words += ["--mcp-config", path, "--strict-mcp-config", "--allowedTools", ",".join(names)]
        if request.mount.hooks:
            path = os.path.join(request.scratch, "settings.json")
            files[path] = json.dumps(request.mount.hooks)
            words += ["--settings", path]
        words += ["--json-schema", json.dumps(request.schema)] if request.schema else []
        words += ["--max-budget-usd", f"{request.max_cost_usd:.4f}"] if request.max_cost_usd else []
        return Command(tuple(words), request.prompt.encode(), request.environ, files)

    def outputs(self, line: bytes) -> Iterable[Output]:
        return tuple(_outputs(json_object(line)))

    def failure(self, code: int | None, stderr: str) -> Failure | None:
        return why_failed(code, stderr, not_logged_in=_NOT_LOGGED_IN, limited=_LIMITED)


def _outputs(value: dict[str, Any]) -> Iterator[Output]:
    kind = value.get("type")
    if kind == "system" and value.get("subtype") == "init" and isinstance(value.get("session_id"), str):
        yield Output("session", value["session_id"])
        yield Output("model", str(value.get("model") or ""))
    elif kind in ("assistant", "user"):
        content = part(value, "message").get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                yield from _block(block, kind)
    elif kind == "result":
        yield from _result(value)


def _result(value: dict[str, Any]) -> Iterator[Output]:
    number, cost = part(value, "usage"), value.get("total_cost_usd")
    yield Output(
        "usage",
        input=sum(count(number.get(name)) for name in _INPUT),
        output=count(number.get("output_tokens")),
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
    )
    text, structured = value.get("result"), value.get("structured_output")
    if structured is not None:
        text = json.dumps(structured)
    yield Output("result", text if isinstance(text, str) else "")
    if value.get("is_error"):
        reasons = [str(value.get("subtype")), text_of(text), text_of(value.get("errors"))]
        yield Output("error", "\n".join(filter(None, reasons)).removeprefix("success\n")[:2000])
    else:
        yield Output("done")


def _block(block: dict[str, Any], kind: str) -> Iterator[Output]:
    of = block.get("type")
    if of == "text" and kind == "assistant" and isinstance(block.get("text"), str):
        yield Output("text", block["text"])
    elif of == "tool_use" and isinstance(block.get("name"), str):
        arguments = part(block, "input")
        path = arguments.get("file_path") or arguments.get("notebook_path")
        name, line = block["name"], arguments.get("command")
        yield Output(
            "tool_start",
            name,
            file=path if isinstance(path, str) else "",
            command=line if isinstance(line, str) else "",
            is_edit=name in _EDITING,
            call=str(block.get("id") or ""),
            arguments=arguments,
        )
    elif of == "tool_result":
        call, failed = str(block.get("tool_use_id") or ""), block.get("is_error") is True
        yield Output("tool_end", text_of(block.get("content")), call=call, failed=failed)


DRIVER = ClaudeCode()
