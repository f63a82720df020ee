"""Codex as a driver: `codex exec --json`."""

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
    with_role,
)

_NOT_LOGGED_IN = ("not logged in", "401 unauthorized", "run codex login", "missing environment variable")
_LIMITED = ("usage limit", "rate limit", "quota exceeded")
_EDITS = ("file_change", "patch_apply")
_NAMES = {"file_change": "apply_patch", "patch_apply": "apply_patch", "command_execution": "Bash"}
"""Item of the output -> the tool's name in the capability map."""
_REFUSED = ("failed", "declined")


class Codex:
    """The driver of Codex. The role is the beginning of the prompt: Codex has no option for it."""

    id = "codex"
    format: Literal["jsonl", "text"] = "jsonl"
    can_resume = True

    def probe(self) -> Probe:
        return probe_program("codex")

    def command(self, request: SessionRequest) -> Command:
        files: dict[str, str] = {}
        last = os.path.join(request.scratch, "last_message.md")
        sandbox = "danger-full-access" if request.unsafe else "read-only" if request.read_only else "workspace-write"
        words = ["codex", "exec", "--json", "--skip-git-repo-check", "-C", request.folder, "-s", sandbox, "-o", last]
        words += ["-m", request.model] if request.model else []
        for key, value in _settings(request).items():
            words += ["-c", f"{key}={json.dumps(value)}"]
        if request.schema:
            path = os.path.join(request.scratch, "schema.json")
            files[path] = json.dumps(request.schema)
            words += ["--output-schema", path]
        words += ["resume", request.resume] if request.resume else []
        return Command((*words, "-"), with_role(request).encode(), request.environ, files)

    def outputs(self, line: bytes) -> Iterable[Output]:
        return tuple(_outputs(json_object(line)))

    def failure(self, code: int | None, stderr: str) -> Literal["environment", "limit"] | None:
        return why_failed(code, stderr, not_logged_in=_NOT_LOGGED_IN, limited=_LIMITED)


def _settings(request: SessionRequest) -> dict[str, Any]:
    if not request.serve:
        return {}
    first, *rest = request.serve
    return {
        "mcp_servers.nexus.command": first,
        "mcp_servers.nexus.args": rest,
        "mcp_servers.nexus.required": True,
        "mcp_servers.nexus.default_tools_approval_mode": "approve",
    }


def _outputs(value: dict[str, Any]) -> Iterator[Output]:
    kind, item = value.get("type"), value.get("item")
    if kind == "thread.started" and isinstance(value.get("thread_id"), str):
        yield Output("session", value["thread_id"])
    elif kind in ("item.started", "item.completed") and isinstance(item, dict):
        yield from _item(item, is_end=kind == "item.completed")
    elif kind == "turn.completed":
        number = part(value, "usage")
        yield Output("usage", input=count(number.get("input_tokens")), output=count(number.get("output_tokens")))
        yield Output("done")
    elif kind in ("turn.failed", "error"):
        error = value.get("error")
        text = error.get("message") if isinstance(error, dict) else value.get("message")
        yield Output("error", str(text)[:2000])


def _item(item: dict[str, Any], *, is_end: bool) -> Iterator[Output]:
    kind = item.get("type")
    if kind == "agent_message":
        if is_end and isinstance(item.get("text"), str):
            yield Output("text", item["text"])
            yield Output("result", item["text"])
    elif kind not in ("reasoning", "todo_list", "error"):
        call, failed = str(item.get("id") or ""), item.get("status") in _REFUSED
        tool = _NAMES.get(str(kind), "")
        if kind == "mcp_tool_call":
            tool = f"mcp__{item.get('server')}__{item.get('tool')}"
        if is_end:
            yield Output("tool_end", call=call, failed=failed)
        else:
            yield Output("tool_start", str(item.get("tool") or kind), is_edit=kind in _EDITS, tool=tool, call=call)
        if is_end and kind in _EDITS:
            yield Output("tool_start", str(kind), is_edit=True, tool=tool, call=call)
            yield Output("tool_end", call=call, failed=failed)


DRIVER = Codex()
