"""Run the board on a port of loopback until Ctrl-C or another signal of web/listening.py. Open requests then get _END_S
seconds.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
import time
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from nexus_mcp.board.app import Board, make_app
from nexus_mcp.board.render import prepare
from nexus_mcp.board.security import HOST, Session, secure_headers
from nexus_mcp.web import listening
from nexus_mcp.web.running import EndingServer

if TYPE_CHECKING:
    import socket

    from nexus_mcp.board.projects import Project

DEFAULT_PORT = 8737
_PORT_HINT = "Use the board that runs, or start this one with --port 0."
_WARM_UP_AFTER_S = 1.0
"""Seconds between start and warm-up, so that the warm-up does not delay the first page."""
_END_S = 1
"""Seconds for which the server waits for open requests when it stops."""


def bind(port: int) -> socket.socket:
    """Return a listening socket on loopback; port 0 is any free one. Raise UsageError."""
    return listening.bind(HOST, port, holder="another board", next_step=_PORT_HINT)


def serve(projects: list[Project], listener: socket.socket, *, opens: bool) -> None:
    """Print the address, and answer requests until a signal ends the server. With `opens`, open the browser."""
    session = Session(listener.getsockname()[1])
    board = Board(projects, session)
    server = _Server(board)
    prepare("enter.html", "overview.html", "now.html", "base.html", "parts.html")
    for project in projects:
        project.index()
    _warm_up(projects)
    names = projects[0].root if len(projects) == 1 else f"{len(projects)} projects"
    print(f"The board of {names}, for you alone and read-only:\n\n    {session.address}\n\nCtrl-C ends it.", flush=True)
    if opens and not open_browser(session.address):
        print("No browser could be opened: open the address yourself.", file=sys.stderr, flush=True)
    asyncio.run(server.serve(sockets=[listener]))


class _Protocol(H11Protocol):
    """HTTP/1.1. The refusal of a malformed request gets our headers here, because the request never reaches `Guard`."""

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request, and close the connection."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:  # else the response is cut off
            headers = {
                **secure_headers(secrets.token_urlsafe(16)),
                "content-type": "text/plain; charset=utf-8",
                "content-length": str(len(msg) + 1),
                "connection": "close",
            }
            lines = ["HTTP/1.1 400 Bad Request", *(f"{name}: {value}" for name, value in headers.items())]
            self.transport.write("\r\n".join([*lines, "", f"{msg}\n"]).encode("ascii"))
        self.transport.close()


class _Server(EndingServer):
    """A server whose streams end as soon as it is stopped."""

    def __init__(self, board: Board) -> None:
        config = uvicorn.Config(
            make_app(board),
            http=_Protocol,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            ws="none",
            proxy_headers=False,
            timeout_graceful_shutdown=_END_S,
            timeout_keep_alive=30,
        )
        super().__init__(config, board.hub.close)


def _warm_up(projects: list[Project]) -> None:
    """Prepare all templates and the long histories in the background. The program can end before this is done."""

    def read() -> None:
        time.sleep(_WARM_UP_AFTER_S)
        prepare()
        for project in projects:
            project.warm_up()

    threading.Thread(target=read, name="warm-up", daemon=True).start()


def open_browser(address: str) -> bool:
    """Open the address in the user's browser; return whether that succeeded."""
    import webbrowser

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
