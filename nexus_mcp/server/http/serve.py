"""Listen, print the generated token, if any, and the address, and serve until a signal."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import uvicorn

from nexus_mcp import log
from nexus_mcp.errors import UsageError
from nexus_mcp.server.http.asgi import HttpServer
from nexus_mcp.server.http.handshake import Handshakes
from nexus_mcp.server.http.protocol import protocol_with
from nexus_mcp.server.http.service import check, make_service
from nexus_mcp.server.http.unread import Unread
from nexus_mcp.server.sdk.pump import logging_to_our_log
from nexus_mcp.server.telemetry import closing_telemetry, start
from nexus_mcp.web.listening import bind
from nexus_mcp.web.running import EndingServer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from nexus_mcp.server.app import App
    from nexus_mcp.server.http.protocol import Protocol
    from nexus_mcp.server.http.service import Service, Settings
    from nexus_mcp.workspace import Workspace

_END_S = 20
"""Seconds for open requests when the server ends: longer than the longest wait for the lock."""
_KEEP_ALIVE_S = 30
_RESERVE = 128
"""Descriptors for files, locks, watchers and modules, besides those of connections."""
_NOTIFY_VARIABLE = "NOTIFY_SOCKET"
_READY, _STOPPING = "READY=1", "STOPPING=1"


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
    settings = replace(settings, connections=_room_for(settings.connections))
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
        _notify(_STOPPING)
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
    _notify(_READY)


def _notify(state: str) -> None:
    """Send the state to systemd (sd_notify), if a unit with Type=notify started the server.

    If that fails, log a warning.
    """
    path = os.environ.get(_NOTIFY_VARIABLE, "")
    if path[:1] not in ("/", "@"):
        return
    address = "\0" + path[1:] if path.startswith("@") else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(state.encode(), address)
    except OSError as error:
        log.warning(f"systemd was not notified of {state}: {error.strerror}")


def _room_for(connections: int) -> int:
    """Raise the limit of open files if needed. Return how many connections fit, at most `connections`.

    Each connection takes a descriptor, and with all descriptors taken, no call could open a file. Raise UsageError if
    no connection fits beside the reserve.
    """
    if os.name != "posix":
        return connections
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _RESERVE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):  # a system with a lower limit of its own
        most = soft
    fitting = most - _RESERVE
    if fitting < 1:
        raise UsageError(
            f"The limit of {most} open files is too low for a server.", next_step=f"Raise it: ulimit -n {wanted}"
        )
    if fitting < connections:
        log.warning(f"only {fitting} connections fit into the limit of {most} open files (ulimit -n)")
    return fitting
