"""OpenCode as a driver: `opencode run --format json`."""

from __future__ import annotations

import json
import os
import re
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
    with_role,
)

_EDITING = ("write", "edit", "patch", "apply_patch")
_NOT_LOGGED_IN = ("no provider", "unauthorized", "api key", "providermodelnotfound")
_LIMITED = ("rate limit", "quota")
_COUNTS = re.compile(r"(\d+) (?:credential|environment variable)s?\b")
_CONFIG = "OPENCODE_CONFIG_CONTENT"


class OpenCode:
    """The driver of OpenCode. Server, hooks and permissions come from a configuration in the environment."""

    id = "opencode"
    format: Literal["jsonl", "text"] = "jsonl"
    can_resume = True
    tells_tools = False
    totals: frozenset[Figure] = frozenset()
    login_command = "opencode auth login"

    def probe(self) -> Probe:
        return probe_program("opencode")

    def login(self, path: str) -> Login:
        """Return whether OpenCode has credentials; providers of its configuration and its own free models need none."""
        try:
            code, out = answer_of(path, "auth", "list")
        except (OSError, subprocess.TimeoutExpired):
            return Login(is_needed=False)
        found = _COUNTS.findall(out)
        if code or not found:
            return Login(is_needed=False)
        if any(map(int, found)):
            return Login("has credentials", found=True)
        words = f"it has no credentials, so only models without a login work; to log in, type {self.login_command}"
        return Login(words, found=False, is_needed=False)

    def command(self, request: SessionRequest) -> Command:
        words = ["opencode", "run", "--format", "json", "--dir", request.folder]
        words += ["-m", request.model] if request.model else []
        words += ["-s", request.resume] if request.resume else []
        config = {**json_object(os.environ.get(_CONFIG, "").encode("utf-8", "surrogateescape"))}
        for document in (request.mount.server, request.mount.hooks):
            config = _merge(config, document)
        config = _merge(config, {"permission": {"edit": "deny" if request.read_only else "allow"}})
        config = _merge(config, {"tools": dict.fromkeys(request.forbidden, False)})
        environ = {**request.environ, _CONFIG: json.dumps(config)}
        return Command(tuple(words), with_role(request).encode(), environ, dict(request.mount.files))

    def outputs(self, line: bytes) -> Iterable[Output]:
        return tuple(_outputs(json_object(line)))

    def failure(self, code: int | None, stderr: str) -> Failure | None:
        return why_failed(code, stderr, not_logged_in=_NOT_LOGGED_IN, limited=_LIMITED)


def _merge(below: Any, above: Any) -> Any:
    """Merge two configurations as OpenCode does: objects are merged, lists are joined, otherwise `above` wins."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{name: _merge(below.get(name), value) for name, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    return above


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
        yield from _tool(fields)
    elif kind == "step_finish":
        number = part(fields, "tokens")
        cached = part(number, "cache")
        cost = fields.get("cost")
        known = float(cost) if isinstance(cost, int | float) and cost else None
        read = count(number.get("input")) + count(cached.get("read")) + count(cached.get("write"))
        yield Output("usage", input=read, output=count(number.get("output")), cost_usd=known)
        if fields.get("reason") == "stop":
            yield Output("done")
    elif kind == "error":
        error = part(value, "error")
        words = (error.get("name"), part(error, "data").get("message"))
        yield Output("error", ": ".join(word for word in words if isinstance(word, str) and word)[:2000])


def _tool(fields: Any) -> Iterator[Output]:
    """Yield the start and the end of a tool; OpenCode reports both at the end."""
    name, state, call = fields.get("tool"), part(fields, "state"), str(fields.get("callID") or "")
    arguments = part(state, "input")
    path, line = arguments.get("filePath"), arguments.get("command")
    yield Output(
        "tool_start",
        str(name),
        file=path if isinstance(path, str) else "",
        command=line if isinstance(line, str) else "",
        is_edit=name in _EDITING,
        call=call,
        arguments=arguments,
    )
    failed = state.get("status") == "error"
    yield Output("tool_end", text_of(state.get("output") or state.get("error")), call=call, failed=failed)


DRIVER = OpenCode()
