"""Over TLS: clients that know the certificate are served, others are not."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.support import LIMIT
from tests.server.http.certificates import certificate
from tests.server.http.serving import ACCEPT, headers_of
from tests.server.http.test_process import Server
from tests.wire.connection import modern

if TYPE_CHECKING:
    from pathlib import Path

Json = Any


def ask(server: Server, context: ssl.SSLContext, host: str = "127.0.0.1") -> tuple[int, Json]:
    connection = http.client.HTTPSConnection(host, server.port, timeout=LIMIT, context=context)
    message = modern(1, "tools/call", name="task_list", arguments={})
    headers = {"Authorization": f"Bearer {server.token}", "Accept": ACCEPT, "Content-Type": "application/json"}
    try:
        connection.request("POST", "/mcp", json.dumps(message), {**headers, **headers_of(message)})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_only_clients_that_know_the_certificate_are_served(tmp_path: Path) -> None:
    """A client that trusts the certificate gets its answer. Clients with no certificate, with another certificate of
    the same name, and without TLS get none. The server continues.
    """
    project = tmp_path / "project"
    project.mkdir()
    certfile, keyfile = certificate(tmp_path, "nexus", 30, "localhost")
    other, _ = certificate(tmp_path, "other", 30, "localhost")
    server = Server(project, "--certfile", certfile, "--keyfile", keyfile)
    known = ssl.create_default_context(cafile=certfile)
    assert ask(server, known)[1]["result"]["structuredContent"] == {"exists": False}
    assert ask(server, known, "localhost")[0] == 200
    for stranger in (ssl.create_default_context(), ssl.create_default_context(cafile=other)):
        with pytest.raises(ssl.SSLCertVerificationError, match="self-signed certificate"):
            ask(server, stranger)
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"200" not in plain.recv(4096)
    assert ask(server, known)[0] == 200
    _, err = server.end(signal.SIGTERM)
    assert server.process.returncode == 0
    assert "Traceback" not in err
