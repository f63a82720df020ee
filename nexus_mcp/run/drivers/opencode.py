"""OpenCode as a driver: `opencode run --format json`."""

from __future__ import annotations

import json
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

_EDITING = ("write", "edit", "patch", "apply_patch")
_NOT_LOGGED_IN = ("no provider", "unauthorized", "api key", "providermodelnotfound")
_LIMITED = ("rate limit", "quota")


class OpenCode:
    """The driver of OpenCode. Server, model and permissions come from a config in the environment."""

    id = "opencode"
    format: Literal["jsonl", "text"] = "jsonl"
    can_resume = True

    def probe(self) -> Probe:
        return probe_program("opencode")

    def command(self, request: SessionRequest) -> Command:
        words = ["opencode", "run", "--format", "json", "--dir", request.folder]
        words += ["-m", request.model] if request.model else []
        words += ["-s", request.resume] if request.resume else []
        config: dict[str, Any] = {}
        if request.serve:
            config["mcp"] = {"nexus": {"type": "local", "command": list(request.serve), "enabled": True}}
        config["permission"] = {"edit": "deny" if request.read_only else "allow", "bash": "allow", "webfetch": "allow"}
        config["tools"] = dict.fromkeys(request.forbidden, False)
        environ = {**request.environ, "OPENCODE_CONFIG_CONTENT": json.dumps(config)}
        return Command(tuple(words), with_role(request).encode(), environ)

    def outputs(self, line: bytes) -> Iterable[Output]:
        return tuple(_outputs(json_object(line)))

    def failure(self, code: int | None, stderr: str) -> Literal["environment", "limit"] | None:
        return why_failed(code, stderr, not_logged_in=_NOT_LOGGED_IN, limited=_LIMITED)


def _outputs(value: dict[str, Any]) -> Iterator[Output]:
    session = value.get("sessionID")
    if isinstance(session, str):
        yield Output("session", session)
    kind = value.get("type")
    fields = part(value, "part")
    if kind == "text" and isinstance(fields.get("text"), str):
        yield Output("text", fields["text"])
        yield Output("result", fields["text"])
    elif kind == "tool_use":
        name = fields.get("tool")
        path = part(part(fields, "state"), "input").get("filePath")
        file = path if isinstance(path, str) else ""
        yield Output("tool_start", str(name), file=file, is_edit=name in _EDITING)
        yield Output("tool_end", str(name), failed=part(fields, "state").get("status") == "error")
    elif kind == "step_finish":
        number = part(fields, "tokens")
        cost = fields.get("cost")
        known = float(cost) if isinstance(cost, int | float) and cost else None
        yield Output("usage", input=count(number.get("input")), output=count(number.get("output")), cost_usd=known)
        if fields.get("reason") == "stop":
            yield Output("done")
    elif kind == "error":
        yield Output("error", json.dumps(value.get("error"))[:2000])


DRIVER = OpenCode()
