"""A Nexus server over MCP on stdin and stdout.

The low-level Server of the SDK: MCPServer checks the arguments itself and answers with plain text, while the contract
wants {"error": "<message>"} for every error.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp import MCPError, types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from store import Store, ToolError, project_root
from tools import TOOLS, check_arguments

STORE = Store(project_root())


async def list_tools(_context: Any, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Return the tools with their parameters and hints."""
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=tool.description,
                input_schema={"type": "object", "properties": tool.parameters, "required": tool.required},
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.read_only,
                    destructive_hint=tool.destructive,
                    idempotent_hint=tool.idempotent,
                    open_world_hint=False,
                ),
            )
            for name, tool in TOOLS.items()
        ]
    )


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Return the answer of a tool, or its error. Raise MCPError for an unknown tool."""
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        return answer(tool.run(STORE, check_arguments(tool, params.arguments or {})))
    except ToolError as error:
        return answer({"error": str(error)}, is_error=True)


def answer(value: dict[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    """Return a result with the answer in structured_content, and as compact JSON in a text block."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=value, is_error=is_error
    )


async def main() -> None:
    """Serve until stdin ends."""
    server = Server("nexus-example", version="0.1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
