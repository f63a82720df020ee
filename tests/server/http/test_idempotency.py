"""Idempotency keys over HTTP and stdio: they belong to a holder, and survive a restart."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import serve_sdk
from nexus_mcp.server.stdio import serve
from nexus_mcp.state.idempotency import META_NAME
from nexus_mcp.workspace import Workspace
from tests.server.http.serving import Client, headers_of, make_token, serving
from tests.server.http.test_guard import run
from tests.server.http.test_process import Server
from tests.support import Project
from tests.wire.connection import META, Talk, call, initialize, modern, notification

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = Any
TASK = {"title": "Once", "context": "because"}


def keyed(key: Json, id_: int = 1, tool: str = "task_add", **arguments: Json) -> Json:
    """Return a call of 2026-07-28 with a key."""
    return modern(id_, "tools/call", name=tool, arguments=arguments or TASK, _meta={**META, META_NAME: key})


def legacy(key: Json, id_: int = 1) -> Json:
    """Return a call of the handshake era with a key."""
    message = call(id_, "task_add", **TASK)
    message["params"]["_meta"] = {META_NAME: key}
    return message


def task_in(answer: Json) -> Json:
    return answer["result"]["structuredContent"]["task"]


def titles(root: Path) -> list[str]:
    return [task["title"] for task in Project(root).json("state/tasks.json")["tasks"]]


def test_retry_gets_the_first_answer_in_both_eras(tmp_path: Path) -> None:
    """The key of a token holds across sessions and eras; the second answer is the first one under its own id."""

    async def work(client: Client) -> None:
        first = (await client.modern(keyed("key", 1))).message
        assert (await client.modern(keyed("key", 2))).message == {**first, "id": 2}
        await client.legacy(initialize())
        assert task_in((await client.legacy(legacy("key", 3))).message) == task_in(first)
        other = (await client.modern(keyed("other"))).message
        assert task_in(other)["id"] == 2

    run(tmp_path, work)


def test_key_belongs_to_its_token(tmp_path: Path) -> None:
    """Two tokens use one key for two calls, and with other arguments the key of a token is an error."""

    async def work(client: Client) -> None:
        for name in ("one", "two"):
            token = make_token(tmp_path, name)
            for _ in range(2):
                assert (await client.modern(keyed("key"), token=token)).status == 200
        assert len(titles(tmp_path / "project")) == 2
        refused = (await client.modern(keyed("key", title="Other", context="x"), token=token)).message["result"]
        assert refused["isError"]

    run(tmp_path, work)


def test_concurrent_requests_with_one_key_are_carried_out_once(tmp_path: Path) -> None:
    """Twenty requests at once get one answer."""

    async def work(client: Client) -> None:
        replies = await asyncio.gather(*(client.modern(keyed("key", number)) for number in range(20)))
        assert {str(task_in(reply.message)) for reply in replies} == {str(task_in(replies[0].message))}
        assert titles(tmp_path / "project") == ["Once"]

    run(tmp_path, work)


def test_retry_after_a_lost_answer_is_carried_out_once(tmp_path: Path) -> None:
    """A client that goes away before it has the answer, and repeats the call, makes one change."""

    async def work(client: Client) -> None:
        message = keyed("key")
        for _ in range(5):
            reply = client.begin("POST", "/mcp", message, **headers_of(message))
            await asyncio.sleep(0)
            await reply.leave()
        assert task_in((await client.modern(message)).message)["id"] == 1
        assert titles(tmp_path / "project") == ["Once"]

    run(tmp_path, work)


def test_malformed_key_is_an_error_of_the_call(tmp_path: Path) -> None:
    """The result says what is wrong with the key; a tool that only reads ignores it."""

    async def work(client: Client) -> None:
        for key in (5, "", "x" * 256, None):
            result = (await client.modern(keyed(key))).message["result"]
            assert "is not usable" in result["structuredContent"]["error"]
            listed = modern(1, "tools/call", name="task_list", arguments={}, _meta={**META, META_NAME: key})
            assert (await client.modern(listed)).message["result"]["structuredContent"] == {"exists": False}

    run(tmp_path, work)


def test_generated_token_keeps_its_keys_after_a_restart(tmp_path: Path) -> None:
    """Each run has another token, but the client that repeats its calls is the same."""

    async def work() -> None:
        answers = []
        for _ in range(2):
            async with serving(tmp_path) as client:
                answers.append(task_in((await client.modern(keyed("key"))).message))
        assert answers[0] == answers[1]

    asyncio.run(work())


@pytest.mark.parametrize("server", [serve, serve_sdk])
def test_keys_hold_on_stdio(tmp_path: Path, server: Callable[..., int]) -> None:
    """A client that starts the server anew repeats its call, in either era, and gets the first answer."""
    answers = []
    for hello, messages in (
        ([], [keyed("key", 1), keyed("key", 2)]),
        ([initialize(), notification("notifications/initialized")], [legacy("key", 3)]),
    ):
        talk = Talk(App(Workspace(str(tmp_path))), server)
        talk.send(*hello)
        if hello:
            talk.receive()
        answers += [task_in(talk.ask(message)) for message in messages]
        talk.end()
    assert answers == [answers[0]] * 3
    assert titles(tmp_path) == ["Once"]


def test_keys_survive_kill_9(tmp_path: Path) -> None:
    """After kill -9 the next server gives a repeated call the answer of the killed server."""
    folder = tmp_path / "project"
    folder.mkdir()
    first = Server(folder)
    status, answer = first.ask(keyed("key"))
    assert status == 200
    first.end(signal.SIGKILL)
    again = Server(folder)
    assert again.ask(keyed("key", 7))[1] == {**answer, "id": 7}
    again.end(signal.SIGKILL)
    assert titles(folder) == ["Once"]
