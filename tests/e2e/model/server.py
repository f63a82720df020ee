"""The server of the scripted model. It stores each request, so that a test can check what the model saw."""

from __future__ import annotations

import gzip
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any, Self

from tests.e2e.model import anthropic, chat, responses
from tests.e2e.model.conversation import Conversation
from tests.e2e.model.script import Script, Turn

DIALECTS: tuple[ModuleType, ...] = (anthropic, responses, chat)
NAME = "scripted-model"


@dataclass(frozen=True)
class Request:
    """A request to the model, and the turn that answered it."""

    path: str
    body: dict[str, Any]
    conversation: Conversation
    turn: Turn

    @property
    def text(self) -> str:
        """The text that the model reads, without the descriptions of tools."""
        return self.conversation.text


class Model:
    """A model on loopback, which runs while it is entered. A test sets `script`; `requests` has the requests in order.

    `faults` are errors of the script or the dialect: the fixture of the tests fails on them.
    """

    def __init__(self) -> None:
        self.script = Script()
        self.requests: list[Request] = []
        self.faults: list[str] = []
        model = self

        class Handler(_Handler):
            def respond(self, path: str, body: dict[str, Any]) -> None:
                model._respond(self, path, body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def with_tools(self) -> list[Request]:
        """Return the requests that carry tools: those of the lead and of its agents, not titles."""
        return [request for request in self.requests if request.conversation.tools]

    def last(self) -> Request:
        """Return the last request that carries tools."""
        return self.with_tools()[-1]

    def _respond(self, handler: _Handler, path: str, body: dict[str, Any]) -> None:
        for dialect in DIALECTS:
            if path.endswith(dialect.ENDING):
                break
        else:
            handler.send({}, 404)
            return
        try:
            conversation = dialect.read(body)
            turn, number = self.script.next_turn(conversation)
            if "refused" in turn:
                handler.send({"error": {"type": "authentication_error", "message": turn["text"]}}, turn["refused"])
                return
        except Exception as error:
            self.faults.append(f"{path}: {error!r}")
            handler.send({}, 400)
            raise
        with self._lock:
            self.requests.append(Request(path, body, conversation, turn))
        whole = dialect.answer(body, conversation, turn, number)
        if not body.get("stream"):
            handler.send(whole)
            return
        handler.begin_stream()
        for index, (name, data) in enumerate(dialect.events(whole)):
            handler.send_event(name, {"type": name, "sequence_number": index, **data} if name else data)
        if dialect is chat:
            handler.end_stream()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def respond(self, path: str, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def log_message(self, format: str, *arguments: object) -> None:
        """Write nothing to stderr."""

    def do_HEAD(self) -> None:
        self.send({})

    def do_GET(self) -> None:
        if self.path.partition("?")[0].rstrip("/").endswith("/models"):
            row = {"id": NAME, "object": "model", "type": "model", "display_name": NAME, "created": 0}
            self.send({"object": "list", "data": [row], "has_more": False, "models": []})
        else:
            self.send({}, 404)

    def do_POST(self) -> None:
        data = self._read()
        path = self.path.partition("?")[0].rstrip("/")
        if path.endswith("/count_tokens"):
            self.send({"input_tokens": max(1, len(data) // 4)})
            return
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            self.send({}, 200)  # telemetry in a form of its own
            return
        try:
            self.respond(path, body if isinstance(body, dict) else {})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client was ended

    def _read(self) -> bytes:
        size = int(self.headers.get("content-length") or 0)
        data = self.rfile.read(size) if size else b""
        if not size and self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def send(self, value: dict[str, Any], code: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def send_event(self, name: str, data: dict[str, Any]) -> None:
        head = f"event: {name}\n" if name else ""
        self.wfile.write(f"{head}data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"data: [DONE]\n\n")
