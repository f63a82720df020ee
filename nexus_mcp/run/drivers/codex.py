"""Codex as a driver: `codex exec --json`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from nexus_mcp.harness.codex_trust import trust_of
from nexus_mcp.harness.files import read_settings
from nexus_mcp.harness.toml_document import inline
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

_NOT_LOGGED_IN = ("not logged in", "401 unauthorized", "run codex login", "missing environment variable")
_LIMITED = ("usage limit", "rate limit", "quota exceeded")
_EDITS = ("file_change", "patch_apply")
_NAMES = {"file_change": "apply_patch", "patch_apply": "apply_patch", "command_execution": "Bash"}
"""Type of an item in the output -> the tool's name in the capability map."""
_REFUSED = ("failed", "declined")
_FLAGS = "/<session-flags>/config.toml"
"""The name that Codex uses for the source of settings from the command line."""
_KEY = "CODEX_API_KEY"
_KEYWORDS = ("type", "enum", "const", "$ref", "description")
"""Keywords of the strict form of a schema, besides those that `strict` converts."""


class Codex:
    """The driver of Codex. The text of the agent begins the prompt: Codex has no option for it."""

    id = "codex"
    format: Literal["jsonl", "text"] = "jsonl"
    can_resume = True
    tells_tools = True
    totals: frozenset[Figure] = frozenset(("tokens",))
    login_command = "codex login"

    def probe(self) -> Probe:
        return probe_program("codex")

    def login(self, path: str) -> Login:
        """Return whether requests would have a key or login; a model provider that the user defined may need no
        login.
        """
        name, provider = _provider()
        if provider is not None and provider.get("requires_openai_auth") is not True:
            key = provider.get("env_key")
            if isinstance(key, str) and not os.environ.get(key):
                return Login(
                    f"the provider {name} reads its key from the variable {key}, which is not set", found=False
                )
            return Login(f"the provider {name} needs no login", found=True)
        if os.environ.get(_KEY):
            return Login(f"by {_KEY}", found=True)
        try:
            code, out = answer_of(path, "login", "status")
        except (OSError, subprocess.TimeoutExpired):
            return Login()
        if code == 0:
            return Login("logged in", found=True)
        return (
            Login(f"not logged in: type {self.login_command}", found=False)
            if "not logged in" in out.lower()
            else Login()
        )

    def command(self, request: SessionRequest) -> Command:
        files = dict(request.mount.files)
        last = os.path.join(request.scratch, "last_message.md")
        sandbox = "danger-full-access" if request.unsafe else "read-only" if request.read_only else "workspace-write"
        words = ["codex", "exec", "--json", "--skip-git-repo-check", "-C", request.folder, "-s", sandbox, "-o", last]
        words += ["-m", request.model] if request.model else []
        for key, value in _settings(request).items():
            words += ["-c", f"{key}={inline(value)}"]
        if request.schema:
            path = os.path.join(request.scratch, "schema.json")
            files[path] = json.dumps(strict(request.schema))
            words += ["--output-schema", path]
        words += ["resume", request.resume] if request.resume else []
        return Command((*words, "-"), with_role(request).encode(), request.environ, files)

    def outputs(self, line: bytes) -> Iterable[Output]:
        return tuple(_outputs(json_object(line)))

    def failure(self, code: int | None, stderr: str) -> Failure | None:
        return why_failed(code, stderr, not_logged_in=_NOT_LOGGED_IN, limited=_LIMITED)


def _provider() -> tuple[str, Mapping[str, Any] | None]:
    """Return name and settings of the chosen model provider if the user defined it, else None as the settings."""
    folder = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    settings = read_settings(os.path.join(folder, "config.toml"))
    name = settings.get("model_provider")
    providers = settings.get("model_providers")
    found = providers.get(name) if isinstance(providers, dict) and isinstance(name, str) else None
    return str(name), found if isinstance(found, dict) else None


def _settings(request: SessionRequest) -> dict[str, Any]:
    """Return the settings of our server and hooks. All tools of the server are approved in advance.

    No user is there to approve a call. Codex passes only few environment variables to a server, so the settings have
    those of the request. Codex skips hooks that are not trusted, so the settings mark our hooks as trusted.
    """
    found: dict[str, Any] = {}
    for name, server in request.mount.server.get("mcp_servers", {}).items():
        environ = dict(request.environ)
        found[f"mcp_servers.{name}"] = {**server, "default_tools_approval_mode": "approve", "env": environ}
    hooks = request.mount.hooks.get("hooks", {})
    found |= {f"hooks.{event}": groups for event, groups in hooks.items()}
    return {**found, "hooks.state": trust_of(hooks, _FLAGS)} if hooks else found


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
    kind, call = item.get("type"), str(item.get("id") or "")
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
            result = item.get("aggregated_output") or item.get("error") or item.get("result")
            yield Output("tool_end", text_of(result), call=call, failed=failed)
            return
        changes = item.get("changes")
        first = changes[0] if isinstance(changes, list) and changes and isinstance(changes[0], dict) else {}
        path, line = first.get("path"), item.get("command")
        found = item.get("arguments")
        yield Output(
            "tool_start",
            str(item.get("tool") or kind),
            file=path if isinstance(path, str) else "",
            command=line if isinstance(line, str) else "",
            is_edit=kind in _EDITS,
            tool=tool,
            call=call,
            arguments=found if isinstance(found, dict) else {"command": line} if line else {},
        )


DRIVER = Codex()


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema in the strict form that OpenAI's services require for structured answers.

    In this form each object requires all of its fields and allows no others, and few keywords are allowed: those for
    lengths and defaults are left out. An optional field becomes one that may be null.
    """
    found = {name: schema[name] for name in _KEYWORDS if name in schema}
    if "$defs" in schema:
        found["$defs"] = {name: strict(one) for name, one in schema["$defs"].items()}
    if "anyOf" in schema:
        found["anyOf"] = [strict(one) for one in schema["anyOf"]]
    if "items" in schema:
        found["items"] = strict(schema["items"])
    if "const" in schema:  # the services accept only `enum`
        found = {**found, "enum": [found.pop("const")]}
    if "properties" in schema:
        required = schema.get("required", ())
        found["properties"] = {
            name: strict(one) if name in required or _may_be_null(one) else {"anyOf": [strict(one), {"type": "null"}]}
            for name, one in schema["properties"].items()
        }
        found |= {"required": list(schema["properties"]), "additionalProperties": False}
    return found


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return any(one.get("type") == "null" for one in schema.get("anyOf", ()))
