"""/metrics: tokens see only their projects, requests are counted, and clients cannot create labels."""

from __future__ import annotations

import asyncio
import fcntl
import os
from typing import TYPE_CHECKING, Any

from prometheus_client.parser import text_string_to_metric_families

from nexus_mcp.server.http.limits import Limits
from nexus_mcp.server.http.metrics.page import CONTENT_TYPE
from tests.server.http.serving import Client, make_token, serving
from tests.server.http.test_guard import run
from tests.server.http.test_streams import listening
from tests.wire.connection import initialize, modern

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

Json = Any
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def scrape(client: Client, **more: Any) -> Series:
    """Return the samples of the page, read by the parser of Prometheus' own library."""
    reply = await client.request("GET", "/metrics", **more)
    assert (reply.status, reply.headers["content-type"]) == (200, CONTENT_TYPE)
    found: Series = {}
    for family in text_string_to_metric_families(reply.text):
        assert family.documentation
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, "a series stands twice on the page"
            found[key] = sample.value
    return found


def value(series: Series, name: str, **labels: str) -> float | None:
    """Return the value of a series of the project `project`, None if there is none."""
    return series.get((name, frozenset({"project": "project", **labels}.items())))


async def call(client: Client, tool: str, path: str = "/mcp", **arguments: Json) -> Json:
    return (await client.modern(modern(1, "tools/call", name=tool, arguments=arguments), path)).message


def test_calls_are_counted_by_tool_and_outcome(tmp_path: Path) -> None:
    """Calls that succeed, fail and are refused are counted apart, each with its duration."""

    async def work(client: Client) -> None:
        await call(client, "task_add", title="T", context="C")
        await call(client, "task_list")
        await call(client, "task_update", id=7, status="pending")
        await call(client, "no_such_tool")
        found = await scrape(client)
        assert value(found, "nexus_tool_calls_total", tool="task_add", outcome="ok") == 1
        assert value(found, "nexus_tool_calls_total", tool="task_update", outcome="tool_error") == 1
        assert value(found, "nexus_tool_calls_total", tool="unknown", outcome="protocol_error") == 1
        assert value(found, "nexus_requests_total", method="tools/call", outcome="ok") == 2
        assert value(found, "nexus_requests_total", method="tools/list", outcome="ok") is None
        for tool in ("task_add", "task_list", "task_update", "unknown"):
            assert value(found, "nexus_tool_call_duration_seconds_count", tool=tool) == 1
            assert value(found, "nexus_tool_call_duration_seconds_bucket", tool=tool, le="+Inf") == 1

    run(tmp_path, work)


def test_cycles_are_counted_once(tmp_path: Path) -> None:
    """plan_start begins a cycle and may archive one; task_close archives one, also with nothing open."""

    async def work(client: Client) -> None:
        for _ in range(2):
            await call(client, "plan_start", topic="T", issues=[], research_summary="")
        await call(client, "task_close")
        await call(client, "task_close")
        found = await scrape(client)
        assert value(found, "nexus_cycles_started_total") == 2
        assert value(found, "nexus_cycles_closed_total") == 3

    run(tmp_path, work)


def test_stored_answer_of_a_close_closes_no_second_cycle(tmp_path: Path) -> None:
    """A retry that gets the answer of an earlier task_close is a call, but no cycle."""

    async def work(client: Client) -> None:
        (mount,) = [await client.service.mounts.find("")]
        assert mount is not None
        lost = mount.app.call("task_close", {})  # its response is not written
        lost.drop_delivery()
        first = await call(client, "task_close")
        assert first["result"]["structuredContent"] == lost.result["structuredContent"]
        await call(client, "task_close")
        found = await scrape(client)
        assert value(found, "nexus_tool_calls_total", tool="task_close", outcome="ok") == 2
        assert value(found, "nexus_cycles_closed_total") == 2

    run(tmp_path, work)


def test_call_repeated_with_its_key_starts_no_second_cycle(tmp_path: Path) -> None:
    """A retry with the idempotency key of an earlier plan_start is a call, but no cycle."""

    async def work(client: Client) -> None:
        await call(client, "plan_start", topic="T", issues=[], research_summary="")
        arguments = {"topic": "T", "issues": [], "research_summary": ""}
        message = modern(1, "tools/call", name="plan_start", arguments=arguments)
        message["params"]["_meta"] = {**message["params"]["_meta"], "nexus-mcp/idempotencyKey": "k"}
        first, again = [(await client.modern(message)).message for _ in range(2)]
        assert first == again
        found = await scrape(client)
        assert value(found, "nexus_tool_calls_total", tool="plan_start", outcome="ok") == 3
        assert value(found, "nexus_cycles_started_total") == 2
        assert value(found, "nexus_cycles_closed_total") == 1

    run(tmp_path, work)


def test_labels_do_not_grow_with_what_clients_send(tmp_path: Path) -> None:
    """A thousand unknown tools, methods and prompts are one series each."""

    async def work(client: Client) -> None:
        await call(client, "unknown")
        await client.modern(modern(1, "prompts/get", name="none"))
        await client.modern(modern(1, "none/none"))
        before = await scrape(client)
        for number in range(300):
            await call(client, f'x{number}"\n\\')
            await client.modern(modern(number, f"none/{number}"))
            await client.modern(modern(number, "prompts/get", name=f"none{number}"))
            await client.request("GET", f"/p/none{number}/mcp")
        after = await scrape(client)
        new = {name for name, _ in after.keys() - before.keys()}
        assert new <= {"nexus_http_responses_total", "nexus_refusals_total"}
        assert len(after.keys() - before.keys()) <= 4
        assert value(after, "nexus_tool_calls_total", tool="unknown", outcome="protocol_error") == 301

    run(tmp_path, work)


def test_page_needs_a_token_with_the_right_to_read(tmp_path: Path) -> None:
    """Without a token it is 401, without the right 403, with other methods 405; a Host must be known here, too."""
    writer = make_token(tmp_path, "w", "write")

    async def work(client: Client) -> None:
        assert (await client.request("GET", "/metrics", token="none")).status == 401
        refused = await client.request("GET", "/metrics", token=writer)
        assert (refused.status, 'scope="nexus:read"' in refused.headers["www-authenticate"]) == (403, True)
        assert (await client.request("POST", "/metrics", b"{}")).status == 405
        assert (await client.request("GET", "/metrics", host="evil.example")).status == 421
        assert (await client.request("HEAD", "/metrics")).status == 200
        found = await scrape(client)
        reasons = {("401", "token"), ("403", "right"), ("405", "method"), ("421", "host")}
        for code, reason in reasons:
            assert found["nexus_refusals_total", frozenset({"code": code, "reason": reason}.items())] == 1

    run(tmp_path, work)


def test_token_of_a_project_sees_its_series_alone(tmp_path: Path) -> None:
    """A token for a project sees no series of other projects or the process; a token for all projects sees all.
    Labels have names, never paths.
    """
    roots = {name: tmp_path / f"secret-{name}" for name in ("shop", "api")}
    for root in roots.values():
        root.mkdir()
    limited = make_token(tmp_path, "ci", "read", projects=("shop",))

    async def work() -> None:
        async with serving(tmp_path, projects=roots) as client:
            for name in roots:
                await call(client, "task_list", f"/p/{name}/mcp")
            seen = await scrape(client, token=limited)
            assert {dict(labels).get("project") for _, labels in seen} == {"shop"}
            assert {name for name, _ in seen if not name.startswith("nexus_")} == set()
            whole = await scrape(client)
            assert seen.keys() < whole.keys()
            assert {dict(labels).get("project") for _, labels in whole} == {"shop", "api", None}
            text = (await client.request("GET", "/metrics")).text
            assert (str(tmp_path) in text, "secret" in text, client.token in text) == (False, False, False)

    asyncio.run(work())


def test_removed_project_loses_its_series(tmp_path: Path) -> None:
    """When a project is removed from the file, its series end, so their number stays bounded."""
    roots = {name: tmp_path / name for name in ("shop", "api")}
    for root in roots.values():
        root.mkdir()

    async def work() -> None:
        async with serving(tmp_path, projects=roots) as client:
            for name in roots:
                await call(client, "task_list", f"/p/{name}/mcp")
            (tmp_path / "projects.txt").write_text(f"api={roots['api']}\n")
            found = await scrape(client)
            assert {dict(labels).get("project") for _, labels in found} == {"api", None}

    asyncio.run(work())


def test_project_with_a_new_folder_has_series_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that arrives while the sessions of the old folder end is counted for the new one."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()

    async def work() -> None:
        async with serving(tmp_path, projects={"shop": old}) as client:
            await client.legacy(initialize(), "/p/shop/mcp")
            (tmp_path / "projects.txt").write_text(f"shop={new}\n")

            async def meanwhile(*_: str) -> None:
                await call(client, "task_list", "/p/shop/mcp")

            monkeypatch.setattr(client.service.mounts.opened_mounts[0], "end_session", meanwhile)
            await client.app.refresh()
            found = await scrape(client)
            assert "shop" in {dict(labels).get("project") for _, labels in found}

    asyncio.run(work())


def test_open_sessions_streams_and_requests_are_shown(tmp_path: Path) -> None:
    """Gauges have what is open now, and sessions that end are counted."""

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        listen = listening(client, 1, promptsListChanged=True)
        stream = client.begin("GET", mcp_session_id=client.session)
        for reply in (listen, stream):
            await reply.until(lambda one: one.status == 200)
        found = await scrape(client)
        assert value(found, "nexus_sessions") == 1
        assert value(found, "nexus_open_streams") == 2
        assert value(found, "nexus_open_requests") == 2
        await listen.leave()
        await stream.leave()
        await client.request("DELETE", mcp_session_id=client.session)
        found = await scrape(client)
        assert [value(found, f"nexus_{name}") for name in ("sessions", "open_streams", "open_requests")] == [0, 0, 0]
        assert value(found, "nexus_sessions_ended_total") == 1
        assert value(found, "nexus_requests_total", method="subscriptions/listen", outcome="cancelled") == 1

    run(tmp_path, work)


def test_waits_for_the_lock_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait for another process, and a wait for an earlier call, are counted where they happened."""

    async def work(client: Client) -> None:
        await call(client, "task_add", title="T", context="C")
        fd = os.open(tmp_path / "project" / ".nexus" / "state" / "lock", os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_EX)
        waiting = [asyncio.ensure_future(call(client, "task_add", title="T", context="C")) for _ in range(2)]
        (mount,) = client.service.mounts.opened_mounts
        seen = asyncio.Event()
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(
            mount.app._store._access, "_meanwhile", lambda _state: loop.call_soon_threadsafe(seen.set), raising=True
        )
        await asyncio.wait_for(seen.wait(), 60)
        os.close(fd)
        await asyncio.gather(*waiting)
        found = await scrape(client)
        assert value(found, "nexus_lock_wait_seconds_count", outcome="taken") == 1
        assert value(found, "nexus_turn_wait_seconds_count") == 1

    run(tmp_path, work)


def test_process_is_shown(tmp_path: Path) -> None:
    """Memory, processor time, version and responses of the process are on the page."""

    async def work(client: Client) -> None:
        await call(client, "task_list")
        found = await scrape(client)
        for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds"):
            assert found[name, frozenset()] > 0
        assert found["nexus_http_responses_total", frozenset({("code", "200")})] == 1
        assert found["nexus_http_connections", frozenset()] == 0
        assert [labels for name, labels in found if name == "nexus_build_info"] != []

    run(tmp_path, work)


def test_events_of_hooks_are_counted(tmp_path: Path) -> None:
    """An event that is answered is counted by its name; one that is refused is a refusal."""

    async def work(client: Client) -> None:
        event = {"event": "session_start", "params": {}, "client": {"root": "/shop", "folder": "/shop"}}
        assert (await client.request("POST", "/hook", event)).status == 200
        assert (await client.request("POST", "/hook", {"event": "x", "params": {}})).status == 400
        found = await scrape(client)
        assert value(found, "nexus_hook_duration_seconds_count", event="session_start") == 1
        assert found["nexus_refusals_total", frozenset({("code", "400"), ("reason", "malformed")})] == 1

    run(tmp_path, work)


def test_page_counts_against_the_rate(tmp_path: Path) -> None:
    """Scrapes are requests of their token: --rate holds for them."""

    async def work() -> None:
        async with serving(tmp_path, limits=Limits(rate=1)) as client:
            statuses = [(await client.request("GET", "/metrics")).status for _ in range(11)]
            assert statuses == [200] * 10 + [429]

    asyncio.run(work())
