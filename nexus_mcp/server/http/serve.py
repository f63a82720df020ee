"""Listen, print the token and the address, and serve until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import uvicorn

from nexus_mcp.server.http.asgi import HttpServer
from nexus_mcp.server.http.descriptors import room_for
from nexus_mcp.server.http.handshake import Handshakes
from nexus_mcp.server.http.notify import READY, STOPPING, notify
from nexus_mcp.server.http.protocol import protocol_with
from nexus_mcp.server.http.service import check, make_service
from nexus_mcp.server.http.unread import Unread
from nexus_mcp.server.sdk.pump import logging_to_our_log
from nexus_mcp.server.telemetry import closing_telemetry, start
from nexus_mcp.web.listening import bind
from nexus_mcp.web.running import EndingServer

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable

    from nexus_mcp.server.app import App
    from nexus_mcp.server.http.protocol import Protocol
    from nexus_mcp.server.http.service import Service, Settings
    from nexus_mcp.workspace import Workspace

_END_S = 20
"""Seconds for open requests when the server ends: longer than the longest wait for the lock."""
_KEEP_ALIVE_S = 30


def serve_http(
    settings: Settings,
    open_workspace: Callable[[str], Workspace],
    make_app: Callable[[Workspace], App],
    *,
    prefix: str = "",
) -> int:
    """Serve until a signal. Return 0. Raise UsageError before the server listens."""
    check(settings)
    tls = None
    if settings.certfile:
        from nexus_mcp.server.http.certificate import tls_context  # its library is slow to import

        tls = tls_context(settings.certfile, settings.keyfile, settings.hosts)
    settings = replace(settings, connections=room_for(settings.connections))
    host, port = settings.place
    hint = "Use another port; 0 takes any free one."
    with bind(host, port, holder="another server", next_step=hint, listens=False) as listener:
        telemetry = start(is_http=True)
        service = make_service(settings, listener, open_workspace, make_app, prefix=prefix, telemetry=telemetry)
        with logging_to_our_log(), closing_telemetry(telemetry):
            if service.generated:  # on stdout: the logs on stderr must never have a token
                print(f"Token: {service.generated}", flush=True)
            asyncio.run(_serve(service, settings, listener, tls))
    return 0


async def _serve(
    service: Service, settings: Settings, listener: socket.socket, tls: ssl.SSLContext | None = None
) -> None:
    app = HttpServer(service)
    protocol = protocol_with(service.limits, service.metrics)
    handshakes = None if tls is None else Handshakes(tls, protocol)
    # uvicorn logs each malformed request as a warning: strangers could fill a disk.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", handshakes or protocol),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=_END_S,
        timeout_keep_alive=_KEEP_ALIVE_S,
    )

    def begin_end() -> None:
        notify(STOPPING)
        if handshakes is not None:
            handshakes.end()
        app.begin_end()

    server = EndingServer(config, begin_end, lambda: _announce(settings, listener))
    connections = cast("set[Protocol]", server.server_state.connections)
    watching = asyncio.create_task(Unread(service.limits, connections).watch())
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()


def _announce(settings: Settings, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    path = "/p/NAME/mcp" if settings.projects else "/mcp"
    scheme = "https" if settings.certfile else "http"
    print(f"Listening on {scheme}://{shown}:{port}{path} (Ctrl-C ends it)", flush=True)
    notify(READY)
