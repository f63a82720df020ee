"""Find the process that listens on a port of this machine, for the error about a port in use."""

from __future__ import annotations

import contextlib
import glob
import os

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"
_ADDRESS, _STATE, _INODE = 1, 3, 9
"""Columns of the tables."""


def holder_of(port: int) -> str:
    """Return name and id of the process that listens on the port; "" if unknown: another user's, or not on Linux."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    if not sockets:
        return ""
    for link in glob.iglob("/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(link) in sockets:
                process = link.split("/")[2]
                with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
                    return f"{ascii(file.read().strip())[1:-1]} (process {process})"
    return ""


def _listening(port: int) -> list[str]:
    found = []
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii", errors="replace") as file:
            for line in file.readlines()[1:]:
                columns = line.split()
                if len(columns) > _INODE and columns[_STATE] == _LISTENS and _port(columns[_ADDRESS]) == port:
                    found.append(columns[_INODE])
    return found


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
