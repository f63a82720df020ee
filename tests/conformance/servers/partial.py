"""A server with two of the tools, as a newcomer writes it with the official SDK: tasks are numbered from 0."""

from __future__ import annotations

import asyncio
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOLS = [
    types.Tool(
        name="task_add",
        input_schema={
            "type": "object",
            "properties": {"title": {"type": "string"}, "context": {"type": "string"}},
            "required": ["title", "context"],
        },
        annotations=types.ToolAnnotations(destructive_hint=False),
    ),
    types.Tool(name="task_list", input_schema={"type": "object"}),
    types.Tool(name="removeTask", input_schema={"type": "object"}),
]


async def call(root: str, _context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments, file = params.arguments or {}, Path(root, ".nexus", "state", "tasks.json")
    tasks = json.loads(file.read_text())["tasks"] if file.exists() else []
    if params.name == "task_add":
        file.parent.mkdir(parents=True, exist_ok=True)
        tasks.append({"id": len(tasks), **arguments, "status": "pending", "deps": []})
        file.write_text(json.dumps({"goal": "", "decisions": [], "tasks": tasks}))
        answer: dict[str, Any] = {"task": tasks[-1]}
    else:
        answer = {"goal": "", "tasks": tasks} if file.exists() else {"exists": False}
    text = types.TextContent(type="text", text=json.dumps(answer))
    return types.CallToolResult(content=[text], structured_content=answer)


async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


def server_of(root: str) -> Server[Any]:
    """Return the server of the project at `root`."""
    return Server("partial", version="1", on_list_tools=listed, on_call_tool=partial(call, root))


async def main() -> None:
    server = server_of(os.environ["NEXUS_PROJECT_ROOT"])
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
