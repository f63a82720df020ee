"""Limits of requests and sessions, readiness, and requests that the SDK would treat wrongly."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.errors import StorageError
from nexus_mcp.server.app import App
from nexus_mcp.server.http import health
from nexus_mcp.server.http.limits import Limits, Rates
from nexus_mcp.server.methods import META
from nexus_mcp.store.store import Store
from tests.server.http.serving import Client, headers_of
from tests.server.http.test_guard import run
from tests.support import SMALLEST, Project
from tests.wire.connection import call, initialize, modern, notification, request

if TYPE_CHECKING:
    from pathlib import Path

Json = Any


def test_sessions_are_bounded(tmp_path: Path) -> None:
    """Beyond the limit no session is opened until one ends."""

    async def work(client: Client) -> None:
        assert (await client.legacy(initialize())).status == 200
        assert (await client.request("POST", "/mcp", initialize())).status == 503
        await client.request("DELETE", mcp_session_id=client.session)
        assert (await client.request("POST", "/mcp", initialize())).status == 200

    run(tmp_path, work, limits=replace(Limits(), sessions=1))


def test_sessions_that_are_opened_at_once_are_bounded(tmp_path: Path) -> None:
    """Requests that open sessions count before their responses begin."""

    async def work(client: Client) -> None:
        replies = [client.begin("POST", "/mcp", initialize()) for _ in range(3)]
        statuses = [(await reply.wait()).status for reply in replies]
        assert (sorted(statuses), len(client.service.callers.sessions)) == ([200, 503, 503], 1)

    run(tmp_path, work, limits=replace(Limits(), sessions=2))


def test_idle_session_ends(tmp_path: Path) -> None:
    """A session without a request for the idle time is ended; one with an open stream is not."""

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        stream = client.begin("GET", mcp_session_id=client.session)
        await stream.until(lambda reply: reply.status == 200)
        assert client.service.callers.expired_sessions() == []
        await stream.leave()
        (session,) = client.service.callers.expired_sessions()
        await client.app._end_session(session)
        assert (await client.legacy(call(1, "task_list"))).status == 404

    run(tmp_path, work, limits=replace(Limits(), session_idle_s=0.0))


def test_session_of_a_project_that_has_ended_is_forgotten(tmp_path: Path) -> None:
    """A session that was opened while its project ended has nothing left to end."""

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        await client.service.mounts.opened_mounts[0].stop()
        await client.app.end_expired()
        assert not client.service.callers.sessions

    run(tmp_path, work, limits=replace(Limits(), session_idle_s=0.0))


def test_open_requests_are_bounded(tmp_path: Path) -> None:
    """Beyond the limit a request gets 503 with Retry-After."""

    async def work(client: Client) -> None:
        listen = modern(1, "subscriptions/listen", notifications={"promptsListChanged": True})
        stream = client.begin("POST", "/mcp", listen, **headers_of(listen))
        await stream.until(lambda reply: bool(reply.messages))
        reply = await client.modern(modern(2, "tools/list"))
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        await stream.leave()
        assert (await client.modern(modern(2, "tools/list"))).status == 200

    run(tmp_path, work, limits=replace(Limits(), requests=1))


def test_rate_is_for_each_token() -> None:
    """A token has the requests of ten seconds at once, then one after the other; another token has its own."""
    now = [0.0]
    rates = Rates(120, lambda: now[0])
    assert [rates.wait_s("a") for _ in range(20)] == [0.0] * 20
    assert rates.wait_s("a") == pytest.approx(0.5)
    assert rates.wait_s("b") == 0.0
    now[0] = 0.5
    assert (rates.wait_s("a"), rates.wait_s("a") > 0) == (0.0, True)
    assert [Rates(0).wait_s("a") for _ in range(1000)] == [0.0] * 1000


def test_rate_is_answered_with_429(tmp_path: Path) -> None:
    """Beyond the rate the response is 429 with Retry-After."""

    async def work(client: Client) -> None:
        for _ in range(10):
            assert (await client.modern(modern(1, "tools/list"))).status == 200
        reply = await client.modern(modern(1, "tools/list"))
        assert (reply.status, int(reply.headers["retry-after"]) > 0) == (429, True)

    run(tmp_path, work, limits=replace(Limits(), rate=1))


def test_id_of_an_open_request_is_refused(tmp_path: Path) -> None:
    """In a session a second request with an open id, as number or text, is refused: the first would have no
    response. So is the id of the SDK's own stream.
    """

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        (mount,) = client.service.mounts.opened_mounts
        await mount.turns.begin()
        first = client.begin("POST", "/mcp", call(7, "task_list"), mcp_session_id=client.session)
        await first.until(lambda reply: reply.status == 200)
        for id in (7, "7", "_GET_stream"):
            reply = await client.legacy(call(id, "task_list"))
            assert (reply.status, reply.message["id"]) == (400, id)
        mount.turns.give_up()
        assert (await first.wait()).message["id"] == 7

    run(tmp_path, work)


def test_closing_the_stream_cancels_a_modern_call_before_it_runs(tmp_path: Path) -> None:
    """2026-07-28: a client that closes its request while the call waits for its turn cancels it."""

    async def work(client: Client) -> None:
        add = modern(1, "tools/call", name="task_add", arguments={"title": "T", "context": "C"})
        await client.modern(modern(0, "tools/list"))
        (mount,) = client.service.mounts.opened_mounts
        await mount.turns.begin()
        first = client.begin("POST", "/mcp", add, **headers_of(add))
        await asyncio.sleep(0)
        await first.leave()
        mount.turns.give_up()
        reply = await client.modern(modern(2, "tools/call", name="task_list", arguments={}))
        assert reply.message["result"]["structuredContent"] == {"exists": False}

    run(tmp_path, work)


def test_closing_the_stream_cancels_no_legacy_call(tmp_path: Path) -> None:
    """Before 2026-07-28 a closed connection is no cancellation: the call runs."""

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        (mount,) = client.service.mounts.opened_mounts
        await mount.turns.begin()
        add = call(1, "task_add", title="T", context="C")
        first = client.begin("POST", "/mcp", add, mcp_session_id=client.session)
        await first.until(lambda reply: reply.status == 200)
        await first.leave()
        mount.turns.give_up()
        reply = await client.legacy(call(2, "task_list"))
        assert reply.message["result"]["structuredContent"]["summary"]["total"] == 1

    run(tmp_path, work)


def test_close_without_a_reader_is_answered_to_the_retry(tmp_path: Path) -> None:
    """A close whose response could not be written keeps its receipt: the repeated call gets the same answer, and no
    second cycle.
    """

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        await client.legacy(call(1, "task_add", title="T", context="C"))
        (mount,) = client.service.mounts.opened_mounts
        await mount.turns.begin()
        first = client.begin("POST", "/mcp", call(2, "task_close"), mcp_session_id=client.session)
        await first.until(lambda reply: reply.status == 200)
        await first.leave()
        mount.turns.give_up()
        found = [(await client.legacy(call(id, "task_close"))).message["result"] for id in (3, 4)]
        assert [one["structuredContent"]["total_cycles"] for one in found] == [1, 2]
        assert found[0]["structuredContent"]["archived"]["tasks"] == 1
        assert not list(Project(tmp_path / "project").state.glob("closed-*"))

    run(tmp_path, work)


def test_stateless_server_offers_subscriptions_to_the_modern_era_only(tmp_path: Path) -> None:
    """With --stateless no session is opened, and resources/subscribe is neither declared nor answered."""

    async def work(client: Client) -> None:
        reply = await client.request("POST", "/mcp", initialize())
        assert "mcp-session-id" not in reply.headers
        assert reply.message["result"]["capabilities"]["resources"]["subscribe"] is False
        reply = await client.request("POST", "/mcp", request(1, "resources/subscribe", {"uri": "nexus://tasks"}))
        assert reply.message["error"]["code"] == -32601
        assert (await client.request("GET")).status == 405
        assert (await client.request("POST", "/mcp", notification("notifications/initialized"))).status == 202
        found = (await client.modern(modern(1, "server/discover"))).message["result"]["capabilities"]
        assert found["resources"]["subscribe"] is True

    run(tmp_path, work, is_stateless=True)


def test_modern_headers_are_checked(tmp_path: Path) -> None:
    """Headers that contradict the body, that are missing, or that come with an unknown version are refused."""

    async def work(client: Client) -> None:
        message = modern(1, "tools/call", name="task_list", arguments={})
        good = headers_of(message)
        assert (await client.modern(message)).headers.get("mcp-session-id") is None
        for wrong in ({"mcp-method": "tools/list"}, {"mcp-name": "context"}, {"mcp-name": None}, {"mcp-method": None}):
            assert (await client.request("POST", "/mcp", message, **{**good, **wrong})).status == 400
        other = {**message, "params": {**message["params"], "_meta": {f"{META}protocolVersion": "2099-01-01"}}}
        assert (
            await client.request("POST", "/mcp", other, **{**good, "mcp-protocol-version": "2099-01-01"})
        ).status == 400

    run(tmp_path, work)


def test_health_needs_no_token_and_readiness_asks_the_store(tmp_path: Path) -> None:
    """/healthz answers while the process runs; /readyz fails if a project is missing. Both check the Host."""

    async def work(client: Client) -> None:
        for path in ("/healthz", "/readyz"):
            reply = await client.request("GET", path, authorization=None)
            assert (reply.status, reply.text) == (200, "ok\n")
            assert (await client.request("POST", path, b"{}", authorization=None)).status == 405
            assert (await client.request("GET", path, host="evil.example")).status == 421
        (tmp_path / "project").rename(tmp_path / "moved")
        client.app._health._until = 0.0
        assert (await client.request("GET", "/readyz", authorization=None)).status == 503
        assert (await client.request("GET", "/healthz", authorization=None)).status == 200

    run(tmp_path, work)


def test_readiness_that_takes_long_keeps_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read that is late makes the server unready, and no other call runs beside it."""
    monkeypatch.setattr(health, "_WAIT_S", 0.01)
    is_free = threading.Event()

    class Slow(App):
        def check_disk(self) -> None:
            is_free.wait()
            super().check_disk()

    async def work(client: Client) -> None:
        await client.modern(modern(1, "tools/list"))
        (mount,) = client.service.mounts.opened_mounts
        try:
            assert (await client.request("GET", "/readyz", authorization=None)).status == 503
            assert mount.turns._turn.value == 0
        finally:
            is_free.set()
        await mount.turns.begin()
        mount.turns.give_up()
        client.app._health._until = 0.0
        monkeypatch.undo()
        assert (await client.request("GET", "/readyz", authorization=None)).status == 200

    run(tmp_path, work, make_app=Slow)


@pytest.mark.parametrize("file", ["plan", "tasks"])
def test_disk_that_fails_makes_the_server_unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """A read that the disk refuses gives 503. A malformed file does not: the other projects go on."""

    async def work(client: Client) -> None:
        await client.modern(modern(1, "tools/call", name="task_add", arguments=SMALLEST["task_add"]))
        tasks = tmp_path / "project" / ".nexus" / "state" / "tasks.json"
        tasks.write_text("{", encoding="utf-8")
        assert (await client.request("GET", "/readyz", authorization=None)).status == 200

        def fail(_store: Store) -> None:
            raise StorageError(f".nexus/state/{file}.json", "read", "Input/output error")

        monkeypatch.setattr(Store, file, fail)
        client.app._health._until = 0.0
        reply = await client.request("GET", "/readyz", authorization=None)
        assert (reply.status, reply.text) == (503, "not ready\n")

    run(tmp_path, work)


def test_readiness_asks_the_store_whatever_the_tools_are_called(tmp_path: Path) -> None:
    """A prefix of the names of tools makes no project look broken."""

    async def work(client: Client) -> None:
        await client.modern(modern(1, "tools/list"))
        assert (await client.request("GET", "/readyz", authorization=None)).status == 200

    run(tmp_path, work, make_app=lambda workspace: App(workspace, "shop_"))


def test_defect_of_a_call_ends_no_other(tmp_path: Path) -> None:
    """A call that fails unexpectedly is answered, and the next one is, too."""

    class Broken(App):
        def call(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("secret")

    async def work(client: Client) -> None:
        for id in (1, 2):
            reply = await client.modern(modern(id, "tools/call", name="task_list", arguments={}))
            assert reply.message["error"] == {"code": -32603, "message": "Internal server error"}

    run(tmp_path, work, make_app=Broken)
