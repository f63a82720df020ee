"""Params for every method of the protocol: valid ones, and malformed ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from mcp_types import methods

Json = Any

# With every optional field, so that each can be malformed in turn.
INFO = {
    "name": "a",
    "version": "1",
    "title": "A",
    "description": "d",
    "websiteUrl": "https://example.invalid",
    "icons": [{"src": "data:,", "mimeType": "image/png", "sizes": ["1x1"], "theme": "dark"}],
}
CAPABILITIES = {
    "experimental": {"x": {"y": 1}},
    "extensions": {"x/y": {}},
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"context": {}, "tools": {}},
    "roots": {"listChanged": True},
}
TASKS: Json = {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}}
FULL: dict[str, Json] = {
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "p", "title": "P"},
        "argument": {"name": "a", "value": "v"},
        "context": {"arguments": {"x": "y"}},
    },
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {**CAPABILITIES, "tasks": TASKS},
        "clientInfo": INFO,
    },
    "logging/setLevel": {"level": "info"},
    "ping": {},
    "prompts/get": {"name": "p", "arguments": {"a": "b"}, "requestState": "s"},
    "prompts/list": {"cursor": ""},
    "resources/list": {"cursor": ""},
    "resources/read": {"uri": "x:y", "requestState": "s"},
    "resources/subscribe": {"uri": "x:y"},
    "resources/templates/list": {"cursor": ""},
    "resources/unsubscribe": {"uri": "x:y"},
    "server/discover": {},
    "skills/get": {"uri": "skill://nx-plan/SKILL.md"},
    "skills/list": {"cursor": ""},
    "subscriptions/listen": {
        "notifications": {
            "promptsListChanged": True,
            "resourcesListChanged": False,
            "toolsListChanged": True,
            "resourceSubscriptions": ["x:y"],
        }
    },
    "tools/call": {
        "name": "plan_status",
        "arguments": {},
        "task": {"ttl": 1},
        "requestState": "s",
        "inputResponses": {},
    },
    "tools/list": {"cursor": ""},
    "resources/explode": {"anything": 1},
    "": {},
}
METHODS = sorted(FULL)
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/logLevel": "debug",
    "progressToken": "t",
    "other": [1],
}
LEGACY_META = {"progressToken": 1, "other": [1]}
WRONG: tuple[Json, ...] = (
    None,
    True,
    0,
    2.0,
    1.5,
    "",
    "x",
    "7",
    " +7.00 ",
    "7_0",
    "YES",
    [],
    {},
    [1],
    {"x": 1},
    ["x"],
)


def variants(value: Json) -> Iterator[Json]:
    """Yield the value itself, then copies with one field, at any depth, left out or replaced by a wrong value."""
    yield value
    for path in list(_paths(value)):
        without = copy.deepcopy(value)
        parent = _at(without, path[:-1])
        del parent[path[-1]]
        yield without
        for wrong in WRONG:
            changed = copy.deepcopy(value)
            _at(changed, path[:-1])[path[-1]] = copy.deepcopy(wrong)
            yield changed
    if isinstance(value, dict):
        yield {**value, "unknown": {"x": 1}}


def _paths(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from _paths(inner, (*path, key))


def _at(value: Json, path: tuple[Any, ...]) -> Json:
    for key in path:
        value = value[key]
    return value


assert set(methods.SPEC_CLIENT_METHODS) <= set(FULL), "a method of the protocol has no params here"
