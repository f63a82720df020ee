"""Serve subscriptions through the SDK, over the same poller as our own loop.

The SDK gets an id of ours for each open subscriptions/listen request. It tracks one request per id: if a later request
reused the id of an open listen, neither could be cancelled.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from nexus_mcp.server.call_queue import correlation_key
from nexus_mcp.server.faults import Fault, id_in_use
from nexus_mcp.server.subscriptions.streams import LISTS, UPDATED, Streams

if TYPE_CHECKING:
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
        """Return our id for a new listen request. Raise Fault for an id that is in use."""
        if self._of(id) is not None:
            raise id_in_use(id)
        self._count += 1
        ours = f"{self._prefix}{self._count}"
        self._client_ids[ours] = id
        return ours

    def is_ours(self, id: Id) -> bool:
        return isinstance(id, str) and id.startswith(self._prefix)

    def client_id(self, id: Id) -> Id:
        """Return the client's id for our `id`; any other id is returned as it is."""
        return self._client_ids.get(id, id) if isinstance(id, str) else id

    def end(self, ours: str) -> None:
        self._client_ids.pop(ours, None)

    def cancel(self, id: Id) -> str | None:
        """End the listen request with this client id. Return our id of it, or None."""
        ours = self._of(id)
        if ours is not None:
            self.end(ours)
        return ours

    def _of(self, id: Id) -> str | None:
        key = correlation_key(id)
        return next((ours for ours, client_id in self._client_ids.items() if correlation_key(client_id) == key), None)


Context = ServerRequestContext[Any]


class Subscribing:
    """The subscriptions of the one connection that a server has."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._streams: Streams | None = None
        self._portal: BlockingPortal | None = None
        self._open: dict[anyio.Event, None] = {}  # in the order in which they came
        self.listens = Listens()  # set by a transport that replaces the ids

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncIterator[None]:
        """Let the poller's thread reach the event loop within the block; end that thread afterwards."""
        async with BlockingPortal() as portal:
            self._portal = portal
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await self._poll_last()
                self._portal = None

    @property
    def is_used(self) -> bool:
        """Return whether the client ever requested a subscription."""
        return self._streams is not None

    async def end(self) -> None:
        """Deliver the changes up to now, and end the open requests with their results."""
        await self._poll_last()
        for done in list(self._open):
            done.set()

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        session = context.session

        def deliver(_method: str, changed: dict[str, Any]) -> None:
            self._from_thread(session.send_resource_updated, changed["uri"])

        try:
            self._get_streams().subscribe(params.uri, deliver)
        except Fault as fault:
            raise as_error(fault) from None
        return types.EmptyResult()

    async def unsubscribe(self, _context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._get_streams().unsubscribe(params.uri)
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

        def deliver(method: str, event: dict[str, Any]) -> None:
            self._from_thread(send, _notification(method, event))

        requested = params.notifications.model_dump(by_alias=True, exclude_none=True)
        streams, done = self._get_streams(), anyio.Event()
        try:
            stream, granted = streams.open(requested, meta, deliver)
        except Fault as fault:
            raise as_error(fault) from None
        self._open[done] = None
        try:
            acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
                notifications=types.SubscriptionFilter.model_validate(granted), _meta=meta
            )
            await send(types.SubscriptionsAcknowledgedNotification(params=acknowledged))
            streams.begin(stream)
            await done.wait()
        finally:
            del self._open[done]
            streams.close(stream)
        return types.SubscriptionsListenResult(_meta=meta)

    def _get_streams(self) -> Streams:
        if self._streams is None:
            self._streams = Streams(self._app.workspace)
        return self._streams

    async def _poll_last(self) -> None:
        if self._streams is not None:
            await anyio.to_thread.run_sync(self._streams.end)

    def _from_thread(self, send: Any, argument: Any) -> None:
        if self._portal is not None:
            self._portal.call(send, argument)


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
