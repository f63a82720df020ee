"""Reads of 2026-07-28 are answered without the tasks that watch for cancellation."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.server.http import tokens
from nexus_mcp.server.http.rights import Rights
from nexus_mcp.server.messages import parse
from nexus_mcp.server.sdk.handlers import build_server
from nexus_mcp.web.listening import bind
from nexus_mcp.workspace import Workspace
from tests.server.http.serving import Client, headers_of, make_token
from tests.server.http.test_guard import run
from tests.server.http.test_protocol import until
from tests.wire.connection import modern

if TYPE_CHECKING:
    from pathlib import Path

READ = modern(1, "tools/call", name="task_list", arguments={})


def test_read_that_waits_is_refused_when_its_token_is_revoked(tmp_path: Path) -> None:
    """The read gets its turn after the token was revoked: the answer is dropped, and the client gets 503."""

    async def work(client: Client) -> None:
        assert (await client.modern(READ)).status == 200
        client.token = make_token(tmp_path, "laptop")
        (mount,) = client.service.mounts.opened_mounts
        await mount.turns.begin()
        reply = client.begin("POST", "/mcp", READ, **headers_of(READ))
        await until(lambda: client.service.callers.requests)
        tokens.revoke(str(tmp_path / "tokens.json"), "laptop")
        await client.app.refresh()
        mount.turns.give_up()
        assert ((await reply.wait()).status, reply.body) == (503, b"The server has ended this request.\n")

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tools/call", {"name": "x_task_list"}, True),
        ("tools/call", {"name": "x_task_add"}, False),
        ("tools/call", {"name": "x_task_close"}, False),
        ("tools/call", {"name": "task_list"}, False),
        ("tools/call", {"name": 1}, False),
        ("tools/list", {}, True),
        ("resources/read", {"uri": "nexus://tasks"}, True),
        ("subscriptions/listen", {"notifications": {}}, False),
        ("tools/call", {"name": "x_task_list", "_meta": {"progressToken": 1}}, False),
    ],
)
def test_only_reads_without_notifications_are_plain(method: str, params: dict[str, object], expected: bool) -> None:
    """A write can be cancelled, a stream has to be, and progress is a notification."""
    message = parse(json.dumps(modern(1, method) | {"params": params}).encode())
    assert message is not None
    assert Rights("x_").ends_by_itself(message) is expected


def test_sdk_gets_the_schema_of_a_tool(tmp_path: Path) -> None:
    """It would list all tools for each call otherwise. A tool that does not exist has no schema."""
    app = App(Workspace(str(tmp_path)))
    lookup = build_server(app).get_tool_input_schema
    assert lookup is not None
    table = {tool["name"]: tool["inputSchema"] for tool in app.tools()}
    assert {name: lookup(name) for name in table} == table
    assert lookup("other") is None


def test_socket_names_its_protocol() -> None:
    """asyncio sets TCP_NODELAY for such a socket only: a response of two parts would wait for a delayed ACK."""
    with bind("127.0.0.1", 0, holder="", next_step="") as listener:
        assert listener.proto == socket.IPPROTO_TCP
