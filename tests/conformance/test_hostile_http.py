"""A server over HTTP that answers with too many bytes or parts fails, and the run continues."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import over_http
from tests.conformance.servers.hostile import answer
from tests.conformance.support import act, nasty_fixture, outcome

LARGE = json.dumps({"result": {"content": [], "structuredContent": {"did": "x" * (5 << 20)}}})


class Handler(BaseHTTPRequestHandler):
    """Answer each request with one JSON document, which its argument `do` selects."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        attack = message["params"]["arguments"]["do"] if message["method"] == "tools/call" else ""
        found = json.loads(LARGE) if attack == "large" else answer({**message}, "")
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **found}).encode()
        self.send_response(200)
        if attack == "compressed":
            body = gzip.compress(body)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(405)

    do_DELETE = do_GET

    def log_message(self, *_words: Any) -> None:
        """Log nothing."""


@contextmanager
def served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        ("large", "flooded: it sent an answer of more than 4 MiB"),
        ("blocks", "sent a message of more than 20,000 parts beside its payload"),
        ("compressed", "sent a compressed response, although the request allows only identity"),
        ("members", ""),
    ],
)
def test_answer_over_http_is_bounded(tmp_path: Path, attack: str, said: str) -> None:
    """A response from a URL is bounded like the output of a process, and the report names the attack."""
    folder = tmp_path / "served"
    folder.mkdir()
    with served() as url:
        target = over_http(url, str(folder), TargetOptions(timeout=30))
        (result,) = run([nasty_fixture(act(attack))], target).results
    assert outcome(result) == (("failed", [("process", "", f"the target {said}")]) if said else ("passed", []))
