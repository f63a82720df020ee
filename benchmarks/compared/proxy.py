"""Offer the contract's tools over MCP, and call a mapped server: python -m benchmarks.compared.proxy MAP [TEMPLATE]

The conformance runner starts the proxy in the project of a fixture. TEMPLATE is a project of the server that the proxy
copies first. The proxy adds the tasks of the fixture by the server's own tools. If the server ends, the proxy ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from benchmarks.compared.peer import Ended, Peer, Session
from benchmarks.compared.translate import Json, NoTool

TASKS = Path(".nexus", "state", "tasks.json")
NOT_SEEDED = "The server does not take the fixture's task"
_UNKNOWN_METHOD, _UNKNOWN_TOOL = -32601, -32602


def offered(session: Session) -> list[str]:
    """Return the tools of the contract that the server has, by their names in the contract."""
    known = session.peer.map
    prefix = known.prefix
    listed = [] if prefix is None else [tool["name"] for tool in session.tools if tool["name"].startswith(prefix)]
    return list(dict.fromkeys([*known.tools, *(name.removeprefix(prefix or "") for name in listed)]))


def seed(session: Session, tasks: Iterable[Json]) -> None:
    """Add the tasks of a fixture by the server's own tools. Raise ValueError if the server gives them other ids."""
    for task in tasks:
        params = {name: value for name, value in task.items() if name not in ("id", "status", "created_at")}
        added = session.call("task_add", **params).payload
        if added.get("task", {}).get("id") != task["id"]:
            raise ValueError(f"{NOT_SEEDED} {task['id']}: {added}")
        if task["status"] != "pending":
            session.call("task_update", id=task["id"], status=task["status"])


def answer(session: Session, message: Json) -> Json | None:
    """Return the response to a message, None for a notification. Raise Ended."""
    if "id" not in message:
        return None
    head = {"jsonrpc": "2.0", "id": message["id"]}
    params = message.get("params") or {}
    if message["method"] == "initialize":
        result: Json = {**session.introduced, "capabilities": {"tools": {}}}
    elif message["method"] == "ping":
        result = {}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in offered(session)]}
    elif message["method"] == "tools/call":
        try:
            outcome = session.call(params["name"], **params.get("arguments", {}))
        except NoTool as error:
            return {**head, "error": {"code": _UNKNOWN_TOOL, "message": f"Unknown tool: {error}"}}
        text = json.dumps(outcome.payload, ensure_ascii=False, separators=(",", ":"))
        content: list[Any] = [{"type": "text", "text": text}]
        result = {"content": content, "structuredContent": outcome.payload, "isError": outcome.is_error}
    else:
        return {**head, "error": {"code": _UNKNOWN_METHOD, "message": f"Unknown method: {message['method']}"}}
    return {**head, "result": result}


def serve(session: Session, lines: Iterable[str], out: TextIO) -> None:
    """Answer each line. Raise Ended."""
    for line in lines:
        response = answer(session, json.loads(line))
        if response is not None:
            out.write(json.dumps(response, ensure_ascii=False) + "\n")
            out.flush()


def main(argv: list[str]) -> int:
    """Serve until stdin ends. Return 1, with the reason on stderr, when the server cannot go on."""
    peer = Peer(argv[0])
    project = peer.prepare(str(Path.cwd()), *argv[1:2])
    try:
        with peer.start(project) as session:
            if not peer.map.same_files and TASKS.exists():
                seed(session, json.loads(TASKS.read_text(encoding="utf-8"))["tasks"])
            serve(session, sys.stdin, sys.stdout)
    except Ended as error:
        print(f"Error: the server ended: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
