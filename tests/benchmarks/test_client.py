"""The raw client reads whole lines of any size, skips other messages, and reports the end of the stream."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.client import Connection, NotMeasurable, payload
from benchmarks.memory import peak, resident

# Answers each request with what follows; a notification comes first.
SERVER = """
import json, sys
size = int(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "stop":
        break
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
    content = {"echo": asked["params"], "filler": "x" * size}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"structuredContent": content}}), flush=True)
"""


@pytest.mark.parametrize("size", [0, 300_000])
def test_an_answer_is_read_whole(tmp_path: Path, size: int) -> None:
    """A line longer than a pipe holds arrives complete, in more than no time, and notifications are passed over."""
    with Connection([sys.executable, "-c", SERVER, str(size)], tmp_path) as server:
        for text in ("größe", "second"):
            taken, line = server.ask("tools/call", {"text": text})
            content = payload(line)
            assert content["echo"] == {"text": text}
            assert len(content["filler"]) == size
            assert taken > 0
    assert server.child.returncode == 0


def test_a_server_that_ends_is_not_measurable(tmp_path: Path) -> None:
    """No answer is an error that names the server, not a short time."""
    with (
        Connection([sys.executable, "-c", SERVER, "0"], tmp_path) as server,
        pytest.raises(NotMeasurable, match="ended without an answer"),
    ):
        server.ask("stop", {})


def test_answer_is_structured_content_else_text() -> None:
    """Structured content, else the text as JSON; a refusal and a protocol error are an error."""
    assert payload(b'{"result": {"content": [{"type": "text", "text": "{\\"a\\": 1}"}]}}') == {"a": 1}
    assert payload(b'{"result": {"isError": true, "content": [{"type": "text", "text": "No"}]}}') == {"error": "No"}
    assert "code" in payload(b'{"error": {"code": -32603}}')["error"]


def test_memory_is_that_of_the_process() -> None:
    """The peak memory of a process is at least its present memory."""
    assert 1 < resident(os.getpid()) <= peak(os.getpid()) + 1
