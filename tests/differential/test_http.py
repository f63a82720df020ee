"""Over HTTP the server answers as on stdio, in every field, revision and mode."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from pathlib import Path

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.server.http.guard import SESSION
from nexus_mcp.server.stdio import serve
from tests.differential.exchange import MOMENT, answers, numbered
from tests.differential.requests import FULL, LEGACY_META, METHODS, MODERN_META, WRONG, Json
from tests.differential.test_handlers import TIME, messages
from tests.differential.test_requests import CYCLE
from tests.server.http.serving import serving
from tests.wire.connection import LEGACY, ROOT, initialize, modern, notification, request

MODERN = "2026-07-28"


def over_http(sent: list[Json], prefix: str = "", *, is_stateless: bool = False) -> list[Json]:
    """Return the responses of a server over HTTP in a new project, by id."""

    async def run(folder: Path) -> list[Json]:
        found = []
        async with serving(
            folder,
            make_app=lambda workspace: App(workspace, prefix, now=lambda: MOMENT),
            is_stateless=is_stateless,
        ) as client:
            version = ""
            for message in sent:
                if "io.modelcontextprotocol/protocolVersion" in str((message.get("params") or {}).get("_meta")):
                    reply = await client.modern(message)
                else:
                    more = {"mcp_protocol_version": version} if version else {}
                    reply = await client.legacy(message, **more)
                    if message["method"] == "initialize":
                        version = reply.message["result"]["protocolVersion"]
                found += reply.messages
        return found

    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(run(Path(folder)))
        plain = json.loads(json.dumps(found).replace(json.dumps(str(Path(folder, "project").resolve()))[1:-1], "ROOT"))
    return sorted(plain, key=lambda answer: json.dumps(answer.get("id")))


def check(sent: list[Json], prefix: str = "") -> None:
    """Check that both transports give equal answers to all requests."""
    stdio, http = answers(sent, serve, prefix), over_http(sent, prefix)
    assert _plain(http) == _plain(stdio)
    assert len(http) >= sum("id" in message for message in sent)


def _plain(found: list[Json]) -> Json:
    return json.loads(re.sub(TIME, '"lastModified": "TIME"', json.dumps(found)))


@pytest.mark.parametrize("version", [*LEGACY, MODERN])
@pytest.mark.parametrize("prefix", ["", "nx_"])
def test_calls_answer_over_http_as_on_stdio(version: str, prefix: str) -> None:
    """A whole cycle of calls, including failing calls, has the same answers."""
    calls = [{"name": prefix + name, "arguments": arguments} for name, arguments in CYCLE]
    if version == MODERN:
        sent = [modern(0, "server/discover"), modern(0, "tools/list")]
        sent += [modern(0, "tools/call", **params) for params in calls]
    else:
        sent = [initialize(0, version), request(0, "tools/list")]
        sent += [request(0, "tools/call", params) for params in calls]
    check(numbered(sent), prefix)


@pytest.mark.parametrize("version", [*LEGACY, MODERN])
def test_lookups_answer_over_http_as_on_stdio(version: str) -> None:
    """Resources, prompts and completion have the same answers, before and after changes."""
    if version == MODERN:
        sent = messages(modern)
    else:
        sent = [initialize(0, version), *messages(lambda id, method, **params: request(id, method, params))]
    check(numbered(sent))


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"subscriptions/listen", "initialize"}))
@pytest.mark.parametrize("version", [LEGACY[0], LEGACY[-1], MODERN])
def test_methods_answer_over_http_as_on_stdio(version: str, method: str) -> None:
    """Every method with good and bad params has the same answers."""
    meta = MODERN_META if version == MODERN else LEGACY_META
    full = {**FULL[method], "_meta": meta}
    some = [full, {"_meta": meta}, *({**full, name: wrong} for name in FULL[method] for wrong in WRONG)]
    sent = [request(0, method, params) for params in some]
    if version == MODERN:
        sent = [message for message in sent if _has_usable_name(message)]
        check([modern(0, "server/discover"), *numbered(sent)])
    else:
        check([initialize(0, version), notification("notifications/initialized"), *numbered(sent)])


def _has_usable_name(message: Json) -> bool:
    """Return whether the header Mcp-Name can repeat the name: without it the request has no answer of stdio's."""
    field = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(message["method"], "")
    return not field or isinstance(message["params"].get(field), str)


def test_session_id_is_new_for_each_session() -> None:
    """Each initialize without a session begins another one."""

    async def run(folder: Path) -> None:
        async with serving(folder) as client:
            first = (await client.request("POST", body=initialize())).headers[SESSION]
            second = (await client.request("POST", body=initialize())).headers[SESSION]
            assert first != second

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


@pytest.mark.parametrize(("era", "status", "code"), [("legacy", 400, -32700), ("modern", 200, None)])
def test_lone_surrogate_is_the_known_difference(era: str, status: int, code: int | None) -> None:
    """docs/wire.md names the one body that stdio accepts and the SDK's reader of the handshake era does not."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plan_status","arguments":{"x":"\\ud800"}'

    async def run(folder: Path) -> None:
        async with serving(folder) as client:
            if era == "legacy":
                await client.legacy(initialize())
                reply = await client.legacy(body + b"}}")
            else:
                envelope = json.dumps(modern(1, "tools/call")["params"]["_meta"]).encode()
                more = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": "plan_status"}
                reply = await client.request("POST", "/mcp", body + b',"_meta":' + envelope + b"}}", **more)
            assert reply.status == status
            found = reply.message
            assert found["error"]["code"] == code if code else found["result"]["isError"] is True

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
    assert "lone surrogate" in (ROOT / "docs" / "wire.md").read_text().split("## Over HTTP")[1]
