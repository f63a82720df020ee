"""Parse the address of a server and the paths of its projects, and list the Host and Origin headers that it accepts.

A project is served under /mcp and /hook, or under /p/NAME/mcp and /p/NAME/hook.

The accepted headers are exact values, no patterns. The SDK's own checks accept `localhost:evil.example`, because their
pattern takes any text as the port. By default the SDK checks nothing on a server that is not on loopback.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_LAST_PORT = 65535
_HTTP_PORT, _HTTPS_PORT = 80, 443
LOCALHOST = "localhost"
_IPV4, _IPV6 = "127.0.0.1", "::1"
SINGLE = ""
"""The name of the project of --project: its addresses have no name."""
MCP, HOOK = "/mcp", "/hook"
_PREFIX = "/p/"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Place(NamedTuple):
    """The address to bind: a numeric host, and a port (0: any free one)."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Return whether only programs of this machine can reach the address."""
        return ipaddress.ip_address(self.host).is_loopback


def parse(text: str, option: str) -> Place:
    """Return the address in `HOST:PORT` or `[IPV6]:PORT`. Raise UsageError."""
    host, separator, digits = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        separator = ""
    port = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= len(str(_LAST_PORT)) else -1
    if host.lower() == LOCALHOST:
        host = _IPV4
    try:
        ipaddress.ip_address(host)
    except ValueError:
        separator = ""
    if not separator or not 0 <= port <= _LAST_PORT:
        raise UsageError(
            f"{option} needs an address of this machine and a port, not {text!r}.",
            next_step=f"Example: {option} 127.0.0.1:8750",
        )
    return Place(host, port)


@dataclass(frozen=True)
class Names:
    """The values of the headers Host and Origin that a server accepts, in lower case."""

    hosts: frozenset[str]
    origins: frozenset[str]


def names_for(place: Place, hosts: Sequence[str], origins: Sequence[str], *, is_tls: bool) -> Names:
    """Return the headers that a server at `place` accepts: its own names if on loopback, `hosts` and `origins`."""
    own: list[str] = []
    scheme, default = ("https", _HTTPS_PORT) if is_tls else ("http", _HTTP_PORT)
    if place.is_local:
        named = [f"[{place.host}]" if ":" in place.host else place.host]
        named += [LOCALHOST] if place.host in (_IPV4, _IPV6) else []
        own = [f"{name}:{place.port}" for name in named]
        own += named if place.port == default else []
    accepted = [host.lower() for host in (*own, *hosts)]
    same = [f"{scheme}://{host}" for host in own]
    return Names(frozenset(accepted), frozenset(origin.lower() for origin in (*same, *origins)))


def check_hosts(hosts: Sequence[str], option: str) -> None:
    """Raise UsageError for a value that no Host header has."""
    for host in hosts:
        if not host or not host.isascii() or not host.isprintable() or set(host) & set(" /*@,\\"):
            raise UsageError(
                f"{option}: {host!r} is no value of a Host header.",
                next_step=f"Write it as clients send it, without a pattern: {option} nexus.example.org",
            )


def check_origins(origins: Sequence[str], option: str) -> None:
    """Raise UsageError for a value that cannot be the http or https origin of a web page."""
    for origin in origins:
        scheme, separator, host = origin.partition("://")
        if not separator or scheme not in ("http", "https") or not host.isascii() or set(host) & set(" /*@,\\"):
            raise UsageError(
                f"{option}: {origin!r} is no origin of a web page.",
                next_step=f"Write scheme and host, without a path: {option} https://app.example.org",
            )


def project_in(path: str, ending: str = MCP) -> str | None:
    """Return NAME for the path /p/NAME with this ending, SINGLE if the path is only the ending, None for others."""
    if path == ending:
        return SINGLE
    if path.startswith(_PREFIX) and path.endswith(ending):
        name = path[len(_PREFIX) : -len(ending)]
        return name if _NAME.fullmatch(name) else None
    return None


def project_of(path: str) -> str | None:
    """Return the name of the project in the path of an MCP request or a hook event, None for any other path."""
    return project_in(path, HOOK if path.endswith(HOOK) else MCP)


def path_of(project: str) -> str:
    """Return the path for MCP requests to the project with this name."""
    return f"{_PREFIX}{project}{MCP}" if project else MCP
