"""Open the listening socket of a server, and name the signals that end it."""

from __future__ import annotations

import errno
import os
import signal
import socket

from nexus_mcp.errors import UsageError
from nexus_mcp.web.port_holder import holder_of

_BACKLOG = 128


def bind(host: str, port: int, *, holder: str, next_step: str, listens: bool = True) -> socket.socket:
    """Return a bound socket, which listens unless `listens` is False; port 0 is any free port. Raise UsageError.

    If the port is in use and the system does not show the process that uses it, the error names `holder` as probable.
    `next_step` is the advice of the error about a port in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is named; without it a response of two parts takes 40 ms more.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # use the port even while its last connections are closing
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        if listens:
            made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            found = holder_of(port)
            by = f"by {found}" if found else f"perhaps by {holder}"
            raise UsageError(f"Port {port} is in use, {by}.", next_step=next_step) from error
        if error.errno == errno.EADDRNOTAVAIL:
            raise UsageError(
                f"{host} is no address of this machine.",
                next_step="Use one of its addresses: 127.0.0.1 for this machine only, 0.0.0.0 for all addresses.",
            ) from error
        where = f"Port {port}" if error.errno in (errno.EACCES, errno.EPERM) else f"{host}:{port}"
        raise UsageError(
            f"{where} cannot be used: {error.strerror}.", next_step="Use another port; 0 takes any free one."
        ) from error
    return made


def end_signals() -> list[signal.Signals]:
    """Return the signals that end a server: SIGINT (Ctrl-C), SIGTERM (a service manager), and SIGHUP (a closed
    terminal) unless nohup made the process ignore it.
    """
    found = [signal.SIGINT, signal.SIGTERM]
    if os.name == "posix" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        found.append(signal.SIGHUP)
    return found
