"""A small MCP server with other names and texts as answers, for the tests of maps. Its list is in items.txt."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

NAME = "items.txt"


def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call. `leave` ends the server."""
    text = Path(NAME).read_text(encoding="utf-8") if os.path.exists(NAME) else ""
    lines = [line for line in text.splitlines() if line.count("|") == 3]  # a broken line counts as absent
    if tool == "leave":
        print("Error: gone", file=sys.stderr)
        sys.exit(3)
    if tool == "item_new" and not arguments.get("name"):
        return {"content": [{"type": "text", "text": "No name"}], "isError": True}
    if tool == "item_new":
        lines.append(f"{len(lines) + 1}|{arguments['name']}|{','.join(arguments.get('after', []))}|open")
    elif tool == "item_state":
        number = int(arguments["key"].removeprefix("I-"))
        if number > len(lines):
            return {"content": [{"type": "text", "text": f"I-{number} is unknown"}], "isError": True}
        lines[number - 1] = f"{lines[number - 1].rpartition('|')[0]}|{arguments['state']}"
    if tool != "items":
        Path(NAME).write_text("\n".join(lines), encoding="utf-8")
    shown = [_shown(line) for line in (lines if tool == "items" else [lines[-1]] if tool == "item_new" else lines)]
    return {"content": [{"type": "text", "text": "\n".join(shown)}]}


def _shown(line: str) -> str:
    number, name, after, state = line.split("|")
    return f"I-{number} {name} [{state}] after: {after or 'nothing'}"


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result: dict[str, Any] = {}
        if message["method"] == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "other", "version": "1"},
            }
        elif message["method"] == "tools/list":
            names = ("item_new", "item_state", "items", "leave")
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
        elif message["method"] == "tools/call":
            result = call(message["params"]["name"], message["params"]["arguments"])
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
