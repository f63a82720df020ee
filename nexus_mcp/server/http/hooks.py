"""Answer hook events over HTTP: `POST /hook` and `/p/NAME/hook`, as `nexus-mcp hook --url` sends them.

The answer has the same form as for a local hook. The paths in an event are paths on the client's machine
(lifecycle/client_paths.py).
"""

from __future__ import annotations

import posixpath
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.responses import Response

from nexus_mcp.errors import NexusError
from nexus_mcp.harness import dialect
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.client_paths import ClientPaths
from nexus_mcp.lifecycle.guard import answer_event, answer_failure
from nexus_mcp.lifecycle.host import BLOCK, GATES, Host
from nexus_mcp.lifecycle.nexus_files import LONGEST_PATH
from nexus_mcp.server.http.address import HOOK
from nexus_mcp.server.http.body import parse_body
from nexus_mcp.server.http.refusal import Refusal
from nexus_mcp.server.http.tokens import WRITE
from nexus_mcp.store.codec import SESSION_DEPTH, compact, decode, without_surrogates
from nexus_mcp.workspace import Workspace, check_harness_id

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Receive, Scope, Send

    from nexus_mcp.server.http.body import Body
    from nexus_mcp.server.http.callers import Request
    from nexus_mcp.server.http.guard import Guard

_MARKS = 500_100
"""The maximum number of structural characters (`[{,:`) in an event, also within texts: many small values take long to
parse. The payload of a hook has at most 500 000 of them.
"""
_DEPTH = SESSION_DEPTH + 1
"""The payload of a hook is one level deeper in an event."""
_LONGEST_MOUNT = 96
_TEXTS = frozenset({"event", "harness_id", "mount"})
_MEMBERS = _TEXTS | {"params", "host", "client", "failure"}


def is_hook(path: str) -> bool:
    """Return whether a path is one for hook events."""
    return path.endswith(HOOK)


async def answer(
    guard: Guard, scope: Scope, receive: Receive, send: Send, *, headers: Headers, request: Request, body: Body
) -> None:
    """Answer an event. Raise Refusal."""
    token = request.token
    mount = request.mount = await guard.find_mount(scope["path"], token, HOOK)
    if scope["method"] != "POST":
        raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "Send events with POST.", {"allow": "POST"})
    guard.check_right(token, WRITE, mount.name)
    if not await body.read(headers, receive):
        return
    event = await parse_body(lambda data: _Event(data, mount.app.workspace, token.name), bytes(body.data))
    began = time.perf_counter()
    await mount.turns.begin()
    try:
        guard.check_still(request, mount)
        found = await anyio.to_thread.run_sync(event.answer)
    finally:
        mount.turns.give_up()
    mount.note_hook(event.name, time.perf_counter() - began)
    data = without_surrogates(compact(found)).encode()
    await Response(data, HTTPStatus.OK, media_type="application/json")(scope, receive, send)


class _Event:
    """One event as a client sent it. Raise Refusal for values that `nexus-mcp hook` never sends."""

    def __init__(self, data: bytes, workspace: Workspace, actor: str) -> None:
        value = _object(data)
        _check(set(value) <= _MEMBERS and all(isinstance(value.get(name, ""), str) for name in _TEXTS))
        self.name = value.get("event", "")
        _check(self.name in EVENTS)
        mount = value.get("mount", "")
        _check(len(mount) <= _LONGEST_MOUNT and (not mount or mount.replace("_", "a").replace("-", "a").isalnum()))
        self.params = value.get("params")
        try:
            harness_id = check_harness_id(value.get("harness_id") or workspace.harness_id)
        except NexusError:
            raise _malformed_event() from None
        self.workspace = Workspace(workspace.root, harness_id, workspace.state_root, mount)
        self.host = _host(value.get("host", {}), _client(value.get("client"), workspace.root), actor)
        self.failure = value.get("failure")
        _check(self.failure is None or _is_failure(self.failure))

    def answer(self) -> dict[str, Any]:
        """Run the event, and return its answer."""
        if self.failure is None:
            return answer_event(self.name, self.params, self.workspace, self.host)
        problem, is_whole = self.failure["problem"], self.failure["is_whole"]
        return answer_failure(self.name, problem, self.workspace, self.params, is_whole=is_whole, host=self.host)


def _object(data: bytes) -> dict[str, Any]:
    if sum(map(data.count, b"[{,:")) > _MARKS:
        raise _malformed_event()
    try:
        value = decode(data, "event", _DEPTH)
    except NexusError:
        raise _malformed_event() from None
    _check(isinstance(value, dict))
    found: dict[str, Any] = value
    return found


def _host(value: Any, client: ClientPaths, actor: str) -> Host:
    flags = ("has_skills", "is_deaf", "hides_resumes")
    _check(isinstance(value, dict) and set(value) <= {"gate", "limit", *flags})
    gate, limit = value.get("gate", BLOCK), value.get("limit", 0)
    _check(gate in GATES and type(limit) is int and 0 <= limit <= dialect.LIMIT)
    _check(all(isinstance(value.get(name, False), bool) for name in flags))
    return Host(gate, limit, **{name: value.get(name, False) for name in flags}, client=client, actor=actor)


def _client(value: Any, root: str) -> ClientPaths:
    _check(isinstance(value, dict) and set(value) <= {"root", "folder", "home"})
    places = [value.get(name, "") for name in ("root", "folder", "home")]
    _check(all(isinstance(one, str) and len(one) <= LONGEST_PATH and "\0" not in one for one in places))
    _check(all(map(posixpath.isabs, places[:2])))
    top, folder, home = places
    return ClientPaths(top, folder, home if posixpath.isabs(home) else "", own_root=root)


def _is_failure(value: Any) -> bool:
    is_object = isinstance(value, dict) and set(value) == {"problem", "is_whole"}
    return is_object and isinstance(value["problem"], str) and isinstance(value["is_whole"], bool)


def _check(is_valid: bool) -> None:  # noqa: FBT001 - a condition reads best as the only argument
    if not is_valid:
        raise _malformed_event()


def _malformed_event() -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, "This is no event of a hook.")
