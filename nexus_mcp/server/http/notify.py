"""Notify systemd (sd_notify) that the server listens or ends, if a unit with Type=notify started it."""

from __future__ import annotations

import os
import socket

from nexus_mcp import log

VARIABLE = "NOTIFY_SOCKET"
READY, STOPPING = "READY=1", "STOPPING=1"


def notify(state: str) -> None:
    """Send the state to the socket in the environment. If that fails, log a warning."""
    path = os.environ.get(VARIABLE, "")
    if path[:1] not in ("/", "@"):
        return
    address = "\0" + path[1:] if path.startswith("@") else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(state.encode(), address)
    except OSError as error:
        log.warning(f"systemd was not notified of {state}: {error.strerror}")
