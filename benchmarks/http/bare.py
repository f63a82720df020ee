"""Serve our table of tools through the SDK alone, without a store: `python -m benchmarks.http.bare FILE`.

The SDK's own application answers with its own session manager, in uvicorn with the same HTTP parser as ours. Each
task_list returns the same content, which was read from FILE once; no call reads, checks, locks or writes a file. It
prints its port.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server

from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import definitions


def application(content: dict[str, Any]) -> Any:
    """Return the SDK's ASGI application, whose tool calls all answer `content`."""
    server: Server[Any] = Server("bare", version="1")
    table = definitions(TOOLS, "")
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    async def list_tools(_context: Any, _params: types.PaginatedRequestParams) -> dict[str, Any]:
        return {"resultType": "complete", "tools": table}

    async def call(_context: Any, _params: types.CallToolRequestParams) -> dict[str, Any]:
        block = {"type": "text", "text": text}
        return {"resultType": "complete", "content": [block], "structuredContent": content, "isError": False}

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    return server.streamable_http_app()


async def serve(file: Path) -> None:
    """Serve until the process is ended."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # as uvicorn has it: asyncio sets TCP_NODELAY then
    listener.bind(("127.0.0.1", 0))
    app = application(json.loads(file.read_bytes()))
    config = uvicorn.Config(app, http="h11", ws="none", log_config=None, access_log=False, server_header=False)
    print(listener.getsockname()[1], flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
