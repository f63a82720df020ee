"""The same requests to our server and to the SDK's server get equal answers, in every revision."""

from __future__ import annotations

import pytest

from tests.differential.exchange import compare, numbered
from tests.differential.requests import FULL, LEGACY_META, METHODS, MODERN_META, WRONG, Json, variants
from tests.wire.connection import LEGACY, initialize, modern, notification, request

pytestmark = pytest.mark.usefixtures("guard")


def check(messages: list[Json], *, first: tuple[Json, ...] = ()) -> None:
    """Check that both servers answer all requests alike, after the same first messages."""
    ours, theirs = compare([*first, *numbered(messages)])
    assert len(ours) >= len(messages)
    assert ours == theirs


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("version", LEGACY)
def test_legacy_methods_answer_like_the_sdk(version: str, method: str) -> None:
    """Every method with good and bad params is answered alike after the handshake of each revision."""
    full = {**FULL[method], "_meta": LEGACY_META}
    messages = [request(0, method, params) for params in (None, {}, *variants(full))]
    check(messages, first=(initialize(0, version), notification("notifications/initialized")))


@pytest.mark.parametrize("method", METHODS)
def test_modern_methods_answer_like_the_sdk(method: str) -> None:
    """Every method with good and bad params is answered alike on a 2026-07-28 connection, envelope included."""
    full = {**FULL[method], "_meta": MODERN_META}
    messages = [request(0, method, params) for params in (None, {}, *variants(full))]
    check(messages, first=(modern(0, "server/discover"),))


@pytest.mark.parametrize("method", METHODS)
def test_first_request_fixes_the_era_alike(method: str) -> None:
    """After any first request, which fixes the era, it and all later requests are answered alike."""
    followers = [
        request(0, "ping"),
        request(0, "tools/list"),
        modern(0, "tools/list"),
        modern(0, "server/discover"),
        initialize(),
        request(0, "tools/list"),
        request(0, "nothing/known"),
    ]
    full = FULL[method]
    half = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    metas: tuple[Json, ...] = (MODERN_META, half, {}, 1, None)
    for params in (None, full, *({**full, "_meta": meta} for meta in metas)):
        check([request(0, method, params), *followers])


@pytest.mark.parametrize(
    "lead",
    [
        (),
        (notification("notifications/initialized"),),
        (notification("notifications/initialized", {"_meta": {}}),),
        (notification("notifications/initialized", {"_meta": 1}),),
        (notification("notifications/initialized", {"x": 1}),),
        (notification("notifications/other"), notification("notifications/cancelled", {"requestId": 1})),
    ],
)
def test_notifications_before_the_first_request_answer_like_the_sdk(lead: tuple[Json, ...]) -> None:
    """A bare end of the handshake opens a legacy connection, as with the SDK; other notifications do nothing."""
    check([request(0, "tools/list"), request(0, "tools/call", {"name": "plan_status"}), request(0, "x")], first=lead)


@pytest.mark.parametrize("version", [*WRONG, "2023-01-01", "2025-06-18", "2099-01-01", "2026-07-28", *LEGACY])
def test_protocol_versions_are_negotiated_alike(version: Json) -> None:
    """Both servers treat every requested protocol version alike: negotiated in the handshake, refused in an
    envelope.
    """
    hello = initialize()
    hello["params"]["protocolVersion"] = version
    check([hello, request(0, "tools/list")])
    meta = {**MODERN_META, "io.modelcontextprotocol/protocolVersion": version}
    check([request(0, "tools/list", {"_meta": meta}), hello, modern(0, "tools/list")])


def test_repeated_handshake_is_answered_alike() -> None:
    """A handshake may be repeated, with another version."""
    check([initialize(0, LEGACY[0]), initialize(0, LEGACY[-1]), request(0, "tools/list")])


@pytest.mark.parametrize("id", [0, -1, 2**53, 2**64, 10**100, "", "x", "7", "é\u2028😀", "\n", "null"])
def test_ids_are_returned_unchanged(id: Json) -> None:
    """Every id is returned unchanged."""
    for message in (request(id, "ping"), request(id, "x"), request(id, "tools/call", {"name": "plan_status"})):
        ours, theirs = compare([initialize("first"), message])
        assert ours == theirs
        assert id in [answer["id"] for answer in ours]


CYCLE: tuple[tuple[str, Json], ...] = (
    ("plan_status", {}),
    ("plan_start", {"topic": "Tö\u2028pic", "issues": ["A", "B"], "research_summary": ""}),
    ("plan_decide", {"issue_id": "1", "decision": "Yes"}),
    ("plan_update", {"action": "explode"}),
    ("plan_decide", {"issue_id": True, "decision": "Yes"}),
    ("task_add", {"title": "T", "context": "C", "deps": [7]}),
    ("task_add", {"title": "T", "context": "C", "more": 1}),
    ("task_update", {"id": 2**64, "status": "completed"}),
    ("task_list", {}),
    ("artifact_write", {"filename": "a/b.md", "content": "x"}),
    ("artifact_write", {"filename": "../b.md", "content": "x"}),
    ("context", {}),
    ("task_close", {}),
    ("history_search", {"query": "tö"}),
    ("nothing", {}),
    ("nx_context", {}),
)


@pytest.mark.parametrize("version", [*LEGACY, "2026-07-28"])
@pytest.mark.parametrize("prefix", ["", "nx_"])
def test_tool_calls_answer_alike_in_every_revision(version: str, prefix: str) -> None:
    """A whole cycle of calls, failing ones included, has the same answers in every revision."""
    calls = [{"name": prefix + name, "arguments": arguments} for name, arguments in CYCLE]
    if version == "2026-07-28":
        messages = [modern(0, "tools/list"), *(modern(0, "tools/call", **params) for params in calls)]
    else:
        messages = [initialize(0, version), *(request(0, "tools/call", params) for params in calls)]
    ours, theirs = compare(numbered(messages), prefix)
    assert ours == theirs
    assert len(ours) == len(messages)
