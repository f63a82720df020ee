"""List methods of all protocol revisions with the shapes of their params, and check values against a shape.

Like the official SDK, the server first checks the params of every listed method (-32602), also of methods that it does
not serve. Only then does it refuse the methods that are not in `HANDLED` (-32601).

A shape is
- a word: "any", "string", "integer", "token" (string or integer), "boolean", "object" (any fields);
- a frozenset: one of these strings;
- a list of one shape: an array of such items;
- a tuple: any one of these shapes;
- {"*": shape}: an object whose fields all have this shape;
- any other dict: an object with these fields. "name?" may be missing or null, "name~" may be missing but not null.
  Fields that it does not name are allowed.

Integers and booleans are the values that the official SDK accepts as integers and booleans.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

_TRUTH = frozenset({"0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true"})


def fits(shape: Any, value: Any) -> bool:
    """Return whether the value has the shape."""
    if isinstance(shape, str):
        return _fits_word(shape, value)
    if isinstance(shape, frozenset):
        return isinstance(value, str) and value in shape
    if isinstance(shape, tuple):
        return any(fits(choice, value) for choice in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(shape[0], item) for item in value)
    if not isinstance(value, dict):
        return False
    if "*" in shape:
        return all(fits(shape["*"], item) for item in value.values())
    for name, inner in shape.items():
        mark = name[-1]
        key = name[:-1] if mark in "?~" else name
        if key not in value:
            if mark not in "?~":
                return False
        elif not (value[key] is None and mark == "?") and not fits(inner, value[key]):
            return False
    return True


def _fits_word(word: str, value: Any) -> bool:
    if word == "any":
        return True
    if word == "boolean":
        return _is_boolean(value)
    if isinstance(value, str):
        return word in ("string", "token") or (word == "integer" and _is_integer(value))
    return isinstance(value, dict) if word == "object" else word in ("integer", "token") and _is_integer(value)


def _is_integer(value: Any) -> bool:
    if isinstance(value, str):
        import re  # imported late: only the ttl of a task may be a number sent as a string

        return re.fullmatch(r"\s*[+-]?[0-9]+(_[0-9]+)*(\.0*)?\s*", value) is not None
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _is_boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in _TRUTH
    return isinstance(value, (int, float)) and value in (0, 1)


HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
SUBSCRIPTION_METHODS = frozenset({"resources/subscribe", "resources/unsubscribe", "subscriptions/listen"})
READ_METHODS = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "skills/get",
        "skills/list",
    }
)
HANDLED = frozenset(
    {"initialize", "ping", "server/discover", "tools/list", "tools/call", *SUBSCRIPTION_METHODS, *READ_METHODS}
)

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
# Responses to requests of the server. This server sends no such requests, so it does not read their content.
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
    "skills/get": {"uri": "string"},
    "skills/list": {"cursor?": "string"},
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
SKILL_METHODS = frozenset({"skills/get", "skills/list"})
"""The methods of the skills extension, which is specified for 2026-07-28."""
_ONLY_MODERN = frozenset({"server/discover", "subscriptions/listen", *SKILL_METHODS})


def legacy_shape(method: str) -> dict[str, Any] | None:
    """Return the shape of a method's params in the handshake revisions; None if the method is not listed for them."""
    if method in _ONLY_MODERN or method not in _PARAMS:
        return None
    return {"_meta?": {_token(method): "token"}, **_PARAMS[method]}


def modern_shape(method: str) -> dict[str, Any] | None:
    """Return the shape of a method's params in 2026-07-28, with the envelope in `_meta`; None if the method is not
    listed for this revision.
    """
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
    """Return the key of the progress token in the shape of a method. As in the SDK, the token may be null only for
    methods that are not served.
    """
    return "progressToken~" if method in HANDLED else "progressToken?"
