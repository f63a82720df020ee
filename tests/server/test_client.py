"""The official client works alike with our real process and the SDK's server, in both eras."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.wire.connection import ROOT

Json = Any
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
URIS = (
    "nexus://plan",
    "nexus://tasks",
    "nexus://tasks/ready",
    "nexus://history?last_n=1",
    "nexus://knowledge",
    "nexus://memory/a.md",
    "nexus://artifacts/a.bin",
    "nexus://agents/engineer",
    "nexus://skills/nx-plan",
    "nexus://memory/none.md",
    "x:y",
)
PROMPTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("nx-plan", {"request": "x", "mode": "auto"}),
    ("d", {"text": "Yes"}),
    ("d", {}),
    ("x", {}),
)


def server(root: Path, *options: str) -> StdioServerParameters:
    arguments = ["-m", "nexus_mcp", "serve", "--project", str(root), "--harness-id", "claude-code", *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env={"PYTHONPATH": str(ROOT)})


def prepared(root: Path) -> Path:
    for folder in (".git", ".nexus/memory", ".nexus/state/artifacts"):
        (root / folder).mkdir(parents=True)
    for number in range(120):
        (root / ".nexus" / "memory" / f"n{number:03}.md").write_text("x")
    (root / ".nexus" / "memory" / "a.md").write_text("<!-- tags: x -->\n")
    (root / ".nexus" / "state" / "artifacts" / "a.bin").write_bytes(b"\0\xff")
    return root


async def seen(root: Path, mode: str, *options: str) -> list[Json]:
    """Return the results of all requests of a client, without times."""
    found: list[Json] = []
    async with Client(server(prepared(root), *options), mode=mode) as client:
        await client.call_tool("plan_start", {"topic": "T", "issues": ["A"], "research_summary": ""})
        await client.call_tool("task_add", {"title": "T", "context": "C"})
        found.append(client.server_capabilities)
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            found.append(page)
            cursor = page.next_cursor
            if cursor is None:
                break
        found += [await client.list_resource_templates(), await client.list_prompts()]
        for uri in URIS:
            try:
                found.append(await client.read_resource(uri))
            except MCPError as error:
                found.append(error.error)
        for name, arguments in (
            ("nx-plan", {"request": "x", "mode": "auto"}),
            ("d", {"text": "Yes"}),
            ("d", {}),
            ("x", {}),
        ):
            try:
                found.append(await client.get_prompt(name, arguments))
            except MCPError as error:
                found.append(error.error)
        of = types.ResourceTemplateReference(type="ref/resource", uri="nexus://memory/{name}")
        found.append(await client.complete(of, {"name": "name", "value": "n"}))
        found.append(
            await client.complete(types.PromptReference(type="ref/prompt", name="d"), {"name": "issue", "value": ""})
        )
    texts = [item.model_dump_json(by_alias=True) for item in found]
    return [json.loads(TIME.sub("TIME", text).replace(str(root), "ROOT")) for text in texts]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_client_sees_the_same_of_both_servers(tmp_path: Path, mode: str) -> None:
    """Lists in pages, every kind of resource, prompts and completion: the client sees the same of both servers."""
    ours = anyio.run(seen, tmp_path / "ours", mode)
    theirs = anyio.run(seen, tmp_path / "theirs", mode, "--sdk")
    assert ours == theirs
    assert [len(page["resources"]) for page in ours[1:3]] == [100, 5 + 13 + 121 + 1 + 4 - 100]
    assert len(ours) == 1 + 2 + 2 + len(URIS) + 4 + 2
    missing = -32002 if mode == "legacy" else -32602
    assert [item["code"] for item in ours if "code" in item] == [missing, missing, -32602, -32602]
    record = (tmp_path / "ours" / ".nexus" / "state" / "claude-code" / "memory-access.jsonl").read_text()
    assert json.loads(record)["access_count"] == 1


async def listened(root: Path, *options: str) -> list[Json]:
    """The events of a stream while another process changes the plan and adds a note."""
    async with Client(server(root, *options), mode="2026-07-28") as client:
        events: list[Json] = []
        async with client.listen(resource_subscriptions=["nexus://plan"], resources_list_changed=True) as stream:
            other = App(Workspace(str(root)))
            plan = {"topic": "T", "issues": [], "research_summary": ""}
            await anyio.to_thread.run_sync(lambda: other.call("plan_start", plan))
            async for event in stream:
                events.append(event)
                if len(events) == 2:
                    break
                (root / ".nexus" / "memory").mkdir()
        return events


@pytest.mark.parametrize("options", [[], ["--sdk"]], ids=["loop", "sdk"])
def test_client_stream_gets_changes_of_others(tmp_path: Path, options: list[str]) -> None:
    """The client's own stream of events has another process's changes."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    found = anyio.run(listened, root, *options)
    assert found == [ResourceUpdated(uri="nexus://plan"), ResourcesListChanged()]


async def subscribed(root: Path, *options: str) -> list[str]:
    send, receive = anyio.create_memory_object_stream[str](10)

    async def handle(message: Json) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await send.send(message.params.uri)

    client_of = Client(server(root, *options), mode="legacy", message_handler=handle)
    async with send, receive, client_of as client:
        with pytest.warns(MCPDeprecationWarning, match="removed as of 2026-07-28"):
            await client.subscribe_resource("nexus://tasks/ready")
        other = App(Workspace(str(root)))
        await anyio.to_thread.run_sync(lambda: other.call("task_add", {"title": "T", "context": "C"}))
        first = await receive.receive()
        with pytest.warns(MCPDeprecationWarning, match="removed as of 2026-07-28"):
            await client.unsubscribe_resource("nexus://tasks/ready")
        return [first]


@pytest.mark.parametrize("options", [[], ["--sdk"]], ids=["loop", "sdk"])
def test_client_handler_gets_updates(tmp_path: Path, options: list[str]) -> None:
    """After the handshake the client's handler gets the notifications of its subscribed resource."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    assert anyio.run(subscribed, tmp_path / "project", *options) == ["nexus://tasks/ready"]
