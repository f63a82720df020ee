"""Progress notifications of long calls: their receiver, their order and their end."""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp import progress
from nexus_mcp.server.sdk import reporting
from tests.server.http.serving import Client, Reply, headers_of
from tests.server.http.test_guard import run
from tests.wire.connection import call, initialize, modern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = Any
ADD = {"title": "T", "context": "C"}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report without long waits."""
    monkeypatch.setattr(reporting, "INTERVAL_S", 0.001)


@contextmanager
def locked(tmp_path: Path) -> Iterator[None]:
    """Hold the lock of the project, as another process does."""
    state = tmp_path / "project" / ".nexus" / "state"
    state.mkdir(parents=True, exist_ok=True)
    fd = os.open(state / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def adding(client: Client, id: Json, token: Json, *, is_modern: bool = True) -> Reply:
    """Begin a call of task_add, with a progress token unless it is None."""
    meta = {} if token is None else {"progressToken": token}
    if is_modern:
        message = modern(id, "tools/call", name="task_add", arguments=ADD)
        message["params"]["_meta"] = {**message["params"]["_meta"], **meta}
        return client.begin("POST", "/mcp", message, **headers_of(message))
    message = call(id, "task_add", **ADD)
    if meta:
        message["params"]["_meta"] = meta
    return client.begin("POST", "/mcp", message, mcp_session_id=client.session)


def reports(reply: Reply) -> list[Json]:
    return [one["params"] for one in reply.messages if one.get("method") == "notifications/progress"]


def stages(reply: Reply) -> set[str]:
    return {one["message"] for one in reports(reply)}


@pytest.mark.parametrize("is_modern", [True, False], ids=["modern", "session"])
@pytest.mark.parametrize("token", ["a token", 0], ids=str)
def test_wait_for_the_lock_is_reported(tmp_path: Path, is_modern: bool, token: Json) -> None:
    """A call that waits for another process reports increasing progress under its token, and nothing after its
    response.
    """

    async def work(client: Client) -> None:
        if not is_modern:
            await client.legacy(initialize())
        with locked(tmp_path):
            reply = adding(client, 7, token, is_modern=is_modern)
            await reply.until(lambda one: progress.WAITING_FOR_LOCK in stages(one) and len(reports(one)) > 3)
        await reply.wait()
        *before, last = reply.messages
        assert (last["id"], last["result"]["isError"]) == (7, False)
        assert {one["method"] for one in before} == {"notifications/progress"}
        assert {one["progressToken"] for one in reports(reply)} == {token}
        values = [one["progress"] for one in reports(reply)]
        assert values == sorted(set(values))
        assert not any("total" in one for one in reports(reply))

    run(tmp_path, work)


def test_wait_for_an_earlier_call_is_reported(tmp_path: Path) -> None:
    """A call that waits for its turn reports that; the call before it, without a progress token, reports nothing."""

    async def work(client: Client) -> None:
        with locked(tmp_path):
            first = adding(client, 1, None)
            second = adding(client, 2, "t")
            await second.until(lambda one: progress.WAITING_FOR_TURN in stages(one))
        assert [one["id"] for one in (await first.wait()).messages] == [1]
        assert (await second.wait()).message["result"]["isError"] is False

    run(tmp_path, work)


def test_short_call_sends_no_notification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that ends before the first notification is due answers as without a token."""
    monkeypatch.setattr(reporting, "INTERVAL_S", 3600)

    async def work(client: Client) -> None:
        reply = await adding(client, 1, "t").wait()
        assert (reply.headers["content-type"], len(reply.messages)) == ("application/json", 1)

    run(tmp_path, work)


def test_client_that_leaves_ends_its_notifications(tmp_path: Path) -> None:
    """A cancelled call ends its reports, and the next call is served."""

    async def work(client: Client) -> None:
        with locked(tmp_path):
            reply = adding(client, 1, "t")
            await reply.until(lambda one: len(reports(one)) > 1)
            leaving = asyncio.ensure_future(reply.leave())
        await leaving
        (mount,) = client.service.mounts.opened_mounts
        await mount.wait_until_idle(60)
        assert [task for task in asyncio.all_tasks() if "_send_all" in repr(task)] == []
        assert (await adding(client, 2, None).wait()).message["result"]["isError"] is False

    run(tmp_path, work)
