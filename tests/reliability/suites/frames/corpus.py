"""Requests and notifications as clients send them, of both protocol eras: the input of the mutations."""

from __future__ import annotations

import random
from typing import Any

from tests.support import NAMES, SMALLEST

Json = Any

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
TOOLS = frozenset(NAMES)
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01")
_LARGER: tuple[tuple[str, dict[str, Json]], ...] = (
    ("plan_decide", {"issue_id": 1, "decision": "Ja — 是", "how_agents": ["a"], "how_summary": {"a": "b"}}),
    ("task_add", {"title": "T", "context": "C", "deps": [1, 2], "owner": "o", "goal": "G", "decisions": ["d"]}),
    ("task_update", {"id": "1", "status": "in_progress"}),
    ("plan_update", {"action": "reopen", "issue_id": 1}),
    ("history_search", {"query": "a\u2028b", "last_n": 3}),
    ("artifact_write", {"filename": "../note", "content": "x"}),
    ("artifact_write", {"filename": "notes/a.md", "content": "line\n" * 20}),
    ("nothing_like_it", {"a": [{"b": {}}]}),
)
CALLS = (*SMALLEST.items(), *_LARGER)
_OTHERS: tuple[tuple[str, Json], ...] = (
    ("ping", None),
    ("ping", {}),
    ("tools/list", None),
    ("tools/list", {"cursor": "x"}),
    ("server/discover", {}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "d", "arguments": {"text": "Ja — 是"}}),
    ("resources/list", {"cursor": "x"}),
    ("resources/read", {"uri": "nexus://plan"}),
    ("resources/read", {"uri": "nexus://artifacts/notes/a.md"}),
    ("resources/read", {"uri": "nexus://history?query=a%E2%80%A8b&last_n=3"}),
    ("resources/unsubscribe", {"uri": "nexus://plan"}),
    ("logging/setLevel", {"level": "debug"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
    ("no/such/method", {"a": 1}),
)
_NOTIFICATIONS: tuple[tuple[str, Json], ...] = (
    ("notifications/initialized", None),
    ("notifications/roots/list_changed", {}),
    ("notifications/progress", {"progressToken": 1, "progress": 0.5}),
    ("notifications/unknown", [1]),
    ("ping", None),
)


def handshake(id: Json, rng: random.Random) -> Json:
    client = {"name": "fuzz", "version": "1"}
    params = {"protocolVersion": rng.choice(VERSIONS), "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


def initialized() -> Json:
    return {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(id: Json, rng: random.Random, *, modern: bool) -> Json:
    """Return a valid request; a few use the other protocol era."""
    if rng.random() < 0.55:
        name, arguments = rng.choice(CALLS)
        method, params = "tools/call", {"name": name, "arguments": arguments}
    elif rng.random() < 0.05:
        return handshake(id, rng)
    else:
        method, params = rng.choice(_OTHERS)
    if modern != (rng.random() < 0.02):
        params = {**(params or {}), "_meta": META}
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    if params is None:
        del message["params"]
    if rng.random() < 0.3:  # some clients put the id at the end
        message["id"] = message.pop("id")
    return message


def notification(rng: random.Random, ids: list[Json]) -> Json:
    """Return a notification; half of them cancel one of `ids`, or an unknown id."""
    if rng.random() < 0.5:
        params = {"requestId": rng.choice(ids) if ids and rng.random() < 0.9 else "never", "reason": "fuzz"}
        return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    method, params = rng.choice(_NOTIFICATIONS)
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
