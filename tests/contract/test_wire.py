"""The tools through a real process: protocol errors, and nothing beyond the contract."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import CHECKOUT
from tests.support import IN_ORDER, NAMES, SMALLEST, Client, Project, compact

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def talk(project: Project, *frames: Any, options: tuple[str, ...] = ()) -> list[Any]:
    """Send frames, values or raw bytes, after the handshake; answers in order, that of the handshake left out."""
    lines = [frame if isinstance(frame, bytes) else json.dumps(frame).encode() for frame in (HELLO, READY, *frames)]
    done = subprocess.run(
        [sys.executable, "-m", "nexus_mcp", "serve", "--project", str(project.root), *options],
        input=b"\n".join(lines) + b"\n",
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["id"] == 0
    return answers[1:]


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.mark.requirement("protocol.parse", "protocol.request", "protocol.method", "protocol.params")
def test_each_fault_has_its_error_code(project: Project) -> None:
    """Each fault has its error code, and the server serves the next request."""
    frames: list[tuple[Any, Any, int]] = [
        (b"{", None, -32700),
        (b"plain text", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', 1, -32700),
        ([request(2, "ping")], None, -32600),
        ([], None, -32600),
        ("text", None, -32600),
        (7, None, -32600),
        ({"jsonrpc": "2.0", "id": 3}, 3, -32600),
        ({"jsonrpc": "1.0", "id": 4, "method": "ping"}, 4, -32600),
        (request(5, "no/such/method"), 5, -32601),
        (request(6, "tools/call", name="no_such_tool", arguments={}), 6, -32602),
        (request(7, "tools/call", arguments={}), 7, -32602),
        (request(8, "tools/call", name=5), 8, -32602),
        (request(9, "tools/call", name="context", arguments=[1]), 9, -32602),
        ({"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": [1]}, 10, -32602),
    ]
    answers = talk(project, *(frame for frame, _, _ in frames), request(99, "ping"))
    assert {"jsonrpc": "2.0", "id": 99, "result": {}} in answers
    faults = [answer for answer in answers if answer["id"] != 99]
    by_id: dict[Any, list[int]] = {}
    for answer in faults:
        by_id.setdefault(answer["id"], []).append(answer["error"]["code"])
    expected: dict[Any, list[int]] = {}
    for _, identifier, code in frames:
        expected.setdefault(identifier, []).append(code)
    assert by_id == expected
    assert not project.nexus.exists()


@pytest.mark.requirement("protocol.beyond", "calls.table", "calls.prefix", "calls.unescaped")
def test_process_offers_the_tools_of_the_table(call: Client, project: Project) -> None:
    """The process lists and answers the tools of the table, and no others."""
    project.put("memory/note.md", b"n")
    calls = [
        request(n, "tools/call", name=f"nx_{tool}", arguments=SMALLEST[tool]) for n, tool in enumerate(IN_ORDER, 2)
    ]
    listed, *results = talk(project, request(1, "tools/list"), *calls, options=("--tool-prefix", "nx_"))
    assert listed["result"]["tools"] == [{**tool, "name": f"nx_{tool['name']}"} for tool in call.app.tools()]
    assert [answer["id"] for answer in results] == list(range(2, 2 + len(NAMES)))
    for answer in results:
        result = answer["result"]
        assert set(result) <= {"content", "structuredContent", "isError"}
        assert result["content"] == [{"type": "text", "text": compact(result["structuredContent"])}]
    errors = {
        name: answer["result"]["structuredContent"].get("error") for name, answer in zip(IN_ORDER, results, strict=True)
    }
    assert {name: error for name, error in errors.items() if error} == {}


@pytest.mark.requirement("calls.error", "calls.number-grammar", "calls.surrogates", "calls.nul")
def test_wrong_values_are_results(project: Project) -> None:
    """Wrong values in well-formed calls are answered as results that are errors."""
    raw = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"history_search","arguments":{"%s":%s}}}'
    values = [
        (b"last_n", b"9" * 5001 + b".5"), (b"last_n", b"1e400"), (b"last_n", b"true"), (b"last_n", b'"x"'),
        (b"query", b'"\\ud800"'), (b"query", b'"\\u0000"'),
        (b"bogus", b"1"), (b"query", b"{}"),
    ]  # fmt: skip
    answers = talk(project, *(raw % (number, name, value) for number, (name, value) in enumerate(values, 1)))
    assert [answer["id"] for answer in answers] == list(range(1, 9))
    assert [answer["result"]["isError"] for answer in answers] == [True] * 8
    assert all(
        name.decode() in answer["result"]["structuredContent"]["error"]
        for (name, _), answer in zip(values, answers, strict=True)
    )
