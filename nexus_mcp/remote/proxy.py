"""Find the proxy for a server in the environment, and open a tunnel through it.

Only https:// requests go through a proxy, and only in a tunnel, so a proxy never sees a token.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from nexus_mcp.remote.address import Address

_SCHEME = "http://"
_HEAD = 1 << 14
_DEFAULT_PORT = 80


class Proxy:
    """A proxy: its host and port, and its user and password, "" if it needs none."""

    __slots__ = ("credentials", "host", "port")

    def __init__(self, host: str, port: int, credentials: str) -> None:
        self.host = host
        self.port = port
        self.credentials = credentials


def find(address: Address, environ: Mapping[str, str] = os.environ) -> Proxy | None:
    """Return the proxy for a server; None for loopback, for http:// and for the hosts in NO_PROXY.

    A value without a scheme means an http:// proxy. A value with another scheme, without a host, or with a port
    that is no number counts as unset.
    """
    value = environ.get("https_proxy") or environ.get("HTTPS_PROXY") or ""
    if not value or address.scheme != "https" or address.is_local or _is_excepted(address.host, environ):
        return None
    rest = value[len(_SCHEME) :] if value.lower().startswith(_SCHEME) else value
    if "://" in rest:
        return None
    credentials, _, place = rest.partition("/")[0].rpartition("@")
    host, _, digits = place.rpartition(":") if ":" in place else (place, "", str(_DEFAULT_PORT))
    if not host or not digits.isdigit():
        return None
    return Proxy(host.strip("[]"), int(digits), credentials)


def _is_excepted(host: str, environ: Mapping[str, str]) -> bool:
    names = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").lower().split(",")
    own = [name.strip().partition(":")[0].lstrip(".") for name in names if name.strip()]
    return "*" in own or any(host == name or host.endswith(f".{name}") for name in own)


def open_tunnel(made: socket.socket, proxy: Proxy, address: Address, left: Callable[[], float]) -> None:
    """Ask the proxy for a connection to the server. Raise OSError if it refuses, and the errors of `left`, which
    returns the seconds that are left.
    """
    place = address.authority if address.authority.endswith(f":{address.port}") else f"{address.authority}:443"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.credentials:
        from binascii import b2a_base64
        from urllib.parse import unquote

        word = b2a_base64(unquote(proxy.credentials).encode(), newline=False).decode()
        lines.append(f"Proxy-Authorization: Basic {word}")
    made.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        made.settimeout(left())  # for each byte: a proxy could send one from time to time
        byte = made.recv(1)  # one byte, because what follows the head belongs to the server
        head += byte
        if not byte or len(head) > _HEAD:
            raise OSError("the proxy ended the connection")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise OSError("the proxy refused the connection")
