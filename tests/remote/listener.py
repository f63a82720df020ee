"""A server of raw bytes on loopback, with or without TLS, and a certificate of its own."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)
_WAIT_S = 60


class Listener:
    """Answers each connection with the next of `answers`, and keeps what it was sent. b"" closes without an answer,
    None says nothing and keeps the connection open. With `keeps` a connection has several requests. With
    `is_proxy` it is a proxy that leads to a server with the certificate.
    """

    def __init__(
        self,
        *answers: bytes | None,
        certificate: tuple[Path, Path] | None = None,
        keeps: bool = False,
        is_proxy: bool = False,
    ) -> None:
        self.heard: list[bytes] = []
        self.connections = 0
        self._answers = [*answers]
        self._keeps = keeps
        self._tunnel: ssl.SSLContext | None = None
        self._context: ssl.SSLContext | None = None
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._tunnel, self._context = (context, None) if is_proxy else (None, context)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(_WAIT_S)
        for one in self._open:
            one.close()

    def _serve(self) -> None:
        while self._answers:
            try:
                made, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with suppress(OSError):
                if self._context:
                    made = self._context.wrap_socket(made, server_side=True)
                self._open.append(made)
                self._talk(made)

    def _talk(self, made: socket.socket) -> None:
        while self._answers:
            request = self._request(made)
            if not request:
                break
            self.heard.append(request)
            if self._tunnel and request.startswith(b"CONNECT "):
                made.sendall(b"HTTP/1.1 200 Connected\r\nX: y\r\n\r\n")
                made = self._tunnel.wrap_socket(made, server_side=True)
                self._open.append(made)
                continue
            answer = self._answers.pop(0)
            if answer is None:
                return
            made.sendall(answer)
            if not self._keeps or not answer:
                break
        made.close()

    @staticmethod
    def _request(made: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            part = made.recv(1 << 16)
            if not part:
                return b""
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        length = int(lengths[0].split(b":")[1]) if lengths else 0
        while len(body) < length:
            body += made.recv(1 << 16)
        return head + b"\r\n\r\n" + body


def make_certificate(folder: Path, name: str = "127.0.0.1") -> tuple[Path, Path]:
    """Write a certificate that signs itself, for a host name or address; return its path and that of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    try:
        alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        alternative = x509.DNSName(name)
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return paths
