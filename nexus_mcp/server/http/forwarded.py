"""Read the address and the scheme of clients from the headers of the proxies that `--forwarded-from` names.

A proxy usually writes either `X-Forwarded-For` or `Forwarded`, and passes the other header on as the client sent it. So
if a request has both, an address is used only if they agree. `X-Forwarded-Host` is never used: proxies pass the Host
header on.
"""

from __future__ import annotations

import ipaddress
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from nexus_mcp.errors import UsageError
from nexus_mcp.server.http.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import Headers
    from starlette.types import Scope

    Address = ipaddress.IPv4Address | ipaddress.IPv6Address
    Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LONGEST = 4096
_MOST = 50
"""Maximum number of proxies in a row."""
_PAIR = re.compile(r"\s*([A-Za-z]+)\s*=\s*(?:\"([^\"\\]*)\"|([^\s;,\"]*))\s*")
_PORT = re.compile(r":[0-9]{1,5}$")


class Proxies:
    """The named proxies: addresses and networks. Raise UsageError for any other text."""

    def __init__(self, names: Sequence[str], option: str) -> None:
        self._networks: list[Network] = []
        for name in names:
            try:
                self._networks.append(ipaddress.ip_network(name))
            except ValueError:
                raise UsageError(
                    f"{option}: {name!r} is no address and no network.",
                    next_step=f"Examples: {option} 10.0.0.5, or {option} 10.0.0.0/24",
                ) from None

    def client(self, scope: Scope, headers: Headers) -> str:
        """Return the client's address: from a named proxy's headers, else the peer of the connection, "" if unknown."""
        peer = _address((scope.get("client") or ("",))[0])
        if not self._is_named(peer):
            return str(peer or "")
        rows = [_plain(headers), _standard(headers, "for")]
        found = [self._first_foreign(row, peer) for row in rows if row]
        return str(found[0] if found and all(one == found[0] for one in found) else peer)

    def check_scheme(self, scope: Scope, headers: Headers) -> None:
        """Raise Refusal for a request that reached a named proxy in clear text: its token was readable on the way."""
        if not (self._networks and self._is_named(_address((scope.get("client") or ("",))[0]))):
            return
        schemes = [one.strip() for value in headers.getlist("x-forwarded-proto") for one in value.split(",")]
        if any(one.lower() != "https" for one in (*schemes, *_standard(headers, "proto"))):
            text = "Call this server by https: tokens may not cross the network in clear text."
            raise Refusal(HTTPStatus.FORBIDDEN, text)

    def _first_foreign(self, row: list[str], peer: Any) -> Any:
        """Return the last address of the row that is not a named proxy: strangers can write earlier addresses."""
        last = peer
        for text in reversed(row[-_MOST:]):
            address = _address(text)
            if address is None:
                return last
            last = address
            if not self._is_named(address):
                return last
        return last

    def _is_named(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _plain(headers: Headers) -> list[str]:
    """Return the values of X-Forwarded-For, the nearest last."""
    text = ",".join(headers.getlist("x-forwarded-for"))
    return [one.strip() for one in text[-_LONGEST:].split(",")] if text else []


def _standard(headers: Headers, name: str) -> list[str]:
    """Return the values of a parameter of Forwarded (RFC 7239), the nearest last.

    If `name` is "for", an unreadable part gives "".
    """
    text = ",".join(headers.getlist("forwarded"))
    found = []
    for element in text[-_LONGEST:].split(",") if text else []:
        for part in element.split(";"):
            match = _PAIR.fullmatch(part)
            if match is None and name == "for":
                found.append("")  # the values before it are not trusted
            elif match is None:
                continue
            elif match[1].lower() == name:
                found.append(match[2] if match[2] is not None else match[3])
    return found


def _address(text: str) -> Address | None:
    """Return the address in `ADDRESS`, `ADDRESS:PORT`, `[IPV6]` or `[IPV6]:PORT`, None for anything else."""
    if text.startswith("["):
        text = _PORT.sub("", text)
        text = text[1:-1] if text.endswith("]") else ""
    elif text.count(":") == 1:
        text = _PORT.sub("", text)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
