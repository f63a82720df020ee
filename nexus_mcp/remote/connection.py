"""Send requests to a server over HTTP/1.1, each with a time limit.

This is a client of our own, because http.client takes longer to import than a whole hook runs. It follows no
redirects, so the token goes to no other server. It always verifies certificates.
"""

from __future__ import annotations

import os
import time

from nexus_mcp.remote import proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from nexus_mcp.remote.address import Address

CA_VARIABLE = "NEXUS_CA"
_HEAD = 1 << 16
_BODY = 4 << 20
_CHUNK = 1 << 16
_LATE = "did not answer in time"
_UNKNOWN_AUTHORITY = (18, 19, 20, 21)
"""OpenSSL's codes for a certificate that is self-signed, or whose issuer is unknown."""
_TRUST = f"If you trust its authority, put the path of the authority's certificate into {CA_VARIABLE}."
_CUT = "ended the connection in the middle of its response"


class Unreachable(Exception):
    """The server was not reached, or sent no usable response. The message continues a sentence that begins with the
    server's name.

    `next_step` is "" if the message says enough.
    """

    def __init__(self, problem: str, next_step: str = "") -> None:
        super().__init__(problem)
        self.next_step = next_step


class Connection:
    """A connection to a server. The first request opens it; it stays open if the server keeps it open."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._socket: socket.socket | None = None
        self._rest = b""

    def send(self, method: str, path: str, body: bytes, token: str, seconds: float) -> tuple[int, bytes]:
        """Send a request, and return (status, body) of the response. Raise Unreachable.

        `token` is "" for a request without a token. `seconds` is the time limit of the whole call.
        """
        until = time.monotonic() + seconds
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self._address.authority}",
            "Accept: application/json",
            "User-Agent: nexus-mcp",
            f"Content-Length: {len(body)}",
        ]
        lines += ["Content-Type: application/json"] if body else []
        lines += [f"Authorization: Bearer {token}"] if token else []
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
        try:
            made = self._open(until)
            made.settimeout(_seconds_left(until))
            made.sendall(head + body)
            return self._response(made, until)
        except OSError as error:
            self.close()
            is_unknown = getattr(error, "verify_code", 0) in _UNKNOWN_AUTHORITY
            raise Unreachable(_reason(error), _TRUST if is_unknown else "") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest = None, b""

    def _open(self, until: float) -> socket.socket:
        if self._socket is not None and (self._rest or _has_ended(self._socket)):
            self.close()
        if self._socket is None:
            self._socket = _connect(self._address, until)
        return self._socket

    def _response(self, made: socket.socket, until: float) -> tuple[int, bytes]:
        status = 100
        while status < 200:
            head = self._until(made, b"\r\n\r\n", until)
            first, *lines = head.decode("latin-1").split("\r\n")
            words = first.split(" ", 2)
            if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
                raise Unreachable("does not speak HTTP/1.1")
            status = int(words[1][:3])
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length = headers.get("content-length", "")
        is_whole = status in (204, 304)
        if is_whole:
            body = b""
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            body, is_whole = self._chunks(made, until), True
        elif length.isdigit():
            body, is_whole = self._exactly(made, int(length[:12]), until), True
        else:
            body = self._all(made, until)
        if not is_whole or headers.get("connection", "").lower() == "close":
            self.close()
        return status, body

    def _chunks(self, made: socket.socket, until: float) -> bytes:
        found = b""
        while True:
            digits = self._until(made, b"\r\n", until).split(b";")[0].strip()
            try:
                size = int(digits, 16)
            except ValueError:
                raise Unreachable(_CUT) from None
            if not size:
                while self._until(made, b"\r\n", until):  # trailers
                    pass
                return found
            found += self._exactly(made, size, until)
            if len(found) > _BODY:
                raise Unreachable("sent a response that is too large")
            self._until(made, b"\r\n", until)

    def _exactly(self, made: socket.socket, size: int, until: float) -> bytes:
        if size > _BODY:
            raise Unreachable("sent a response that is too large")
        while len(self._rest) < size:
            self._read(made, until)
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _until(self, made: socket.socket, end: bytes, until: float) -> bytes:
        while end not in self._rest:
            if len(self._rest) > _HEAD:
                raise Unreachable("does not speak HTTP/1.1")
            self._read(made, until)
        found, _, self._rest = self._rest.partition(end)
        return found

    def _all(self, made: socket.socket, until: float) -> bytes:
        while len(self._rest) <= _BODY:
            made.settimeout(_seconds_left(until))
            data = made.recv(_CHUNK)
            if not data:
                return self._rest
            self._rest += data
        raise Unreachable("sent a response that is too large")

    def _read(self, made: socket.socket, until: float) -> None:
        made.settimeout(_seconds_left(until))
        data = made.recv(_CHUNK)
        if not data:
            raise Unreachable(_CUT)
        self._rest += data


def _connect(address: Address, until: float) -> socket.socket:
    import socket

    through = proxy.find(address)
    place = (through.host, through.port) if through else (address.host, address.port)
    name = place[0].encode("ascii")  # bytes: for a str, Python would import the codec of international names
    made = socket.create_connection((name, place[1]), _seconds_left(until))  # type: ignore[arg-type]
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if through:
            proxy.open_tunnel(made, through, address, lambda: _seconds_left(until))
        return _start_tls(made, address, until) if address.scheme == "https" else made
    except BaseException:
        made.close()
        raise


def _start_tls(made: socket.socket, address: Address, until: float) -> socket.socket:
    """Return the connection with TLS. Raise Unreachable, OSError."""
    import ssl

    own = os.environ.get(CA_VARIABLE) or None
    try:
        context = ssl.create_default_context(cafile=own)  # None: SSL_CERT_FILE, else the system's certificates
    except (OSError, ValueError) as error:
        raise Unreachable(f"was not asked: {CA_VARIABLE} names no file of certificates") from error
    made.settimeout(_seconds_left(until))
    return context.wrap_socket(made, server_hostname=address.host)


def _seconds_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise Unreachable(_LATE)
    return left


def _has_ended(made: socket.socket) -> bool:
    """Return whether an idle connection cannot be used again: the server has closed it, or sent unrequested data."""
    import select

    try:
        return bool(select.select([made], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _reason(error: OSError) -> str:
    """Return the meaning of an error, as the rest of a sentence that begins with the server's name."""
    if isinstance(error, TimeoutError):
        return _LATE
    if isinstance(error, ConnectionRefusedError):
        return "is not running: nothing listens there"
    kind = type(error).__name__
    if kind == "SSLCertVerificationError":
        why = getattr(error, "verify_message", "") or "it is not for this host"
        return f"has a certificate that cannot be trusted: {why}"
    if kind.startswith("SSL"):
        return "could not make a TLS connection"
    if kind == "gaierror":
        return "has a host name that is not found"
    return f"cannot be reached: {error.strerror or error}"
