"""The guard checks Host, Origin, token, project, right and session, in both eras."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.http import asgi, tokens
from nexus_mcp.server.http.mounts import Mount
from nexus_mcp.server.http.rights import right_of
from nexus_mcp.tools import TOOLS
from tests.server.http.serving import HOST, LIMIT_S, Client, headers_of, make_token, serving
from tests.support import Project
from tests.wire.connection import call, initialize, modern, notification, request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

Json = Any
NO_SUCH_PROJECT = (404, "There is no such project here.\n")


def run(tmp_path: Path, work: Callable[[Client], Awaitable[None]], **settings: Any) -> None:
    """Run `work` with a client of a new server."""

    async def served() -> None:
        async with serving(tmp_path, **settings) as client:
            await work(client)

    asyncio.run(served())


HOSTS = {HOST: True, HOST.upper(): True, "localhost:8750": True, "localhost": False, "localhost:evil.example": False,
         "127.0.0.1:8751": False, "evil.example": False, "": False}  # fmt: skip
ORIGINS = {None: True, f"http://{HOST}": True, "http://localhost:8750": True, "null": False, f"https://{HOST}": False,
           "http://evil.example": False, f"http://{HOST}.evil.example": False}  # fmt: skip


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_every_wrong_combination_of_host_origin_and_token_is_refused(tmp_path: Path, era: str) -> None:
    """Only requests with a right Host, Origin (or none) and token pass; the first wrong value gives the status."""

    async def work(client: Client) -> None:
        async def send(**more: Any) -> int:
            if era == "modern":
                return (await client.modern(modern(1, "tools/list"), **more)).status
            return (await client.request("POST", "/mcp", initialize(), **more)).status

        good = client.token
        bad = {good: True, good[:-1]: False, good.lower(): False, "": False, "x" * 300: False}
        for (host, right_host), (origin, right_origin), (token, right_token) in itertools.product(
            HOSTS.items(), ORIGINS.items(), bad.items()
        ):
            expected = 421 if not right_host else 403 if not right_origin else 401 if not right_token else 200
            found = await send(host=host, origin=origin, token=token)
            assert found == expected, (host, origin, token)

    run(tmp_path, work)


def test_header_that_comes_twice_is_refused(tmp_path: Path) -> None:
    """A request with two tokens counts as one without a token; its response says how to send a token."""

    async def work(client: Client) -> None:
        reply = await client.request("POST", "/mcp", initialize(), authorization=None)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
        reply = await client.request("POST", "/mcp", initialize(), token="nexus_x")
        assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')
        assert client.token not in reply.text

    run(tmp_path, work)


def test_each_tool_needs_the_right_of_its_class() -> None:
    """Tools that only read need read, the close needs close, all others need write."""
    found = {tool.name: right_of(tool) for tool in TOOLS}
    assert {name for name, right in found.items() if right == "close"} == {"task_close"}
    assert {name for name, right in found.items() if right == "read"} == {tool.name for tool in TOOLS if tool.read_only}


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_token_without_a_right_changes_and_learns_nothing(tmp_path: Path, era: str) -> None:
    """For every tool and every set of rights, the call is refused with 403 unless the token has the right of the
    tool.
    """
    texts = {
        rights: make_token(tmp_path, "-".join(rights), *rights)
        for count in (1, 2)
        for rights in itertools.combinations(tokens.RIGHTS, count)
    }

    async def work(client: Client) -> None:
        before = Project(tmp_path / "project").snapshot()
        for rights, text in texts.items():
            client.token, client.session = text, ""
            if era == "legacy":
                assert (await client.legacy(initialize())).status == 200
            for number, tool in enumerate(TOOLS, 1):
                params: Json = {"name": tool.name, "arguments": {"wrong": 1}}
                if era == "modern":
                    reply = await client.modern(modern(number, "tools/call", **params))
                else:
                    reply = await client.legacy(request(number, "tools/call", params))
                expected = 200 if right_of(tool) in rights else 403
                assert reply.status == expected, (rights, tool.name)
                if expected == 403:
                    scope = f'scope="nexus:{right_of(tool)}"'
                    assert reply.headers["www-authenticate"] == f'Bearer error="insufficient_scope", {scope}'
                    assert reply.message["id"] == number
            read = await (client.modern(modern(99, "resources/list")) if era == "modern" else
                          client.legacy(request(99, "resources/list")))  # fmt: skip
            assert read.status == (200 if "read" in rights else 403)
        assert Project(tmp_path / "project").snapshot() == before

    run(tmp_path, work)


def test_unknown_and_forbidden_projects_look_alike(tmp_path: Path) -> None:
    """A project that is not served, one that the token is not for, one whose folder is gone, and no project at all have
    the same response.
    """
    folders = {name: tmp_path / name for name in ("shop", "api", "gone")}
    for name in ("shop", "api"):
        folders[name].mkdir()
    text = make_token(tmp_path, "one", projects=("shop", "gone"))

    async def work(client: Client) -> None:
        client.token = text
        assert (await client.modern(modern(1, "tools/list"), "/p/shop/mcp")).status == 200
        for path in ("/p/api/mcp", "/p/none/mcp", "/p/gone/mcp", "/mcp", "/p/../mcp", "/p/shop/mcp/", "/p//mcp", "/"):
            reply = await client.modern(modern(1, "tools/list"), path)
            assert (reply.status, reply.text) == NO_SUCH_PROJECT, path

    run(tmp_path, work, projects=folders)


def test_session_belongs_to_its_token_and_project(tmp_path: Path) -> None:
    """Another token, and the same token in another project, get 404 for a session, as for an unknown one."""
    folders = {name: tmp_path / name for name in ("shop", "api")}
    for folder in folders.values():
        folder.mkdir()
    other = make_token(tmp_path, "other")

    async def work(client: Client) -> None:
        await client.legacy(initialize(), "/p/shop/mcp")
        assert (await client.legacy(call(1, "task_list"), "/p/shop/mcp")).status == 200
        unknown = await client.legacy(call(1, "task_list"), "/p/shop/mcp", mcp_session_id="0" * 32)
        assert unknown.status == 404
        for path, token in (("/p/shop/mcp", other), ("/p/api/mcp", client.token)):
            for method, body in (("POST", call(2, "task_list")), ("GET", b""), ("DELETE", b"")):
                reply = await client.request(method, path, body, token=token, mcp_session_id=client.session)
                assert (reply.status, reply.text) == (404, unknown.text)
        assert (await client.legacy(call(3, "task_list"), "/p/shop/mcp")).status == 200

    run(tmp_path, work, projects=folders)


def test_deleted_session_is_gone(tmp_path: Path) -> None:
    """DELETE ends a session, whose id is unknown afterwards."""

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        assert (await client.request("DELETE", mcp_session_id=client.session)).status == 200
        assert (await client.legacy(call(1, "task_list"))).status == 404
        assert not client.service.callers.sessions

    run(tmp_path, work)


def test_request_without_a_session_opens_none(tmp_path: Path) -> None:
    """Before 2026-07-28 everything but initialize needs a session."""

    async def work(client: Client) -> None:
        bodies = [
            call(1, "task_list"),
            notification("notifications/initialized"),
            {"jsonrpc": "2.0", "id": 1, "result": {}},
        ]
        for method, body in (*(("POST", one) for one in bodies), ("GET", b""), ("DELETE", b"")):
            reply = await client.request(method, body=body)
            assert (reply.status, reply.message["error"]["message"]) == (400, "Bad Request: Missing session ID")
        assert not client.service.callers.sessions

    run(tmp_path, work)


def test_revoked_token_ends_its_sessions_and_streams(tmp_path: Path) -> None:
    """Revoking a token ends its streams of both eras and its sessions; those of others stay."""
    text, other = make_token(tmp_path, "laptop"), make_token(tmp_path, "other")
    file = str(tmp_path / "tokens.json")

    async def work(client: Client) -> None:
        stays = Client(client.app, client.service)
        streams = []
        for one, token in ((client, text), (stays, other)):
            one.token = token
            await one.legacy(initialize())
            streams.append(one.begin("GET", mcp_session_id=one.session))
            listen = modern(7, "subscriptions/listen", notifications={"resourceSubscriptions": ["nexus://tasks"]})
            streams.append(one.begin("POST", "/mcp", listen, **headers_of(listen)))
        for stream in streams:
            await stream.until(lambda reply: reply.status == 200)
        await streams[1].until(lambda reply: bool(reply.messages))
        tokens.revoke(file, "laptop")
        await client.app.refresh()
        for stream in streams[:2]:
            await stream.wait()
        assert (await client.legacy(call(1, "task_list"))).status == 401
        assert not any(stream.task.done() for stream in streams[2:] if stream.task)
        assert (await stays.legacy(call(1, "task_list"))).status == 200
        assert len(client.service.callers.sessions) == 1
        await stays.close()

    run(tmp_path, work)


async def status_with_an_end_in_the_body(
    client: Client, path: str, body: bytes, end: Callable[[], Awaitable[None]], **headers: str
) -> int:
    """Return the status of a POST in the middle of whose body `end` runs."""
    sent: list[Json] = []

    async def receive() -> Json:
        if not parts:
            await asyncio.Event().wait()
        if len(parts) == 1:
            await end()
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Json) -> None:
        sent.append(message)

    parts = [body[:5], body[5:]]
    own = {"host": HOST, "authorization": f"Bearer {client.token}", "accept": "application/json, text/event-stream"}
    own |= {"content-type": "application/json", **headers}
    raw = [(name.encode(), value.encode()) for name, value in own.items()]
    await client.app({"type": "http", "method": "POST", "path": path, "headers": raw}, receive, send)
    status: int = sent[0]["status"]
    return status


@pytest.mark.parametrize("path", ["/mcp", "/hook"])
def test_token_that_is_revoked_while_the_body_arrives_changes_nothing(tmp_path: Path, path: str) -> None:
    """The head was admitted, but the rest of the request comes after the token was revoked."""
    client_paths = {"root": "/home/ann/shop", "folder": "/home/ann/shop"}
    write = modern(1, "tools/call", name="task_add", arguments={"title": "T", "context": "C"})
    event = {"event": "user_message", "params": {"prompt": "[rule] Late"}, "client": client_paths}

    async def work(client: Client) -> None:
        async def end() -> None:
            tokens.revoke(str(tmp_path / "tokens.json"), "laptop")
            await client.app.refresh()

        client.token = make_token(tmp_path, "laptop")
        body, headers = (write, headers_of(write)) if path == "/mcp" else (event, {})
        assert await status_with_an_end_in_the_body(client, path, json.dumps(body).encode(), end, **headers) == 503
        assert not (tmp_path / "project" / ".nexus").exists()

    run(tmp_path, work)


def test_session_of_a_token_that_is_revoked_meanwhile_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that opens after its token was revoked does not stay open without an owner."""

    async def work(client: Client) -> None:
        check = client.app._guard.check_body

        async def revoking(*checked: Any) -> Any:
            message = await check(*checked)
            tokens.revoke(str(tmp_path / "tokens.json"), "laptop")
            client.service.callers.hang_up(client.service.tokens.refresh())
            return message

        client.token = make_token(tmp_path, "laptop")
        monkeypatch.setattr(client.app._guard, "check_body", revoking)
        await client.legacy(initialize())
        await asyncio.gather(*client.app._tasks)
        assert not client.service.callers.sessions

    run(tmp_path, work)


@pytest.mark.parametrize("ending", ["mcp", "hook"])
def test_project_that_ends_while_the_body_arrives_is_unknown(tmp_path: Path, ending: str) -> None:
    """A request to a project that is served no longer gets 404, and the server logs no defect of its own."""
    message = modern(1, "tools/list")
    event = {"event": "turn_end", "params": {}, "client": {"root": "/home/ann/shop", "folder": "/home/ann/shop"}}
    (tmp_path / "shop").mkdir()

    async def work(client: Client) -> None:
        async def end() -> None:
            mounts = client.service.mounts.opened_mounts
            (tmp_path / "projects.txt").write_text(f"api={tmp_path / 'api'}\n")
            await client.app.refresh()
            await mounts[0].stop()

        body, headers = (message, headers_of(message)) if ending == "mcp" else (event, {})
        data = json.dumps(body).encode()
        assert await status_with_an_end_in_the_body(client, f"/p/shop/{ending}", data, end, **headers) == 404

    run(tmp_path, work, projects={"shop": tmp_path / "shop"})


def test_new_token_with_an_old_name_gets_no_old_session(tmp_path: Path) -> None:
    """A session belongs to the token itself, not to its name."""
    file, text = str(tmp_path / "tokens.json"), make_token(tmp_path, "laptop")

    async def work(client: Client) -> None:
        client.token = text
        await client.legacy(initialize())
        tokens.revoke(file, "laptop")
        client.token = make_token(tmp_path, "laptop")
        assert (await client.legacy(call(1, "task_list"))).status == 404

    run(tmp_path, work)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_token_file_that_others_can_read_lets_no_token_in(tmp_path: Path, mode: int) -> None:
    """When the file becomes readable by others, its tokens are refused until it is mended, but not the generated one.
    The response does not say why.
    """
    file, text = tmp_path / "tokens.json", make_token(tmp_path, "laptop")

    async def work(client: Client) -> None:
        client.token = text
        assert (await client.modern(modern(1, "tools/list"))).status == 200
        os.chmod(file, mode)
        assert (await client.modern(modern(1, "tools/list"))).status == 503
        assert (await client.modern(modern(1, "tools/list"), token=client.service.generated)).status == 200
        os.chmod(file, 0o600)
        assert (await client.modern(modern(1, "tools/list"))).status == 200

    run(tmp_path, work)


def test_read_error_of_the_token_file_lets_no_token_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens that may be revoked are refused while the disk fails, and hold again once it can be read."""
    text = make_token(tmp_path, "laptop")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    async def work(client: Client) -> None:
        client.token = text
        make_token(tmp_path, "other")
        with monkeypatch.context() as patch:
            patch.setattr(tokens, "open", fail, raising=False)
            for _ in range(2):
                assert (await client.modern(modern(1, "tools/list"))).status == 503
        assert (await client.modern(modern(1, "tools/list"))).status == 200

    run(tmp_path, work)


def test_name_of_the_token_is_in_the_operation_log(tmp_path: Path) -> None:
    """Each change is logged with the token's name, which the client cannot choose."""
    text = make_token(tmp_path, "laptop")

    async def work(client: Client) -> None:
        client.token = text
        await client.modern(modern(1, "tools/call", name="task_add", arguments={"title": "T", "context": "C"}))

    run(tmp_path, work)
    log = Project(tmp_path / "project").get("state/oplog.jsonl").decode()
    assert '"actor":"laptop"' in log


def test_projects_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """A new line is served at once, a removed project is unknown and its session gone, a broken file changes
    nothing.
    """
    folders = {name: tmp_path / name for name in ("shop", "api")}
    for folder in folders.values():
        folder.mkdir()
    file = tmp_path / "projects.txt"

    async def work(client: Client) -> None:
        await client.legacy(initialize(), "/p/shop/mcp")
        file.write_text(f"api={folders['api']}\n")
        assert (await client.legacy(call(1, "task_list"), "/p/shop/mcp")).status == 404
        assert (await client.modern(modern(1, "tools/list"), "/p/api/mcp")).status == 200
        file.write_text("")
        assert (await client.modern(modern(1, "tools/list"), "/p/api/mcp")).status == 200
        assert not client.service.callers.sessions

    run(tmp_path, work, projects={"shop": folders["shop"]})


def test_new_project_with_the_token_file_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As at the start: clones of this project would have the tokens. The projects stay as they were."""
    (tmp_path / "shop").mkdir()

    async def work(client: Client) -> None:
        (tmp_path / "projects.txt").write_text(f"shop={tmp_path / 'shop'}\nall={tmp_path}\n")
        assert (await client.modern(modern(1, "tools/list"), "/p/all/mcp")).status == 404
        assert (await client.modern(modern(1, "tools/list"), "/p/shop/mcp")).status == 200

    run(tmp_path, work, projects={"shop": tmp_path / "shop"})
    assert "the projects stay as they were: The token file" in capfd.readouterr().err


def test_project_whose_notifications_hang_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that does not answer, or a client that does not read, keeps neither the project nor its sessions."""
    (tmp_path / "shop").mkdir()
    monkeypatch.setattr(asgi, "_LAST_NEWS_S", 0.01)
    hanging = asyncio.Event()

    async def end_streams(_: Mount) -> None:
        await hanging.wait()

    async def work(client: Client) -> None:
        await client.modern(modern(1, "tools/list"), "/p/shop/mcp")
        (mount,) = client.service.mounts.opened_mounts
        (tmp_path / "projects.txt").write_text(f"api={tmp_path / 'api'}\n")
        await client.app.refresh()
        async with asyncio.timeout(LIMIT_S):
            await mount._ended.wait()
        hanging.set()

    monkeypatch.setattr(Mount, "end_streams", end_streams)
    run(tmp_path, work, projects={"shop": tmp_path / "shop"})
