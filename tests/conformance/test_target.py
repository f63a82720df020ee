"""The official client on stdio, against small servers that answer rightly and wrongly."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from nexus_mcp.conformance.target import Outcome, stdio_target
from nexus_mcp.errors import NexusError

# Handshake, one tool, and for each name of a call another kind of answer.
MINIATURE = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "no such method"}}
    if message["method"] == "initialize":
        answer = {"result": {"protocolVersion": message["params"]["protocolVersion"],
                             "capabilities": {"tools": {}}, "serverInfo": {"name": "miniature", "version": "7"}}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "place", "inputSchema": {"type": "object"}}]}}
    elif message["method"] == "tools/call":
        name = message["params"]["name"]
        value = {"cwd": os.getcwd(), "mark": os.environ.get("MARK"), "arguments": message["params"]["arguments"]}
        result = {"content": [{"type": "text", "text": "x"}], "isError": name == "wrong"}
        answer = {"result": result if name == "bare" else {**result, "structuredContent": value}}
        if name == "refused":
            answer = {"error": {"code": -32602, "message": "not today"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""
COMMAND = (sys.executable, "-c", MINIATURE)


def call(folder: Path, name: str, mode: str = "auto") -> tuple[str, str, list[str], Outcome]:
    async def run() -> tuple[str, str, list[str], Outcome]:
        async with stdio_target(COMMAND, str(folder), mode=mode, environment={"MARK": "m"}) as target:
            names = await target.tool_names()
            return target.name, target.protocol, names, await target.call(name, {"a": [1]})

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call(tmp_path: Path, mode: str) -> None:
    """A call reaches the process, which runs in the folder asked for and sees the variables given."""
    name, protocol, names, outcome = call(tmp_path, "place", mode)
    assert (name, protocol, names) == ("miniature 7", "2025-11-25", ["place"])
    assert outcome.value == {"cwd": str(tmp_path.resolve()), "mark": "m", "arguments": {"a": [1]}}
    assert (outcome.is_error, outcome.seconds > 0) == (False, True)


def test_a_failed_call(tmp_path: Path) -> None:
    """An answer with isError is an outcome, no exception."""
    assert call(tmp_path, "wrong")[3].is_error is True


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refused", "refused: the server refused the request: not today"),
        ("bare", "bare: the answer has no structuredContent object."),
    ],
)
def test_a_call_without_an_outcome(tmp_path: Path, name: str, message: str) -> None:
    """A refused request and an answer of no usable shape are errors that name the tool."""
    with pytest.raises(NexusError) as caught:
        call(tmp_path, name)
    assert str(caught.value) == message


@pytest.mark.parametrize("command", [(sys.executable, "-c", "pass"), ("/nowhere/server",)])
def test_no_connection(tmp_path: Path, command: tuple[str, ...]) -> None:
    """A server that ends at once, and one that is not there, are told by their command."""

    async def run() -> None:
        async with stdio_target(command, str(tmp_path)):
            pass

    with pytest.raises(NexusError, match=f"^{command[0]} could not be reached as an MCP server: "):
        asyncio.run(run())
