"""The ASGI application: answer health checks, OAuth metadata, metrics and hook events; pass MCP requests to the SDK."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from nexus_mcp import log
from nexus_mcp.server.http import hooks
from nexus_mcp.server.http.body import Body, replay
from nexus_mcp.server.http.callers import Request
from nexus_mcp.server.http.cors import with_cors
from nexus_mcp.server.http.guard import SESSION, Guard
from nexus_mcp.server.http.health import Health
from nexus_mcp.server.http.limits import Room
from nexus_mcp.server.http.metrics import page
from nexus_mcp.server.http.oauth.resources import Metadata
from nexus_mcp.server.http.refusal import Refusal, request_ended
from nexus_mcp.server.http.writer import Writer
from nexus_mcp.server.sdk.exchange import KEY, Exchange

if TYPE_CHECKING:
    from starlette.datastructures import MutableHeaders
    from starlette.types import Receive, Scope, Send

    from nexus_mcp.server.http.callers import Session
    from nexus_mcp.server.http.guard import AdmittedRequest
    from nexus_mcp.server.http.mounts import Mount
    from nexus_mcp.server.http.service import Service
    from nexus_mcp.server.messages import Message

_TICK_S = 1.0
_LOCK_WAIT_S = 5.0
"""Seconds for which calls may still wait for the lock of a project when the server ends."""
_LAST_NEWS_S = 2.0
"""Seconds for sending the last notifications when the server ends, or serves a project no longer."""
_LEAVE_S = 15.0
"""Seconds for the open requests of a project that is no longer served."""


class HttpServer:
    """The ASGI application for all projects. serve.py calls `begin_end` when the server starts to end."""

    def __init__(self, service: Service) -> None:
        self._guard = Guard(service)
        self._tokens = service.tokens
        self._rates = service.rates
        self._mounts = service.mounts
        self._callers = service.callers
        self._rights = service.rights
        self._limits = service.limits
        self._room = Room(service.limits.bodies)
        self._health = Health(service.mounts)
        self._oauth = service.oauth
        self._metadata = Metadata(service.oauth.resources if service.oauth else None)
        self._proxies = service.proxies
        self._metrics = service.metrics
        self._metrics_page = page.MetricsPage(service.metrics, service.callers)
        self._tasks: set[asyncio.Task[None]] = set()
        self._respond = with_cors(self._answer, service.pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._respond_to_any(scope, receive, send)

    def begin_end(self) -> None:
        """End the streams, and bound the waits for locks. Requests that were read are still answered."""
        self._run(self._end_streams())

    async def _end_streams(self) -> None:
        asyncio.get_running_loop().call_later(_LOCK_WAIT_S, self._stop_waiting)
        ending = [asyncio.ensure_future(mount.end_streams()) for mount in self._mounts.opened_mounts]
        if ending:
            await asyncio.wait(ending, timeout=_LAST_NEWS_S)
        self._callers.hang_up_streams()

    def _stop_waiting(self) -> None:
        for mount in self._mounts.opened_mounts:
            mount.app.stop()

    async def refresh(self) -> None:
        """Read a changed token file or projects file again. End the requests, sessions and projects that are no longer
        allowed.
        """
        gone, left = self._tokens.refresh(), self._mounts.refresh()
        for token in gone:
            self._rates.forget(token.id)
        for mount in left:  # at once: a project of the same name may get new metrics during the waits below
            self._metrics.forget(mount.name)
        self._callers.hang_up(gone)
        for session in self._callers.of(gone, left) if gone or left else ():
            await self._end_session(session)
        for mount in left:
            self._run(self._leave(mount))

    async def end_expired(self) -> None:
        """End the streams whose tokens have expired, and the sessions that were idle too long."""
        if self._oauth is not None:
            self._callers.hang_up_expired(self._oauth.now())
        for session in self._callers.expired_sessions():
            await self._end_session(session)

    async def _leave(self, mount: Mount) -> None:
        ending = self._run(mount.end_streams())
        await asyncio.wait((ending,), timeout=_LAST_NEWS_S)  # a slow disk or client must not keep the sessions
        await mount.wait_until_idle(_LEAVE_S)
        await mount.stop()

    async def _end_session(self, session: Session) -> None:
        if self._callers.take(session):
            await session.mount.end_session(session.id, session.token.id)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        if self._oauth is not None:
            self._oauth.issuer.begin()  # so that errors of the issuer are in the log early
        ticking = asyncio.create_task(self._tick())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        ticking.cancel()
        await asyncio.gather(*(mount.stop() for mount in self._mounts.opened_mounts))
        await send({"type": "lifespan.shutdown.complete"})

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            try:
                await self.refresh()
                await self.end_expired()
            except Exception as error:  # noqa: BLE001 - the next tick tries again
                log.error(f"the files could not be read again: {type(error).__name__}: {error}")

    async def _respond_to_any(self, scope: Scope, receive: Receive, send: Send) -> None:
        writer = Writer(send)
        try:
            await self._respond(scope, receive, writer)
        finally:
            if writer.status:  # 0: no response began, for example because the client went away
                self._metrics.count_response(writer.status)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        writer = send if isinstance(send, Writer) else Writer(send)  # CORS wraps the Writer for web pages
        headers = Headers(scope=scope)
        try:
            self._guard.check_names(headers)
            if await self._health.answer(scope, receive, writer):
                return
            self._proxies.check_scheme(scope, headers)
            if await self._metadata.answer(scope, receive, writer):
                return
            await self.refresh()
            token = await self._guard.check_token(scope["path"], headers)
            if scope["path"] == page.PATH:
                self._guard.check_right(token, page.RIGHT)
                await self._metrics_page.answer(scope, token, receive, writer)
                return
            body = Body(self._limits, self._room, token.id)
            request = Request(token, is_stream=scope["method"] == "GET")
            self._callers.requests.add(request)
            try:
                if hooks.is_hook(scope["path"]):
                    await hooks.answer(self._guard, scope, receive, writer, headers=headers, request=request, body=body)
                    return
                admitted = await self._guard.check_place(scope, headers, token)
                request.mount, request.writer = admitted.mount, writer
                message: Message | None = None
                if scope["method"] == "POST":
                    if not await body.read(headers, receive):
                        return
                    message = await self._guard.check_body(admitted, body)
                    self._guard.check_still(request, admitted.mount)
                    request.is_opening = _may_open(admitted, message)
                    request.is_lasting = message is not None and message.method == "subscriptions/listen"
                else:
                    self._guard.check_without_body(admitted, scope["method"])
                replayed = replay(bytes(body.data), receive, request.hang_up)
                await self._pass_on(scope, replayed, writer, admitted, message, request=request)
            finally:
                self._callers.requests.discard(request)
                body.release()
            if request.hang_up.is_set() and not writer.status:
                raise request_ended()
            await writer.finish()
        except Refusal as refusal:
            client = self._proxies.client(scope, headers)
            log.info(f"refused a request of {client}: {refusal}", status=int(refusal.status), path=scope["path"])
            self._metrics.count_refusal(refusal)
            await refusal.response()(scope, receive, writer)
        except ClientDisconnect:
            return

    async def _pass_on(
        self,
        scope: Scope,
        receive: Receive,
        writer: Writer,
        admitted: AdmittedRequest,
        message: Message | None,
        *,
        request: Request,
    ) -> None:
        session, mount = admitted.session, admitted.mount
        token, method = admitted.token, message.method if message else ""
        exchange = Exchange(token.name, session.id if session else None, holder=token.holder, method=method)
        scope.setdefault("state", {})[KEY] = exchange
        pending = str(message.id) if session and message and message.is_request else None
        if session is not None and pending is not None:
            session.pending.add(pending)
        self._callers.begin(session)
        if session is None:
            writer.on_start = lambda status, headers: self._note_session(status, headers, request)
        try:
            plain = admitted.is_modern and message is not None and self._rights.ends_by_itself(message)
            writer.hang_up = request.hang_up if plain else None  # in other requests `receive` watches it
            await mount.handle(scope, receive, writer, admitted.token, ends_by_itself=plain)
        finally:
            self._callers.end(session)
            if session is not None and pending is not None:
                session.pending.discard(pending)
            if exchange.answers or not writer.is_complete:
                await asyncio.shield(self._run(mount.turns.conclude(exchange, delivered=writer.is_complete)))
        if session is not None and scope["method"] == "DELETE" and writer.status == HTTPStatus.OK:
            self._callers.take(session)
            mount.forget_session(session.id)

    def _note_session(self, status: int, headers: MutableHeaders, request: Request) -> None:
        """Keep a session as soon as a response opens it: its next request may come before the response has ended."""
        id_ = headers.get(SESSION)
        if id_ is not None and status < HTTPStatus.BAD_REQUEST and request.mount is not None:
            session = self._callers.add_session(id_, request.token, request.mount)
            if request.hang_up.is_set():  # its token was revoked meanwhile
                self._run(self._end_session(session))
        request.is_opening = False

    def _run(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _may_open(admitted: AdmittedRequest, message: Message | None) -> bool:
    """Return whether a request may open a session."""
    is_initialize = message is not None and message.method == "initialize"
    return is_initialize and admitted.session is None and not admitted.is_modern
