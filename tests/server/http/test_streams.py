"""Subscriptions of several sessions and requests, their end, and the end of the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.server import _streamable_http_modern
from mcp.server.session import ServerSession
from sse_starlette import EventSourceResponse

from nexus_mcp.server.http.service import LOCAL
from nexus_mcp.server.subscriptions.streams import MOST_STREAMS
from tests.server.http.serving import Client, Reply, headers_of
from tests.server.http.test_guard import run
from tests.wire.connection import call, initialize, modern, request

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

Json = Any
TASKS = "nexus://tasks"


def listening(client: Client, id: Json, **wanted: Json) -> Reply:
    """Open a stream of 2026-07-28."""
    message = modern(id, "subscriptions/listen", notifications=wanted or {"resourceSubscriptions": [TASKS]})
    return client.begin("POST", "/mcp", message, **headers_of(message))


async def opened(client: Client) -> Reply:
    """Begin a session of the client, and open its stream."""
    await client.legacy(initialize())
    stream = client.begin("GET", mcp_session_id=client.session)
    return await stream.until(lambda reply: reply.status == 200)


async def add(client: Client) -> None:
    await client.modern(modern(9, "tools/call", name="task_add", arguments={"title": "T", "context": "C"}))


def updates(reply: Reply) -> list[str]:
    return [one["params"]["uri"] for one in reply.messages if one.get("method") == "notifications/resources/updated"]


def test_each_session_gets_what_it_subscribed_to(tmp_path: Path) -> None:
    """Two sessions subscribe; one unsubscribes, one ends: only the subscribed one is notified, on its own stream."""

    async def work(client: Client) -> None:
        second, third = Client(client.app, client.service), Client(client.app, client.service)
        streams = [await opened(one) for one in (client, second, third)]
        for one in (client, second, third):
            assert (await one.legacy(request(1, "resources/subscribe", {"uri": TASKS}))).message["result"] == {}
        assert (await second.legacy(request(2, "resources/unsubscribe", {"uri": TASKS}))).message["result"] == {}
        await third.request("DELETE", mcp_session_id=third.session)
        await add(client)
        await streams[0].until(lambda reply: updates(reply) == [TASKS])
        assert (updates(streams[1]), updates(streams[2])) == ([], [])
        (mount,) = client.service.mounts.opened_mounts
        assert len(mount._server.subscribing._outboxes) == 2
        await second.close()
        await third.close()

    run(tmp_path, work)


def test_listen_requests_of_several_clients_are_independent(tmp_path: Path) -> None:
    """The same id in two requests is no conflict over HTTP; a closed one gets nothing more, the other does."""

    async def work(client: Client) -> None:
        first, second = listening(client, 1), listening(client, 1)
        for one in (first, second):
            await one.until(lambda reply: len(reply.messages) == 1)
            assert one.headers["x-accel-buffering"] == "no"
        await first.leave()
        await add(client)
        await second.until(lambda reply: updates(reply) == [TASKS])
        assert updates(first) == []

    run(tmp_path, work)


def test_streams_of_a_token_are_bounded(tmp_path: Path) -> None:
    """Beyond the limit a listen request gets an error, also for the streams of ended requests."""

    async def work(client: Client) -> None:
        streams = [listening(client, id) for id in range(MOST_STREAMS)]
        for one in streams:
            await one.until(lambda reply: bool(reply.messages))
        refused = await listening(client, 99).wait()
        assert "limit reached" in refused.message["error"]["message"]
        await streams[0].leave()
        again = await listening(client, 99).until(lambda reply: bool(reply.messages))
        assert again.message["method"] == "notifications/subscriptions/acknowledged"

    run(tmp_path, work)


def test_end_of_the_server_answers_streams_and_calls(tmp_path: Path) -> None:
    """At the end, listen requests get the last changes and their result, session streams end, and a call that was read
    is answered.
    """

    async def work(client: Client) -> None:
        session = await opened(client)
        listen = await listening(client, 1).until(lambda reply: bool(reply.messages))
        (mount,) = client.service.mounts.opened_mounts
        await mount.turns.begin()
        waiting = client.begin("POST", "/mcp", call(5, "task_list"), mcp_session_id=client.session)
        await waiting.until(lambda reply: reply.status == 200)
        client.app.begin_end()
        await listen.wait()
        await session.wait()
        mount.turns.give_up()
        assert (await waiting.wait()).message["result"]["structuredContent"] == {"exists": False}
        assert listen.message["id"] == 1
        assert "result" in listen.message

    run(tmp_path, work)


def test_slow_reader_holds_up_no_other_client(tmp_path: Path) -> None:
    """A stream whose client does not read costs one notification of each kind; calls and other streams go on."""

    async def work(client: Client) -> None:
        blocked = asyncio.Event()
        message = modern(1, "subscriptions/listen", notifications={"resourceSubscriptions": [TASKS]})
        other = await listening(client, 2).until(lambda reply: bool(reply.messages))
        slow = client.begin("POST", "/mcp", message, **headers_of(message))
        await slow.until(lambda reply: bool(reply.messages))
        async with slow.changed:  # its `send` waits for this lock
            for count in (1, 2, 3):
                await add(client)
                await other.until(lambda reply, count=count: len(updates(reply)) == count)  # type: ignore[misc]
            (mount,) = client.service.mounts.opened_mounts
            assert sum(len(box._waiting) for box in mount._server.subscribing._open) <= 1
        blocked.set()
        await slow.until(lambda reply: len(updates(reply)) >= 2)
        assert len(updates(slow)) <= 3

    run(tmp_path, work)


def test_notification_that_fails_ends_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in one notification is logged, and the project is served as before."""

    async def fail(*_: Any) -> None:
        raise RuntimeError("defect")

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        await client.legacy(request(1, "resources/subscribe", {"uri": TASKS}))
        await add(client)
        (mount,) = client.service.mounts.opened_mounts
        await mount.end_streams()
        assert (await client.modern(modern(2, "tools/list"))).status == 200
        assert (await client.legacy(call(3, "task_list"))).status == 200

    monkeypatch.setattr(ServerSession, "send_resource_updated", fail)
    run(tmp_path, work)


def test_idle_streams_send_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In both eras an idle stream sends comments, so that no proxy takes it for dead."""
    monkeypatch.setattr(_streamable_http_modern, "_SSE_PING_INTERVAL", 0.01)
    monkeypatch.setattr(EventSourceResponse, "DEFAULT_PING_INTERVAL", 0.01)

    async def work(client: Client) -> None:
        for stream in (await opened(client), listening(client, 1)):
            await stream.until(lambda reply: reply.text.count(": ping") > 1)
            assert stream.headers["x-accel-buffering"] == "no"

    run(tmp_path, work)


def test_generated_token_has_a_name(tmp_path: Path) -> None:
    """The token of a server on loopback is called local."""

    async def work(client: Client) -> None:
        found = client.service.tokens.find(client.token)
        assert found is not None
        assert (found.name, found.projects) == (LOCAL, None)

    run(tmp_path, work)
