"""Serve a connection through the official SDK's low-level server: `serve --sdk`, the differential test's reference.

The transport is our own (bounded lines, errors for unreadable input, signals); the rest of the protocol is the SDK's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from nexus_mcp.server.sdk.handlers import build_server
from nexus_mcp.server.sdk.pump import Pump, logging_to_our_log
from nexus_mcp.server.stdio_fds import serve_between
from nexus_mcp.server.stopping import Watch
from nexus_mcp.server.telemetry import closing_telemetry, start
from nexus_mcp.web.projects_file import plain_name

if TYPE_CHECKING:
    from nexus_mcp.server.app import App
    from nexus_mcp.server.pipes import Sink, Source
    from nexus_mcp.server.stopping import Stop

__all__ = ["build_server", "serve_sdk"]


def serve_sdk(app: App, stdin_fd: int = 0, stdout_fd: int = 1) -> int:
    """Serve one connection through the SDK until an event that would also end stdio.serve. Return the exit code, 0."""

    def run(source: Source, sink: Sink, stop: Stop) -> None:
        watch = Watch(stop, app.stop)
        try:
            telemetry = start(is_http=False)
            observers = [telemetry.of_project(plain_name(app.workspace.root))] if telemetry else []
            with logging_to_our_log(), closing_telemetry(telemetry):
                anyio.run(Pump(app, source, sink, stop, observers).run)
        finally:
            watch.end()

    return serve_between(run, stdin_fd, stdout_fd)
