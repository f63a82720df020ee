"""The official client in all its modes works alike with our loop and the SDK's server."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.differential.test_requests import CYCLE
from tests.wire.connection import ROOT

Json = Any
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def cycle(root: Path, mode: str, *options: str) -> list[Json]:
    """Return what the client sees: the server, its tools, and the answers of a whole cycle, without times."""
    (root / ".git").mkdir(parents=True)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "nexus_mcp", "serve", "--project", str(root), *options],
        env={"PYTHONPATH": str(ROOT)},
    )
    seen: list[Json] = []
    async with Client(server, mode=mode) as client:
        seen += [client.protocol_version, client.server_info, client.server_capabilities, client.instructions]
        seen.append(await client.list_tools())
        for name, arguments in CYCLE:
            try:
                seen.append(await client.call_tool(name, arguments))
            except MCPError as error:
                seen.append(error.error)
        if client.protocol_version != "2026-07-28":
            with pytest.warns(MCPDeprecationWarning, match="ping is removed as of 2026-07-28"):
                seen.append(await client.send_ping())
    return [blotted(item, root) for item in seen]


def blotted(item: Json, root: Path) -> Json:
    """Return the item as plain JSON values, because the SDK changes the order of some fields."""
    text = item.model_dump_json(by_alias=True) if hasattr(item, "model_dump_json") else json.dumps(item)
    return json.loads(STAMP.sub("TIME", text).replace(str(root), "ROOT"))


@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
def test_client_modes_get_the_same_answers(tmp_path: Path, mode: str, version: str) -> None:
    """In each mode (handshake, probe, envelope) the client sees the same server, tools and answers."""
    ours = anyio.run(cycle, tmp_path / "ours", mode)
    theirs = anyio.run(cycle, tmp_path / "theirs", mode, "--sdk")
    assert ours == theirs
    assert ours[0] == version
    assert len(ours) == 5 + len(CYCLE) + (mode == "legacy")
