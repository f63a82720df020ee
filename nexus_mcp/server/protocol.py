"""Check the requests of one connection, of the handshake revisions or of 2026-07-28, and shape their results.

This module handles neither bytes nor threads. Order of checks, codes, messages and data follow the official SDK's
server (docs/wire.md lists the differences).
"""

from __future__ import annotations

from nexus_mcp.server import methods
from nexus_mcp.server.faults import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_PROTOCOL_VERSION,
    Fault,
    check_cursor,
    invalid_params,
    method_not_found,
)
from nexus_mcp.server.methods import fits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from nexus_mcp.server.app import Answer, App, ReadResult
    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.messages import Message

    Result = Callable[[dict[str, Any]], dict[str, Any]]

_CAPABILITIES: dict[str, Any] = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": True},
    "tools": {"listChanged": False},
}
# Changes of lists are reported only to open listen requests, new in 2026-07-28. The list of tools never changes.
_LISTENING = {"prompts": {"listChanged": True}, "resources": {"listChanged": True, "subscribe": True}}
# Extensions are new in 2026-07-28, too. The empty object means: only the required methods of the skills extension.
_EXTENSIONS: dict[str, Any] = {"extensions": {f"{methods.META}skills": {}}}
CAPABILITIES = {False: _CAPABILITIES, True: {**_CAPABILITIES, **_LISTENING, **_EXTENSIONS}}
"""Server capabilities, by whether the revision is 2026-07-28."""

# Stable results never change while a server runs, and contain no data of a user or project. Volatile results may change
# at any time.
_STABLE = ("server/discover", "tools/list", "resources/templates/list")
_VOLATILE = ("prompts/list", "resources/list", "resources/read", *sorted(methods.SKILL_METHODS))
CACHE: dict[str, tuple[int, Literal["public", "private"]]] = {
    **dict.fromkeys(_STABLE, (3_600_000, "public")),
    **dict.fromkeys(_VOLATILE, (0, "private")),
}
"""By method: milliseconds that a client may cache the result, and the cache scope."""

_VERSION_KEY = f"{methods.META}protocolVersion"
_CAPABILITIES_KEY = f"{methods.META}clientCapabilities"
_CLIENT_KEY = f"{methods.META}clientInfo"
_SERVER_KEY = f"{methods.META}serverInfo"
_SUPPORTED = [methods.MODERN_VERSION]


class Call:
    """An accepted tools/call, to be run in turn; `result` shapes its result. If `progress_token` is not None, the
    client wants progress notifications.
    """

    __slots__ = ("arguments", "client_name", "id", "meta", "name", "progress_token", "result")

    def __init__(
        self,
        id: Id,
        name: str,
        arguments: dict[str, Any] | None,
        client_name: str,
        result: Result,
        *,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.arguments = arguments
        self.meta = meta
        self.client_name = client_name
        self.result = result
        self.progress_token = _progress_token(meta)

    def run(self, app: App) -> Answer:
        """Run the call. Raise UnknownTool."""
        return app.call(self.name, self.arguments, self.client_name, meta=self.meta)


class ReadRequest:
    """A request of READ_METHODS, run in turn with the calls so that it sees the changes of earlier calls."""

    __slots__ = ("_is_modern", "client_name", "id", "name", "params", "progress_token", "result")

    def __init__(self, message: Message, client_name: str, result: Result, *, is_modern: bool) -> None:
        self.id = message.id
        self.name = message.method
        self.params = message.params or {}
        self.client_name = client_name
        self.result = result
        self.progress_token = _progress_token(self.params.get("_meta"))
        self._is_modern = is_modern

    def run(self, app: App) -> ReadResult:
        """Run the request. Raise Fault, without an id."""
        return app.read(self.name, self.params, self.client_name, modern=self._is_modern)


class SubscriptionRequest:
    """A request about subscriptions, for the part of the server that sends notifications."""

    __slots__ = ("id", "method", "params", "result")

    def __init__(self, message: Message, result: Result) -> None:
        self.id = message.id
        self.method = message.method
        self.params = message.params or {}
        self.result = result


class Connection:
    """The state of one connection: legacy (handshake) or modern (2026-07-28), from its first request to its end."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._modern: bool | None = None
        self._open = False  # legacy only: `initialize` or `notifications/initialized` came
        self._client_name = ""

    def notify(self, message: Message) -> None:
        """Record the end of the handshake; ignore other notifications."""
        if message.method == "notifications/initialized" and self._modern is not True:
            self._open = self._open or fits({"_meta?": "object"}, message.params or {})

    def request(self, message: Message) -> dict[str, Any] | Call | ReadRequest | SubscriptionRequest:
        """Return the result of a request, or the accepted request to run. Raise Fault with the request's id."""
        if self._modern is None:
            self._modern = message.method != "initialize" and _is_enveloped(message.params)
        return self._modern_request(message) if self._modern else self._legacy_request(message)

    def large_hook(self, fault: Fault) -> Call | None:
        """Return a call of our hook that denies the tool, in place of a `pre_tool_use` call whose line was too long.

        Return None for any other line, for one without a readable id, and on a connection that is not open yet. If the
        response were an error, the harness would run the tool that the hook has to judge.
        """
        if fault.id is None or not (self._open or self._modern):
            return None
        arguments = self._app.large_hook_arguments(fault.head)
        if arguments is None:
            return None
        return Call(fault.id, self._app.hook_name, arguments, self._client_name, self._stamp if self._modern else dict)

    def _legacy_request(self, message: Message) -> dict[str, Any] | Call | ReadRequest | SubscriptionRequest:
        id, method, params = message.id, message.method, message.params or {}
        if method != "initialize" and _is_enveloped(params):
            raise Fault(
                INVALID_REQUEST,
                "this connection serves the handshake protocol era; "
                "requests carrying the 2026-07-28 envelope are not accepted on it",
                id,
            )
        _check(message, methods.legacy_shape(method))
        if method == "initialize":
            return self._initialize(params)
        if method == "ping":
            return {}
        if not self._open:
            raise invalid_params(id)
        if method == "tools/list":
            return self._list(message)
        if method == "tools/call":
            return Call(id, params["name"], params.get("arguments"), self._client_name, dict, meta=params.get("_meta"))
        return _accept(message, self._client_name, dict, is_modern=False)

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        requested = params["protocolVersion"]
        self._open = True
        self._client_name = params["clientInfo"]["name"]
        return {
            "protocolVersion": requested if requested in methods.HANDSHAKE_VERSIONS else methods.HANDSHAKE_VERSIONS[-1],
            "capabilities": CAPABILITIES[False],
            "serverInfo": self._app.server_info,
            "instructions": self._app.instructions,
        }

    def _modern_request(self, message: Message) -> dict[str, Any] | Call | ReadRequest | SubscriptionRequest:
        method, params = message.method, message.params or {}
        _check_envelope(message)
        _check(message, methods.modern_shape(method))
        if method == "server/discover":
            discovery = {
                "supportedVersions": _SUPPORTED,
                "capabilities": CAPABILITIES[True],
                "instructions": self._app.instructions,
            }
            return self._stamp({**discovery, **cache_hints(method)})
        if method == "tools/list":
            return self._stamp({**self._list(message), **cache_hints(method)})
        client = (params["_meta"].get(_CLIENT_KEY) or {"name": ""})["name"]
        if method == "tools/call":
            return Call(message.id, params["name"], params.get("arguments"), client, self._stamp, meta=params["_meta"])
        hints = cache_hints(method)
        return _accept(message, client, lambda result: self._stamp({**result, **hints}), is_modern=True)

    def _list(self, message: Message) -> dict[str, Any]:
        check_cursor((message.params or {}).get("cursor"), message.id)
        return {"tools": self._app.tools()}

    def _stamp(self, result: dict[str, Any]) -> dict[str, Any]:
        meta = {**result.get("_meta", {}), _SERVER_KEY: self._app.server_info}
        return {"resultType": "complete", **result, "_meta": meta}


def _check(message: Message, shape: dict[str, Any] | None) -> None:
    """Raise the fault of a method that is unknown, takes other params or is not served, in this order."""
    if shape is None:
        raise method_not_found(message.id, message.method)
    if not fits(shape, {} if message.params is None else message.params):
        raise invalid_params(message.id)
    if message.method not in methods.HANDLED:
        raise method_not_found(message.id, message.method)


def _accept(
    message: Message, client_name: str, result: Result, *, is_modern: bool
) -> ReadRequest | SubscriptionRequest:
    if message.method in methods.SUBSCRIPTION_METHODS:
        return SubscriptionRequest(message, result)
    return ReadRequest(message, client_name, result, is_modern=is_modern)


def _progress_token(meta: dict[str, Any] | None) -> Id | None:
    token: Id | None = (meta or {}).get("progressToken")
    return token


def cache_hints(method: str) -> dict[str, Any]:
    """Return the fields about caching for a result of the method; {} if the method has none."""
    hint = CACHE.get(method)
    return {} if hint is None else {"ttlMs": hint[0], "cacheScope": hint[1]}


def _is_enveloped(params: dict[str, Any] | None) -> bool:
    """Return whether `_meta` has the version key of 2026-07-28. A request that lacks other keys of this envelope then
    gets an error that names them.
    """
    meta = params.get("_meta") if params else None
    return isinstance(meta, dict) and _VERSION_KEY in meta


def _check_envelope(message: Message) -> None:
    params = message.params or {}
    if message.method == "initialize":
        requested = params.get("protocolVersion")
        raise Fault(
            UNSUPPORTED_PROTOCOL_VERSION,
            "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
            message.id,
            {"supported": _SUPPORTED, **({"requested": requested} if isinstance(requested, str) else {})},
        )
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise Fault(
            INVALID_PARAMS,
            f"params._meta must be an object carrying the required {_VERSION_KEY!r} and {_CAPABILITIES_KEY!r} "
            "envelope keys",
            message.id,
        )
    if missing := [key for key in (_VERSION_KEY, _CAPABILITIES_KEY) if key not in meta]:
        raise Fault(
            INVALID_PARAMS,
            f"params._meta is missing the required envelope key(s): {', '.join(missing)}",
            message.id,
        )
    version = meta[_VERSION_KEY]
    if not isinstance(version, str):
        raise Fault(INVALID_PARAMS, "the protocol-version envelope value must be a string", message.id)
    if version not in _SUPPORTED:
        raise Fault(
            UNSUPPORTED_PROTOCOL_VERSION,
            "Unsupported protocol version",
            message.id,
            {"supported": _SUPPORTED, "requested": version},
        )
