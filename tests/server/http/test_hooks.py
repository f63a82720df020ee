"""Hook events over HTTP pass the guard, get the answers of a local hook, and are refused if malformed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.cli.hook_event import parse_params
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.lifecycle.host import Host
from nexus_mcp.server.http.limits import Limits
from nexus_mcp.store.codec import SESSION_DEPTH
from nexus_mcp.workspace import Workspace
from tests.server.http.serving import Client, make_token, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.http.serving import Reply

Json = Any
PATH = "/hook"
CLIENT = {"root": "/home/ann/shop", "folder": "/home/ann/shop", "home": "/home/ann"}
PAYLOADS: dict[str, Json] = {
    "session_start": {"source": "startup"},
    "user_message": {"prompt": "[rule] Locks: always in the same order"},
    "agent_spawn": {"agent_name": "architect", "agent_id": "a1"},
    "pre_tool_use": {"tool": "Edit", "tool_input": {"file_path": "app.py"}},
    "post_tool_use": {"tool": "Edit", "tool_input": {"file_path": "app.py"}},
    "turn_end": {"stop_hook_active": False},
    "context_compact": {},
    "agent_complete": {"agent_id": "a1", "last_message": "Done.", "files_touched": ["app.py"]},
    "session_end": {},
}


def event(name: str, params: Json, **more: Json) -> Json:
    """Return an event as a hook of Claude Code sends it."""
    return {"event": name, "params": params, "harness_id": "claude-code", "client": CLIENT, **more}


async def send(client: Client, value: Json, path: str = PATH, **more: Any) -> Reply:
    return await client.request("POST", path, value, **more)


async def decided(client: Client, params: Json, **more: Json) -> Json:
    """Return the answer to pre_tool_use."""
    reply = await send(client, event("pre_tool_use", params, **more))
    assert reply.status == 200, reply.text
    return json.loads(reply.body)


def edit(path: str, **more: Json) -> Json:
    return {"tool": "Edit", "tool_input": {"file_path": path}, **more}


def test_answer_is_that_of_a_local_hook(tmp_path: Path) -> None:
    """For a client with the project at the same path each event has the answer of a local hook, field by field."""

    async def served() -> None:
        other = tmp_path / "other" / "project"
        other.mkdir(parents=True)
        async with serving(tmp_path) as client:
            root = str(tmp_path / "project")
            here = {"root": root, "folder": root, "home": str(tmp_path)}
            for name, payload in PAYLOADS.items():
                params = {"session_id": "s1", **payload}
                reply = await send(client, event(name, params, client=here))
                local = answer_event(name, params, Workspace(str(other), "claude-code"), Host())
                assert json.loads(json.dumps(local)) == json.loads(reply.body), name
        assert {EVENTS[name].load() for name in PAYLOADS} == {row.load() for row in EVENTS.values()} - {
            EVENTS["agent_resume"].load()
        }

    asyncio.run(served())


def test_paths_are_those_of_the_client(tmp_path: Path) -> None:
    """A state file of the client's checkout is guarded, and one of another folder of its machine, too; names in reasons
    and in the tool log count from the project.
    """

    async def served() -> None:
        async with serving(tmp_path) as client:
            for path in (f"{CLIENT['root']}/.nexus/state/plan.json", "~/other/.nexus/history.json", "/home/ann"):
                assert (await decided(client, edit(path)))["decision"] == "deny", path
            blocked = await decided(client, edit(f"{CLIENT['root']}/app.py"))
            assert blocked["decision"] == "block"
            assert 'would change "app.py"' in blocked["reason"]
            assert (await decided(client, edit(f"{CLIENT['root']}/.nexus/memory/a.md")))["decision"] == "allow"
            await send(client, event("post_tool_use", edit(f"{CLIENT['root']}/app.py")))
            await send(client, event("post_tool_use", edit(str(tmp_path / "project/app.py"))))
        log = (tmp_path / "project/.nexus/state/tool-log.jsonl").read_text().splitlines()
        assert [json.loads(line)["file"] for line in log] == ["app.py", f"client:{tmp_path}/project/app.py"]

    asyncio.run(served())


def test_read_of_a_note_counts_at_the_server(tmp_path: Path) -> None:
    """A read of the client's copy of a note counts if the server has the note."""

    async def served() -> None:
        notes = tmp_path / "project/.nexus/memory"
        notes.mkdir(parents=True)
        (notes / "a.md").write_text("A")
        read = {"tool": "Read", "tool_input": {"file_path": f"{CLIENT['root']}/.nexus/memory/a.md"}}
        async with serving(tmp_path) as client:
            reply = await send(client, event("post_tool_use", read))
        assert json.loads(reply.body)["read"] == ".nexus/memory/a.md"

    asyncio.run(served())


def test_malformed_payload_is_judged_as_locally(tmp_path: Path) -> None:
    """The readable fields of a cut payload decide: a limited agent is denied, and so is a caller without a name."""

    async def served() -> None:
        failure = {"problem": "The payload is cut off.", "is_whole": False}
        async with serving(tmp_path) as client:
            agent = await decided(client, {"tool": "Edit", "agent_name": "architect"}, failure=failure)
            nobody = await decided(client, {"tool": "Edit"}, failure=failure)
        assert (agent["decision"], nobody["decision"]) == ("deny", "deny")
        assert "The payload is cut off." in agent["warnings"][0]

    asyncio.run(served())


def test_host_decides_the_gate(tmp_path: Path) -> None:
    """The gate of the installation holds, as for a local hook."""

    async def served() -> None:
        async with serving(tmp_path) as client:
            answers = {
                gate: await decided(client, edit("a.py"), host={"gate": gate}) for gate in ("block", "auto", "off")
            }
        assert [answer["decision"] for answer in answers.values()] == ["block", "allow", "allow"]

    asyncio.run(served())


def test_decision_by_a_tag_has_the_name_of_the_token(tmp_path: Path) -> None:
    """The operation log names the token whose user recorded a decision with [d]."""

    async def served() -> None:
        async with serving(tmp_path) as client:
            client.token = make_token(tmp_path, "laptop")
            await client.app.refresh()
            mount = await client.service.mounts.find("")
            assert mount is not None
            arguments = {"topic": "T", "issues": ["Which?"], "research_summary": "R"}
            mount.app.call("plan_start", arguments).confirm_delivery()
            await send(client, event("user_message", {"prompt": "[d] The first."}))
        log = (tmp_path / "project/.nexus/state/oplog.jsonl").read_text().splitlines()
        assert json.loads(log[-1])["actor"] == "laptop"

    asyncio.run(served())


def test_deepest_payload_of_a_hook_is_taken(tmp_path: Path) -> None:
    """An input that is as deep as a hook reads is judged, although it is one level deeper in the event."""
    deep: Json = "x"
    for _ in range(SESSION_DEPTH - 1):
        deep = [deep]
    payload = {"tool": "Edit", "tool_input": deep}
    assert parse_params(json.dumps(payload).encode()) == payload

    async def served() -> None:
        async with serving(tmp_path) as client:
            assert (await send(client, event("pre_tool_use", payload))).status == 200

    asyncio.run(served())


MALFORMED: dict[str, Json] = {
    "no object": [],
    "no JSON": b"{",
    "a key twice": b'{"event": "turn_end", "event": "turn_end"}',
    "no event": {"client": CLIENT, "params": {}},
    "an unknown event": event("boom", {}),
    "an unknown member": event("turn_end", {}, more=1),
    "no client": {"event": "turn_end", "params": {}},
    "a relative root": event("turn_end", {}, client={**CLIENT, "root": "shop"}),
    "a NUL in the root": event("turn_end", {}, client={**CLIENT, "root": "/a\0"}),
    "an unknown gate": event("turn_end", {}, host={"gate": "open"}),
    "a large limit": event("turn_end", {}, host={"limit": 10**9}),
    "a flag that is a number": event("turn_end", {}, host={"is_deaf": 1}),
    "a harness that is a path": event("turn_end", {}, harness_id="../x"),
    "a mount that is a path": event("turn_end", {}, mount="../x"),
    "half a failure": event("turn_end", {}, failure={"problem": "x"}),
    "many values": b'{"params": [' + b"[]," * 500_101 + b"[]]}",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_event_is_refused(tmp_path: Path, what: str) -> None:
    """Only an event in the form of our hook is accepted; anything else gets 400, and no file is made."""

    async def served() -> None:
        async with serving(tmp_path) as client:
            assert (await send(client, MALFORMED[what])).status == 400
        assert not (tmp_path / "project/.nexus").exists()

    asyncio.run(served())


def test_guard_comes_first(tmp_path: Path) -> None:
    """Host, origin, token, project, method, right and size are checked as for calls, each with its status."""

    async def served() -> None:
        value = event("turn_end", {})
        async with serving(tmp_path, limits=Limits(body=2000)) as client:
            reader = make_token(tmp_path, "reader", "read")
            closer = make_token(tmp_path, "closer", "read", "close")
            elsewhere = make_token(tmp_path, "elsewhere", projects=("shop",))
            await client.app.refresh()
            assert (await send(client, value, host="evil.example")).status == 421
            assert (await send(client, value, origin="https://evil.example")).status == 403
            assert (await send(client, value, token="wrong")).status == 401
            assert (await send(client, value, token=elsewhere)).status == 404
            assert (await send(client, value, path="/p/shop/hook")).status == 404
            assert (await send(client, value, path="/x/hook")).status == 404
            for token in (reader, closer):
                refused = await send(client, value, token=token)
                assert refused.status == 403
                assert 'scope="nexus:write"' in refused.headers["www-authenticate"]
            for method in ("GET", "PUT", "DELETE"):
                assert (await client.request(method, PATH)).status == 405
            assert (await send(client, event("turn_end", {"x": "x" * 2000}))).status == 413
            assert (await send(client, value)).status == 200

    asyncio.run(served())


def test_each_project_has_its_own_hooks(tmp_path: Path) -> None:
    """An event goes to the project in the path, and a token for another one gets 404."""

    async def served() -> None:
        projects = {name: tmp_path / name for name in ("shop", "api")}
        for path in projects.values():
            path.mkdir()
        async with serving(tmp_path, projects=projects) as client:
            only = make_token(tmp_path, "only", projects=("shop",))
            await client.app.refresh()
            start = event("session_start", {})
            assert (await send(client, start, path="/p/shop/hook", token=only)).status == 200
            assert (await send(client, start, path="/p/api/hook", token=only)).status == 404
            assert (await send(client, start, path=PATH, token=only)).status == 404
        assert ((projects["shop"] / ".nexus").exists(), (projects["api"] / ".nexus").exists()) == (True, False)

    asyncio.run(served())


def test_events_that_wait_for_their_turn_keep_their_room(tmp_path: Path) -> None:
    """The room for bodies bounds the events that wait, too: each of them is in memory."""
    value = event("turn_end", {})
    size = len(json.dumps(value))

    async def served() -> None:
        async with serving(tmp_path, limits=Limits(bodies=3 * size)) as client:
            assert (await send(client, value)).status == 200
            (mount,) = client.service.mounts.opened_mounts
            await mount.turns.begin()
            waiting = client.begin("POST", PATH, value)
            late = await send(client, value)
            mount.turns.give_up()
            assert ((await waiting.wait()).status, late.status) == (200, 503)

    asyncio.run(served())


def test_rate_counts_events(tmp_path: Path) -> None:
    """Events count for the rate of a token."""

    async def served() -> None:
        async with serving(tmp_path, limits=Limits(rate=60)) as client:
            statuses = [(await send(client, event("turn_end", {}))).status for _ in range(11)]
        assert statuses == [200] * 10 + [429]

    asyncio.run(served())
