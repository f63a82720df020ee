"""Subscriptions through the SDK: its requests and notifications, over the same watch as in our own loop."""

from __future__ import annotations

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

from nexus_mcp.server.faults import Fault
from nexus_mcp.server.sdk.listens import Listens
from nexus_mcp.server.subscriptions import targets
from nexus_mcp.server.subscriptions.streams import Streams

if TYPE_CHECKING:
    from nexus_mcp.server.app import App

Context = ServerRequestContext[Any]


class Subscribing:
    """The subscriptions of the one connection that a server has."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._streams: Streams | None = None
        self._portal: BlockingPortal | None = None
        self._open: dict[anyio.Event, None] = {}  # in the order in which they came
        self.listens = Listens()  # of a transport that has ids of its own for them

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncIterator[None]:
        """While it lasts, the thread that watches can reach the event loop; then that thread ends."""
        async with BlockingPortal() as portal:
            self._portal = portal
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await self._last_look()
                self._portal = None

    @property
    def is_used(self) -> bool:
        """Whether anybody ever asked for a subscription."""
        return self._streams is not None

    async def end(self) -> None:
        """Tell what has changed by now, and let the requests that are open end with their results."""
        await self._last_look()
        for done in list(self._open):
            done.set()

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        session = context.session

        def deliver(_method: str, told: dict[str, Any]) -> None:
            self._from_thread(session.send_resource_updated, told["uri"])

        try:
            self._watching().subscribe(params.uri, deliver)
        except Fault as fault:
            raise as_error(fault) from None
        return types.EmptyResult()

    async def unsubscribe(self, _context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._watching().unsubscribe(params.uri)
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Open until the client cancels it or the server ends: only an event waits meanwhile."""
        id = context.request_id
        assert id is not None
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: self.listens.given(id)}

        async def send(notification: types.ServerNotification) -> None:
            await context.session.send_notification(notification, related_request_id=id)

        def deliver(method: str, told: dict[str, Any]) -> None:
            self._from_thread(send, _notification(method, told))

        asked = params.notifications.model_dump(by_alias=True, exclude_none=True)
        watching, done = self._watching(), anyio.Event()
        try:
            stream, kept = watching.open(asked, meta, deliver)
        except Fault as fault:
            raise as_error(fault) from None
        self._open[done] = None
        try:
            acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
                notifications=types.SubscriptionFilter.model_validate(kept), _meta=meta
            )
            await send(types.SubscriptionsAcknowledgedNotification(params=acknowledged))
            watching.begin(stream)
            await done.wait()
        finally:
            del self._open[done]
            watching.close(stream)
        return types.SubscriptionsListenResult(_meta=meta)

    def _watching(self) -> Streams:
        if self._streams is None:
            self._streams = Streams(self._app.workspace.root)
        return self._streams

    async def _last_look(self) -> None:
        if self._streams is not None:
            await anyio.to_thread.run_sync(self._streams.end)

    def _from_thread(self, send: Any, told: Any) -> None:
        if self._portal is not None:
            self._portal.call(send, told)


def as_error(fault: Fault) -> MCPError:
    """The fault as the SDK's own error."""
    error: dict[str, Any] = fault.response()["error"]
    return MCPError(fault.code, fault.message, error.get("data"))


def _notification(method: str, told: dict[str, Any]) -> types.ServerNotification:
    meta = told["_meta"]
    if method == targets.UPDATED:
        return types.ResourceUpdatedNotification(
            params=types.ResourceUpdatedNotificationParams(uri=told["uri"], _meta=meta)
        )
    if method == targets.LISTS["promptsListChanged"]:
        return types.PromptListChangedNotification(params=types.NotificationParams(_meta=meta))
    return types.ResourceListChangedNotification(params=types.NotificationParams(_meta=meta))
