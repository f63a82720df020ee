"""The two eras of the protocol, answer by answer; tests/differential/ compares them with the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import NAMES
from tests.wire.connection import (
    LEGACY,
    META,
    Json,
    Talk,
    call,
    error,
    exchange,
    initialize,
    modern,
    notification,
    request,
)
from tests.wire.fake_tools import DEFINITION, FakeApp

if TYPE_CHECKING:
    from nexus_mcp.server.app import App

INFO = {"name": "nexus-mcp", "title": "Nexus", "version": "0.0.0"}
STAMP = {"io.modelcontextprotocol/serverInfo": INFO}
ECHOED = {
    "content": [{"type": "text", "text": "text"}],
    "structuredContent": {"a": 1},
    "isError": False,
}
REFUSED = {"code": -32602, "message": "Invalid request parameters", "data": ""}
OFFERED = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": True},
    "tools": {"listChanged": False},
}
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def ok(id: Json, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def welcome(version: str) -> Json:
    return {
        "protocolVersion": version,
        "capabilities": OFFERED,
        "serverInfo": INFO,
        "instructions": "Say it in order.",
    }


def answers(*messages: Json) -> list[Json]:
    return exchange(FakeApp().as_app(), messages)


@pytest.mark.parametrize("version", LEGACY)
def test_handshake_agrees_on_each_revision(version: str) -> None:
    """Each revision of the handshake era is agreed on, and then ping, tools/list and tools/call are served."""
    messages = [
        initialize(0, version),
        notification("notifications/initialized"),
        request(1, "ping"),
        request(2, "tools/list"),
        call(3, "echo", a=1),
    ]
    tools = {"tools": [DEFINITION]}
    assert answers(*messages) == [ok(0, welcome(version)), ok(1, {}), ok(2, tools), ok(3, ECHOED)]


@pytest.mark.parametrize("version", ["2024-10-07", "2025-11-26", "2099-01-01", "2026-07-28", ""])
def test_unknown_revision_gets_the_newest(version: str) -> None:
    """An unknown revision is answered with the newest of the handshake era."""
    assert answers(initialize(0, version)) == [ok(0, welcome("2025-11-25"))]


@pytest.mark.requirement("protocol.method")
def test_only_ping_is_served_before_the_handshake() -> None:
    """Before the handshake only ping is served; an unknown method gets its own error."""
    messages = [
        request(1, "tools/list"),
        request(2, "ping"),
        call(3, "echo"),
        request(4, "logging/setLevel", {"level": "info"}),
        request(5, "server/discover"),
        request(6, "prompts/list"),
        request(7, "resources/subscribe", {"uri": "nexus://plan"}),
        initialize(8),
        request(9, "ping"),
    ]
    assert answers(*messages) == [
        {"jsonrpc": "2.0", "id": 1, "error": REFUSED},
        ok(2, {}),
        {"jsonrpc": "2.0", "id": 3, "error": REFUSED},
        error(4, -32601, "Method not found", data="logging/setLevel"),
        error(5, -32601, "Method not found", data="server/discover"),
        {"jsonrpc": "2.0", "id": 6, "error": REFUSED},
        {"jsonrpc": "2.0", "id": 7, "error": REFUSED},
        ok(8, welcome("2025-11-25")),
        ok(9, {}),
    ]


def test_revision_2026_needs_no_handshake() -> None:
    """2026-07-28 needs no handshake; results carry resultType and serverInfo, discover and lists also cache hints."""
    messages = [
        modern(1, "server/discover"),
        modern(2, "tools/list"),
        modern(3, "tools/call", name="echo", arguments={"a": 1}),
        modern(4, "ping"),
    ]
    hints = {"ttlMs": 3_600_000, "cacheScope": "public"}
    listening = {"prompts": {"listChanged": True}, "resources": {"listChanged": True, "subscribe": True}}
    discovered = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {**OFFERED, **listening, "extensions": {"io.modelcontextprotocol/skills": {}}},
        "instructions": "Say it in order.",
    }
    complete = {"resultType": "complete", "_meta": STAMP}
    assert sorted(answers(*messages), key=lambda answer: int(answer["id"])) == [
        ok(1, {**complete, **discovered, **hints}),
        ok(2, {**complete, "tools": [DEFINITION], **hints}),
        ok(3, {**complete, **ECHOED}),
        error(4, -32601, "Method not found", data="ping"),
    ]


@pytest.mark.parametrize("missing", [VERSION, CAPABILITIES])
def test_missing_envelope_key_is_named(missing: str) -> None:
    """Each request of a modern connection needs both keys of the envelope; the error names the missing one."""
    meta = {key: value for key, value in META.items() if key != missing}
    found = answers(modern(1, "server/discover"), request(2, "tools/list", {"_meta": meta}))
    assert found[1] == error(2, -32602, f"params._meta is missing the required envelope key(s): {missing}")


@pytest.mark.parametrize("params", [None, {}, {"_meta": None}, {"_meta": [VERSION]}])
def test_missing_envelope_is_explained(params: Json) -> None:
    """A request without an envelope on a modern connection gets an error that names the needed keys."""
    need = f"params._meta must be an object carrying the required {VERSION!r} and {CAPABILITIES!r} envelope keys"
    assert answers(modern(1, "tools/call", name="echo"), request(2, "ping", params))[0] == error(2, -32602, need)


def test_other_envelope_version_is_refused() -> None:
    """A version other than 2026-07-28 in an envelope is refused with the supported and the requested version."""
    meta = {**META, VERSION: "2027-01-01"}
    supported = {"supported": ["2026-07-28"], "requested": "2027-01-01"}
    refused = error(1, -32022, "Unsupported protocol version", data=supported)
    assert answers(request(1, "tools/list", {"_meta": meta})) == [refused]


def test_first_request_fixes_the_era() -> None:
    """A legacy connection refuses the envelope, a modern one the handshake; neither takes effect later."""
    own = (
        "this connection serves the handshake protocol era; "
        "requests carrying the 2026-07-28 envelope are not accepted on it"
    )
    assert answers(request(1, "ping"), modern(2, "tools/list"), initialize(3)) == [
        ok(1, {}),
        error(2, -32600, own),
        ok(3, welcome("2025-11-25")),
    ]
    late = "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted"
    data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
    found = answers(request(1, "ping", {"_meta": {VERSION: 1}}), initialize(2), modern(3, "ping"))
    assert found == [
        error(1, -32602, f"params._meta is missing the required envelope key(s): {CAPABILITIES}"),
        error(2, -32022, late, data=data),
        error(3, -32601, "Method not found", data="ping"),
    ]


def test_notifications_and_bad_lines_fix_no_era() -> None:
    """Notifications and faulty lines before the first request decide nothing."""
    talk = Talk(FakeApp().as_app())
    talk.send(
        notification("notifications/initialized"), b"nonsense\n", [initialize()], {**initialize(), "jsonrpc": "1"}
    )
    assert [talk.receive()["error"]["code"] for _ in range(3)] == [-32700, -32600, -32600]
    assert talk.ask(modern(1, "server/discover"))["result"]["supportedVersions"] == ["2026-07-28"]
    assert talk.end() == []


@pytest.mark.requirement("protocol.params")
@pytest.mark.parametrize(
    "params",
    [None, {}, {"name": 1}, {"name": None}, {"name": "echo", "arguments": []}, {"name": "echo", "arguments": "{}"}],
)
def test_wrong_params_never_reach_a_tool(params: Json) -> None:
    """Params of the wrong shape never reach a tool."""
    fake = FakeApp()
    found = exchange(fake.as_app(), [initialize(), request(1, "tools/call", params)])
    assert found[1] == {"jsonrpc": "2.0", "id": 1, "error": REFUSED}
    assert fake.events == []


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}])
def test_missing_arguments_are_read_as_empty(arguments: Json) -> None:
    """Missing and null arguments are none."""
    found = exchange(FakeApp().as_app(), [initialize(), request(1, "tools/call", {"name": "echo", **arguments})])
    assert found[1]["result"]["structuredContent"] == {}


@pytest.mark.parametrize(("cursor", "code"), [(None, None), ("", None), ("x", -32602), (1, -32602)])
def test_cursor_of_the_tool_list_is_refused(cursor: Json, code: int | None) -> None:
    """The list has one page: an empty cursor is none, any other is refused."""
    found = answers(initialize(), request(1, "tools/list", {"cursor": cursor}))[1]
    assert found.get("error", {}).get("code") == code


@pytest.mark.requirement("protocol.beyond")
@pytest.mark.parametrize("version", [*LEGACY, "2026-07-28"])
def test_wire_adds_only_the_envelope_to_the_tools(app: App, version: str) -> None:
    """The wire adds nothing to the tools of the table and their results but the envelope of the revision."""
    alone = {"content": [{"type": "text", "text": '{"active":false}'}], "structuredContent": {"active": False}}
    if version == "2026-07-28":
        found = exchange(app, [modern(1, "tools/list"), modern(2, "tools/call", name="plan_status")])
        envelope = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": app.server_info}}
        cached = {"ttlMs": 3_600_000, "cacheScope": "public"}
    else:
        found = exchange(app, [initialize(0, version), request(1, "tools/list"), call(2, "plan_status")])[1:]
        envelope, cached = {}, {}
    assert [tool["name"] for tool in found[0]["result"]["tools"]] == list(NAMES)
    assert found == [
        ok(1, {**envelope, **cached, "tools": app.tools()}),
        ok(2, {**envelope, **alone, "isError": False}),
    ]
