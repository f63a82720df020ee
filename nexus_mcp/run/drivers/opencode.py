"""OpenCode as a driver: `opencode run --format json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from nexus_mcp.run.drivers.definition import Command, Output, Probe, SessionRequest, probe_program

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
        prompt = f"{request.role_text}\n\n{request.prompt}" if request.role_text else request.prompt
        return Command(tuple(words), prompt.encode(), environ)

    def outputs(self, line: bytes) -> Iterable[Output]:
        try:
            value = json.loads(line)
        except ValueError:
            return ()
        return tuple(_outputs(value)) if isinstance(value, dict) else ()

    def failure(self, code: int | None, stderr: str) -> Literal["environment", "limit"] | None:
        text = stderr.lower()
        if any(sign in text for sign in _LIMITED):
            return "limit"
        return "environment" if code == 127 or any(sign in text for sign in _NOT_LOGGED_IN) else None


def _outputs(value: dict[str, Any]) -> Iterator[Output]:
    session = value.get("sessionID")
    if isinstance(session, str):
        yield Output("session", session)
    kind = value.get("type")
    part = value.get("part")
    fields = part if isinstance(part, dict) else {}
    if kind == "text" and isinstance(fields.get("text"), str):
        yield Output("text", fields["text"])
        yield Output("result", fields["text"])
    elif kind == "tool_use":
        name = fields.get("tool")
        state = fields.get("state")
        tool_input = state.get("input") if isinstance(state, dict) else None
        path = tool_input.get("filePath") if isinstance(tool_input, dict) else ""
        file = path if isinstance(path, str) else ""
        yield Output("tool_start", str(name), file=file, is_edit=name in _EDITING)
        yield Output("tool_end", str(name))
    elif kind == "step_finish":
        tokens = fields.get("tokens")
        number = tokens if isinstance(tokens, dict) else {}
        cost = fields.get("cost")
        known = float(cost) if isinstance(cost, int | float) and cost else None
        yield Output("usage", input=_int(number.get("input")), output=_int(number.get("output")), cost_usd=known)
        if fields.get("reason") == "stop":
            yield Output("done")
    elif kind == "error":
        yield Output("error", json.dumps(value.get("error"))[:2000])


def _int(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


DRIVER = OpenCode()
