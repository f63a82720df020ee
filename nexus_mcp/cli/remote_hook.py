"""Send hook events to a server over HTTP (--url or NEXUS_URL), and answer them if the server does not.

The server handles an event as a local hook does (server/http/hooks.py). Without its answer the restrictions are
unknown: then pre_tool_use allows only tools that read, and every other event gets a warning.
"""

from __future__ import annotations

import json
import os

from nexus_mcp.cli.hook_event import DRAINED, LIMIT, NATIVE, Unusable, read_payload
from nexus_mcp.cli.remote_options import ALLOW_HTTP, TOKEN_ENV, URL
from nexus_mcp.cli.workspace_options import HARNESS_ID, MOUNT, PROJECT, check_mount
from nexus_mcp.errors import UsageError
from nexus_mcp.lifecycle.definition import (
    BLOCK,
    CONTINUE,
    DECIDING,
    DECISIONS,
    DENY,
    failure_text,
)
from nexus_mcp.remote.address import TOKEN_VARIABLE, URL_VARIABLE, check_variable, parse
from nexus_mcp.remote.connection import Connection, Unreachable
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, check_harness_id, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.hook_event import Event
    from nexus_mcp.cli.options import Values
    from nexus_mcp.lifecycle.host import Host
    from nexus_mcp.remote.address import Address

    Json = dict[str, Any]

MOST = 4 << 20
"""The maximum size of an event in bytes: the limit of the server."""
SECONDS = 2.0
"""Seconds to wait for an answer: the deadline of a hook is 2.5 s (lifecycle/deadline.py)."""
RECORD_SECONDS = 9.0
"""Seconds to deliver the start, resume or end of an agent: the hook continues after its deadline for these events."""
_OMITTED = "The input of the tool is larger than the 4 MiB that a server takes."
_LONGEST_TOKEN = 16 * 1024
"""The maximum number of characters of a token that a server accepts: access tokens of an OAuth issuer are long."""
_AGAIN = "Then use the tool again. Until then only tools that read may run."
_STATUS = {
    401: ("refuses the token in {token}", "Ask for a valid token, and put it into {token}."),
    403: ("refuses the event", "Look at its log, and call it by https if it is behind a proxy."),
    404: ("has no such project for the token in {token}", "Check the URL and the projects of the token."),
    421: ("does not answer to this host name", "Start it with --allow-host and this name."),
    429: ("has too many requests from this token", "Wait a moment."),
    503: ("cannot take the event now", "Look at its log."),
}
_LACKS = b"This token lacks the right to write"
"""The beginning of the server's message about a token that may not write; a proxy refuses in other words."""
_LACKING = "says that the token in {token} lacks the right to write", "Ask for a token with this right."


class Server:
    """A server that answers events. Raise UsageError for a URL or option that cannot be used."""

    def __init__(self, values: Values) -> None:
        source = URL.name if URL.name in values else URL_VARIABLE
        text = values.get(URL.name) or os.environ.get(URL_VARIABLE, "")
        self.address: Address = parse(text, source, is_plain_allowed=ALLOW_HTTP.name in values)
        self.harness_id = check_harness_id(values.get(HARNESS_ID.name, values.get(NATIVE.name, DEFAULT_HARNESS_ID)))
        self._mount = check_mount(values.get(MOUNT.name, ""))
        self._variable = check_variable(values.get(TOKEN_ENV.name, TOKEN_VARIABLE), TOKEN_ENV.name)
        self._token = os.environ.get(self._variable, "").strip()
        self._client = _client(values.get(PROJECT.name))
        self._connection = Connection(self.address)

    @property
    def root(self) -> str:
        """Return the folder of the project on this machine."""
        return str(self._client["root"])

    def ask(self, name: str, params: Any, host: Host, *, records: bool = False) -> Json:
        """Return the server's answer to an event. If it sends none, return our own: then pre_tool_use allows only tools
        that read. Never raise.
        """
        return self._answer({"event": name, "params": params}, host, records=records)

    def ask_failure(self, name: str, problem: str, host: Host, fields: Json, *, is_whole: bool) -> Json:
        """Return the answer to an event whose payload is malformed. `fields` are the readable fields; `is_whole` says
        whether the payload is a complete object. Never raise.
        """
        failure = {"problem": problem, "is_whole": is_whole}
        return self._answer({"event": name, "params": fields, "failure": failure}, host)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _answer(self, event: Json, host: Host, *, records: bool = False) -> Json:
        try:
            return self._post(event, host, RECORD_SECONDS if records else SECONDS)
        except _NoAnswer as problem:
            return self._answer_without_server(event, problem)

    def _post(self, event: Json, host: Host, seconds: float) -> Json:
        if not self._token:
            raise _NoAnswer(f"The token of the server is missing: {self._variable} is not set.", "Set it.")
        if not (self._token.isascii() and self._token.isprintable() and len(self._token) <= _LONGEST_TOKEN):
            raise _NoAnswer(f"The variable {self._variable} has no token.", "Set it to the token alone.")
        body = self._body(event, host)
        shown = f"The server {self.address.text}"
        try:
            status, data = self._connection.send("POST", self.address.hook_path, body, self._token, seconds)
        except Unreachable as error:
            raise _NoAnswer(
                f"{shown} {error}.", error.next_step or "Check that it runs and that the URL is right."
            ) from error
        if status != 200:
            problem, step = _STATUS.get(status, ("", "Update nexus-mcp on the server and here, and check the URL."))
            if status == 403 and _LACKS in data:
                problem, step = _LACKING
            problem = problem.format(token=self._variable) or f"answered with status {status} in place of an answer"
            raise _NoAnswer(f"{shown} {problem}.", step.format(token=self._variable))
        answer = _decode(data)
        if answer is None or answer["event"] != event["event"]:
            raise _NoAnswer(f"{shown} sent no answer to an event.", "Check that the URL is that of nexus-mcp.")
        return answer

    def _body(self, event: Json, host: Host) -> bytes:
        """Return the event as JSON. Leave out an input that is too large: a payload of pre_tool_use then counts as
        truncated. Raise _NoAnswer if the event is still too large.
        """
        whole = {
            **event,
            "harness_id": self.harness_id,
            "mount": self._mount,
            "client": self._client,
            "host": {
                "gate": host.gate,
                "limit": host.limit,
                "has_skills": host.has_skills,
                "is_deaf": host.is_deaf,
                "hides_resumes": host.hides_resumes,
            },
        }
        body = _encode(whole)
        params = event["params"]
        if len(body) > MOST and isinstance(params, dict) and "tool_input" in params:
            whole["params"] = {name: value for name, value in params.items() if name != "tool_input"}
            if event["event"] == DECIDING:
                whole["failure"] = {"problem": _OMITTED, "is_whole": False}
            body = _encode(whole)
        if len(body) > MOST:
            raise _NoAnswer("The event is larger than the 4 MiB that a server takes.", "Use a smaller input.")
        return body

    def _answer_without_server(self, event: Json, problem: _NoAnswer) -> Json:
        name, params = event["event"], event["params"]
        answer: Json = {"event": name, "harness_id": self.harness_id, "decision": CONTINUE}
        known = params if isinstance(params, dict) else {}
        failure = event.get("failure")
        is_whole = isinstance(params, dict) and (failure is None or failure["is_whole"])
        if name == DECIDING and not (is_whole and _only_reads(self.harness_id, known.get("tool"))):
            is_main = is_whole and not (known.get("agent_id") or known.get("agent_name"))
            reason = f"{problem} {problem.next_step} Tell the user. {_AGAIN}"
            return {**answer, "decision": BLOCK if is_main else DENY, "reason": reason, "warnings": []}
        return {**answer, "warnings": [failure_text(name, f"{problem} {problem.next_step}")]}


def answer(event: Event, server: Server) -> Json:
    """Read the payload of the event, and return the server's answer, or the one of `parse` if no handling is needed."""
    event.root = server.root
    try:
        event.is_reading = True
        read_payload(event.data, DRAINED if event.name == DECIDING else LIMIT)
        event.is_reading = False
        ready = event.parse()
        if ready is not None:
            return ready
        return server.ask(event.name, event.params, event.host, records=event.is_to_be_recorded())
    except Unusable as problem:
        outlined, is_whole = event.outline()
        return server.ask_failure(event.name, str(problem), event.host, outlined, is_whole=is_whole)


class _NoAnswer(Exception):
    """The server has no answer to an event. The message quotes nothing of the event."""

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(problem)
        self.next_step = next_step


def _client(project: str | None) -> Json:
    """Return the project folder, the working folder and the home folder of this machine. Raise UsageError."""
    try:
        here = os.getcwd()
    except OSError:
        raise UsageError("The working directory is gone.", next_step="Change to a folder that exists.") from None
    root = find_root(project, os.environ, here)
    return {"root": root, "folder": os.path.realpath(here), "home": os.environ.get("HOME", "")}


def _only_reads(harness_id: str, tool: object) -> bool:
    """Return whether the shipped capability map says that a tool only reads."""
    if not isinstance(tool, str):
        return False
    try:
        from nexus_mcp.catalog.load import load
        from nexus_mcp.catalog.tool_files import only_reads

        known = load(None).maps.get(harness_id)
        return known is not None and only_reads(known, tool)
    except Exception:  # noqa: BLE001 - then the tool is refused
        return False


def _encode(value: Json) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(value, separators=(",", ":")).encode()


def _decode(data: bytes) -> Json | None:
    """Return the answer in a response; None if it has another shape."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("decision") not in DECISIONS:
        return None
    texts = [value.get("event"), value.get("reason", ""), value.get("context", "")]
    warnings = value.get("warnings")
    if not isinstance(warnings, list) or not all(isinstance(one, str) for one in (*texts, *warnings)):
        return None
    return value if value["decision"] in (CONTINUE, "allow") or value.get("reason") else None
