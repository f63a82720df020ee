"""Serve subscriptions through the SDK, with the same class Streams as our own loop (server/stdio.py).

On stdio the SDK gets an id of ours for each subscriptions/listen request. The SDK tracks one request per id: if a later
request reused the id of an open listen, neither could be cancelled.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from nexus_mcp import log
from nexus_mcp.server.call_queue import correlation_key
from nexus_mcp.server.faults import Fault, id_in_use
from nexus_mcp.server.sdk.exchange import exchange_of
from nexus_mcp.server.subscriptions.streams import LISTS, UPDATED, Streams

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.server.session import ServerSession

    from nexus_mcp.server.app import App
    from nexus_mcp.server.faults import Id


class Listens:
    """The client's ids of the open listen requests, by our ids."""

    def __init__(self) -> None:
        self._prefix = f"listen-{os.urandom(16).hex()}-"  # random, so that no client id matches
        self._count = 0
        self._client_ids: dict[str, Id] = {}

    def __bool__(self) -> bool:
        return bool(self._client_ids)

    def begin(self, id: Id) -> str:
        """Return our id for a new listen request. Raise Fault if an open listen request has the client's `id`."""
        if self._of(id) is not None:
            raise id_in_use(id)
        self._count += 1
        ours = f"{self._prefix}{self._count}"
        self._client_ids[ours] = id
        return ours

    def is_ours(self, id: Id) -> bool:
        return isinstance(id, str) and id.startswith(self._prefix)

    def client_id(self, id: Id) -> Id:
        """Return the client's id of the open listen request with our `id`; return any other id as it is."""
        return self._client_ids.get(id, id) if isinstance(id, str) else id

    def end(self, ours: str) -> None:
        self._client_ids.pop(ours, None)

    def cancel(self, id: Id) -> str | None:
        """End the listen request with this client id, and return our id of it; return None if there is none."""
        ours = self._of(id)
        if ours is not None:
            self.end(ours)
        return ours

    def _of(self, id: Id) -> str | None:
        key = correlation_key(id)
        return next((ours for ours, client_id in self._client_ids.items() if correlation_key(client_id) == key), None)


Context = ServerRequestContext[Any]
_CALLER = "caller "
"""The prefix of the owner of listen requests over HTTP: the name of a session never begins with it."""


class _Outbox:
    """Notifications that wait to be sent to one subscriber, each once: a slow reader costs bounded memory."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], dict[str, Any]] = {}
        self._changed = anyio.Event()
        self._is_closed = False

    def put(self, method: str, params: dict[str, Any]) -> None:
        """Add a notification, unless the same one is pending."""
        self._waiting.setdefault((method, str(params.get("uri"))), params)
        self._changed.set()

    def close(self) -> None:
        """Let `send_all` return when no notification is pending."""
        self._is_closed = True
        self._changed.set()

    async def send_all(self, send: Callable[[str, dict[str, Any]], Awaitable[None]]) -> None:
        """Send pending and new notifications in order, until `close`."""
        while True:
            while self._waiting:
                key = next(iter(self._waiting))
                await send(key[0], self._waiting.pop(key))
            if self._is_closed:
                return
            self._changed = anyio.Event()
            await self._changed.wait()


class Subscribing:
    """The subscriptions to the project of a server: those of one stdio connection, or of all HTTP sessions."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._streams: Streams | None = None
        self._portal: BlockingPortal | None = None
        self._group: TaskGroup | None = None
        self._open: dict[_Outbox, None] = {}  # of listen requests, in the order in which they came
        self._outboxes: dict[str, _Outbox] = {}  # of sessions with subscriptions
        self._sending: dict[_Outbox, anyio.Event] = {}  # set when the outbox of a session has sent everything
        self.listens = Listens()  # filled by a transport that replaces the ids

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncIterator[None]:
        """Let the poller's thread reach the event loop within the block; end that thread afterwards."""
        async with BlockingPortal() as portal, anyio.create_task_group() as group:
            self._portal, self._group = portal, group
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await self._poll_last()
                self._portal = self._group = None
                group.cancel_scope.cancel()

    @property
    def is_used(self) -> bool:
        """Return whether the poller may be in use: a request about subscriptions came."""
        return self._streams is not None

    async def end(self) -> None:
        """Deliver the changes up to now, and end the open listen requests with their results."""
        await self._poll_last()
        for outbox in [*self._open, *self._outboxes.values()]:
            outbox.close()
        for sent in list(self._sending.values()):
            await sent.wait()

    def end_session(self, session: str) -> None:
        """End the subscriptions of a session that ended."""
        outbox = self._outboxes.pop(session, None)
        if outbox is not None and self._streams is not None:
            self._streams.unsubscribe_all(session)
            outbox.close()

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        owner = self._session_of(context)
        outbox = self._outboxes.get(owner)
        if outbox is None:
            outbox = self._outboxes[owner] = _Outbox()
            self._start(outbox, context.session)
        try:
            self._get_streams().subscribe(params.uri, self._delivery(outbox), owner)
        except Fault as fault:
            raise as_error(fault) from None
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._get_streams().unsubscribe(params.uri, self._session_of(context))
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Stay open until the client cancels or the server ends. The request takes no thread meanwhile."""
        id = context.request_id
        assert id is not None
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: self.listens.client_id(id)}

        async def send(notification: types.ServerNotification) -> None:
            await context.session.send_notification(notification, related_request_id=id)

        async def forward(method: str, event: dict[str, Any]) -> None:
            await send(_notification(method, event))

        requested = params.notifications.model_dump(by_alias=True, exclude_none=True)
        streams, outbox, exchange = self._get_streams(), _Outbox(), exchange_of(context)
        try:
            stream, granted = streams.open(
                requested, meta, self._delivery(outbox), f"{_CALLER}{exchange.actor}" if exchange else ""
            )
        except Fault as fault:
            raise as_error(fault) from None
        self._open[outbox] = None
        try:
            acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
                notifications=types.SubscriptionFilter.model_validate(granted), _meta=meta
            )
            await send(types.SubscriptionsAcknowledgedNotification(params=acknowledged))
            streams.begin(stream)
            await outbox.send_all(forward)
        finally:
            del self._open[outbox]
            streams.close(stream)
        return types.SubscriptionsListenResult(_meta=meta)

    def _session_of(self, context: Context) -> str:
        """Return the name of the caller's session, "" on stdio. Raise MCPError for a request without a session."""
        exchange = exchange_of(context)
        if exchange is None:
            return ""
        if exchange.session is None:
            raise MCPError(
                types.METHOD_NOT_FOUND,
                "A subscription needs a session, and this server keeps none: use subscriptions/listen of 2026-07-28",
            )
        return exchange.session

    def _start(self, outbox: _Outbox, session: ServerSession) -> None:
        sent = self._sending[outbox] = anyio.Event()

        async def forward(_method: str, event: dict[str, Any]) -> None:
            await session.send_resource_updated(event["uri"])

        async def run() -> None:
            try:
                await outbox.send_all(forward)
            except Exception as error:  # noqa: BLE001 - it would end all sessions of the server
                log.error(f"a session gets no more notifications: {type(error).__name__}: {error}")
            finally:
                del self._sending[outbox]
                sent.set()

        assert self._group is not None
        self._group.start_soon(run)

    def _delivery(self, outbox: _Outbox) -> Callable[[str, dict[str, Any]], None]:
        """Return a function that puts a notification into the outbox, from the poller's thread."""

        def deliver(method: str, event: dict[str, Any]) -> None:
            if self._portal is not None:
                self._portal.call(outbox.put, method, event)

        return deliver

    def _get_streams(self) -> Streams:
        if self._streams is None:
            self._streams = Streams(self._app.workspace)
        return self._streams

    async def _poll_last(self) -> None:
        if self._streams is not None:
            await anyio.to_thread.run_sync(self._streams.end)


def as_error(fault: Fault) -> MCPError:
    """Return the fault as the SDK's own error."""
    error: dict[str, Any] = fault.response()["error"]
    return MCPError(fault.code, fault.message, error.get("data"))


def _notification(method: str, params: dict[str, Any]) -> types.ServerNotification:
    meta = params["_meta"]
    if method == UPDATED:
        return types.ResourceUpdatedNotification(
            params=types.ResourceUpdatedNotificationParams(uri=params["uri"], _meta=meta)
        )
    if method == LISTS["promptsListChanged"]:
        return types.PromptListChangedNotification(params=types.NotificationParams(_meta=meta))
    return types.ResourceListChangedNotification(params=types.NotificationParams(_meta=meta))
