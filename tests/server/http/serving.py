"""A server over HTTP within the test: requests go to the ASGI application itself, without a socket."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.shared.inbound import NAME_BEARING_METHODS, encode_header_value

from nexus_mcp.server.app import App
from nexus_mcp.server.http import tokens
from nexus_mcp.server.http.address import Place
from nexus_mcp.server.http.asgi import HttpServer
from nexus_mcp.server.http.service import Settings, make_service
from nexus_mcp.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from nexus_mcp.server.http.limits import Limits
    from nexus_mcp.server.http.service import Service
    from nexus_mcp.server.telemetry import Telemetry

Json = Any
HOST = "127.0.0.1:8750"
LIMIT_S = 60
ACCEPT = "application/json, text/event-stream"
VERSION = "mcp-protocol-version"


class Reply:
    """A response. `body` grows while the response is open; `wait` returns once it has ended."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.changed = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None
        self.gone = asyncio.Event()

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def messages(self) -> list[Json]:
        """Return the JSON-RPC messages so far, of a JSON body or of an event stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = self.text.replace("\r\n", "\n").split("\n")
            return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        return [json.loads(self.body)] if self.body else []

    @property
    def message(self) -> Json:
        """Return the last message."""
        return self.messages[-1]

    async def until(self, is_enough: Callable[[Reply], bool]) -> Reply:
        """Wait until the response is as `is_enough` wants it."""
        async with asyncio.timeout(LIMIT_S), self.changed:
            await self.changed.wait_for(lambda: is_enough(self))
        return self

    async def wait(self) -> Reply:
        """Wait for the end of the response."""
        assert self.task is not None
        await asyncio.wait_for(self.task, LIMIT_S)
        return self

    async def leave(self) -> None:
        """Close the connection, as a client that cancels."""
        self.gone.set()
        await self.wait()


class Client:
    """A client of the server `app`. `token` is sent unless a request names another one."""

    def __init__(self, app: HttpServer, service: Service) -> None:
        self.app = app
        self.service = service
        self.token = service.generated
        self.session = ""
        self._open: list[Reply] = []

    def begin(
        self, method: str, path: str = "/mcp", body: bytes | Json = b"", *, token: str | None = None, **headers: str
    ) -> Reply:
        """Send a request; the reply may be open still. A header `x_y` is sent as `x-y`; None leaves it out."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"host": HOST, "authorization": f"Bearer {self.token if token is None else token}", "accept": ACCEPT}
        if data:
            sent["content-type"] = "application/json"
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items() if value is not None]
        reply = Reply()
        parts = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive() -> Json:
            if parts:
                return parts.pop()
            await reply.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Json) -> None:
            if reply.gone.is_set():
                return
            async with reply.changed:
                if message["type"] == "http.response.start":
                    reply.status = message["status"]
                    reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
                else:
                    reply.body += message.get("body", b"")
                reply.changed.notify_all()

        scope: Json = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": b"",
            "headers": raw,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8750),
            "state": {},
        }
        reply.task = asyncio.get_running_loop().create_task(self.app(scope, receive, send))
        self._open.append(reply)
        return reply

    async def request(self, method: str, path: str = "/mcp", body: bytes | Json = b"", **more: Any) -> Reply:
        """Return the whole response."""
        return await self.begin(method, path, body, **more).wait()

    async def modern(self, message: Json, path: str = "/mcp", **more: Any) -> Reply:
        """Send a message of 2026-07-28 with its headers."""
        return await self.request("POST", path, message, **{**headers_of(message), **more})

    async def legacy(self, message: Json, path: str = "/mcp", **more: Any) -> Reply:
        """Send a message of the handshake era in the session of this client, which initialize begins."""
        session = {"mcp_session_id": self.session} if self.session else {}
        reply = await self.request("POST", path, message, **{**session, **more})
        if isinstance(message, dict) and message.get("method") == "initialize" and not self.session:
            self.session = reply.headers.get("mcp-session-id", "")
        return reply

    async def close(self) -> None:
        """Leave every open request."""
        for reply in self._open:
            reply.gone.set()
        await asyncio.gather(*(reply.wait() for reply in self._open))


def headers_of(message: Json) -> dict[str, str]:
    """Return the headers that 2026-07-28 requires for a message."""
    method, params = message["method"], message.get("params") or {}
    headers = {VERSION: "2026-07-28", "mcp-method": method}
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    if isinstance(name, str):
        headers["mcp-name"] = encode_header_value(name)
    return headers


@asynccontextmanager
async def serving(
    tmp_path: Path,
    *,
    limits: Limits | None = None,
    make_app: Callable[[Workspace], App] = App,
    projects: dict[str, Path] | None = None,
    telemetry: Telemetry | None = None,
    **settings: Any,
) -> AsyncIterator[Client]:
    """Serve the project `tmp_path/project`, or those of `projects` by name, and end the server afterwards."""
    root = tmp_path / "project"
    root.mkdir(exist_ok=True)
    if projects is not None:
        file = tmp_path / "projects.txt"
        file.write_text("".join(f"{name}={path}\n" for name, path in projects.items()), encoding="utf-8")
        settings["projects"] = str(file)
    else:
        settings["project"] = str(root)
    settings.setdefault("token_file", str(tmp_path / "tokens.json"))
    service = make_service(
        Settings(place=Place("127.0.0.1", 8750), **settings),
        None,
        Workspace,
        make_app,
        limits=limits,
        telemetry=telemetry,
    )
    client = Client(HttpServer(service), service)
    try:
        yield client
    finally:
        await client.close()
        for mount in service.mounts.opened_mounts:
            await mount.stop()


def make_token(tmp_path: Path, name: str, *rights: str, projects: tuple[str, ...] | None = None) -> str:
    """Add a token to the file of `serving`, and return it."""
    return tokens.add(str(tmp_path / "tokens.json"), name, projects, rights or tokens.RIGHTS, "2026-01-01T00:00:00Z")
