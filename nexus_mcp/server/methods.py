"""The methods of both protocol eras, with the shape of their params.

Methods that this server does not serve are listed too: like the official SDK it looks at the params of every method
of the protocol first (-32602) and only then says that it has no such method (-32601). `HANDLED` names
those it serves.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
SUBSCRIBING = frozenset({"resources/subscribe", "resources/unsubscribe", "subscriptions/listen"})
LOOKING = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
    }
)
HANDLED = frozenset({"initialize", "ping", "server/discover", "tools/list", "tools/call", *SUBSCRIBING, *LOOKING})

_LEVEL = frozenset({"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"})
_ICON = {"src": "string", "mimeType?": "string", "sizes?": ["string"], "theme?": frozenset({"light", "dark"})}
_IMPLEMENTATION = {
    "name": "string",
    "version": "string",
    "title?": "string",
    "description?": "string",
    "websiteUrl?": "string",
    "icons?": [_ICON],
}
_FORMS = {"form?": "object", "url?": "object"}
_SAMPLING = {"context?": "object", "tools?": "object"}
_TASK_REQUESTS = {"sampling?": {"createMessage?": "object"}, "elicitation?": {"create?": "object"}}
_LEGACY_CAPABILITIES = {
    "elicitation?": _FORMS,
    "experimental?": {"*": "object"},
    "extensions?": {"*": "object"},
    "roots?": {"listChanged?": "boolean"},
    "sampling?": _SAMPLING,
    "tasks?": {"cancel?": "object", "list?": "object", "requests?": _TASK_REQUESTS},
}
_MODERN_CAPABILITIES = {
    "elicitation?": _FORMS,
    "experimental?": {"*": "object"},
    "extensions?": {"*": "object"},
    "roots?": "object",
    "sampling?": _SAMPLING,
}
_REFERENCE = (
    {"type": frozenset({"ref/prompt"}), "name": "string", "title?": "string"},
    {"type": frozenset({"ref/resource"}), "uri": "string"},
)
# Answers to questions of the server. This one asks none, so nothing reads what they hold.
_ANSWERS = {"inputResponses?": {"*": "object"}, "requestState?": "string"}
_CALL = {"name": "string", "arguments?": "object", "task?": {"ttl?": "integer"}, **_ANSWERS}

_PARAMS: dict[str, dict[str, Any]] = {
    "completion/complete": {
        "ref": _REFERENCE,
        "argument": {"name": "string", "value": "string"},
        "context?": {"arguments?": {"*": "string"}},
    },
    "initialize": {
        "protocolVersion": "string",
        "capabilities": _LEGACY_CAPABILITIES,
        "clientInfo": _IMPLEMENTATION,
    },
    "logging/setLevel": {"level": _LEVEL},
    "ping": {},
    "prompts/get": {"name": "string", "arguments?": {"*": "string"}, **_ANSWERS},
    "prompts/list": {"cursor?": "string"},
    "resources/list": {"cursor?": "string"},
    "resources/read": {"uri": "string", **_ANSWERS},
    "resources/subscribe": {"uri": "string"},
    "resources/templates/list": {"cursor?": "string"},
    "resources/unsubscribe": {"uri": "string"},
    "server/discover": {},
    "subscriptions/listen": {
        "notifications": {
            "promptsListChanged?": "boolean",
            "resourcesListChanged?": "boolean",
            "resourceSubscriptions?": ["string"],
            "toolsListChanged?": "boolean",
        }
    },
    "tools/call": _CALL,
    "tools/list": {"cursor?": "string"},
}
_ONLY_LEGACY = frozenset({"initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"})
_ONLY_MODERN = frozenset({"server/discover", "subscriptions/listen"})


def legacy_shape(method: str) -> dict[str, Any] | None:
    """The params of a method of the handshake era; None when that era has no such method."""
    if method in _ONLY_MODERN or method not in _PARAMS:
        return None
    return {"_meta?": {_token(method): "token"}, **_PARAMS[method]}


def modern_shape(method: str) -> dict[str, Any] | None:
    """The params of a method of 2026-07-28, whose envelope is required; None when that era has no such method."""
    if method in _ONLY_LEGACY or method not in _PARAMS:
        return None
    envelope = {
        f"{META}protocolVersion": "string",
        f"{META}clientCapabilities": _MODERN_CAPABILITIES,
        f"{META}clientInfo?": _IMPLEMENTATION,
        f"{META}logLevel?": _LEVEL,
        _token(method): "token",
    }
    return {"_meta": envelope, **_PARAMS[method]}


def _token(method: str) -> str:
    """The progress token may be null only where nothing serves the method: that is how the SDK reads it."""
    return "progressToken~" if method in HANDLED else "progressToken?"
