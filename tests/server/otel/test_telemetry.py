"""Spans and metrics of a server, as a collector decodes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from nexus_mcp import __version__
from nexus_mcp.server import telemetry
from tests.server.http.serving import Client, serving
from tests.server.http.test_streams import listening
from tests.server.otel.receiver import Collector, attributes, collecting
from tests.wire.connection import call, initialize, modern

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

Json = Any
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTEXT = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=value"}


@pytest.fixture(autouse=True)
def clean_logger() -> Iterator[None]:
    """Leave the loggers of the library as they were."""
    logger = logging.getLogger("opentelemetry")
    before = logger.handlers[:], logger.propagate
    yield
    logger.handlers[:], logger.propagate = before


@contextmanager
def sending(monkeypatch: pytest.MonkeyPatch, url: str) -> Iterator[telemetry.Telemetry]:
    """Send to the collector at `url` until the end of the block."""
    monkeypatch.setenv(telemetry.VARIABLE, url)
    made = telemetry.start(is_http=True)
    assert made is not None
    with telemetry.closing_telemetry(made):
        yield made


def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Client], Awaitable[None]]) -> Collector:
    """Return what a collector got of `work`."""
    with collecting() as collector:
        with sending(monkeypatch, collector.url) as made:

            async def serve() -> None:
                async with serving(tmp_path, telemetry=made) as client:
                    await work(client)

            asyncio.run(serve())
        return collector


def named(collector: Collector, name: str) -> Span:
    (span,) = (one for one in collector.spans if one.name == name)
    return span


def test_span_of_a_call_has_the_names_of_the_conventions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is a span of kind server with the attributes of MCP, and no argument or result is in it."""

    async def work(client: Client) -> None:
        await client.modern(
            modern(7, "tools/call", name="task_add", arguments={"title": "secret-title", "context": "secret-context"})
        )

    collector = collected(tmp_path, monkeypatch, work)
    span = named(collector, "tools/call task_add")
    assert span.kind == Span.SPAN_KIND_SERVER
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert span.end_time_unix_nano > span.start_time_unix_nano
    assert attributes(span) == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "task_add",
        "jsonrpc.request.id": "7",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "nexus.project": "project",
    }
    assert collector.resource["service.name"] == "nexus-mcp"
    assert collector.resource["service.version"] == __version__
    sent = b"".join(one.SerializeToString() for one in collector.traces)
    sent += b"".join(one.SerializeToString() for one in collector.measurements)
    assert b"secret" not in sent
    assert str(tmp_path).encode() not in sent


@pytest.mark.parametrize("is_modern", [True, False], ids=["modern", "session"])
def test_trace_context_of_the_client_is_the_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_modern: bool
) -> None:
    """traceparent and tracestate in _meta make the span a child of the client's, in both protocol eras."""

    async def work(client: Client) -> None:
        if is_modern:
            message = modern(1, "tools/call", name="task_list", arguments={})
            message["params"]["_meta"] = {**message["params"]["_meta"], **CONTEXT}
            await client.modern(message)
        else:
            await client.legacy(initialize())
            message = call(1, "task_list")
            message["params"]["_meta"] = CONTEXT
            await client.legacy(message)

    span = named(collected(tmp_path, monkeypatch, work), "tools/call task_list")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert span.trace_state == "vendor=value"
    assert ("mcp.session.id" in attributes(span)) is not is_modern


@pytest.mark.parametrize("parent", ["", "00-x-y-01", 7, None, ["00"], f"00-{'0' * 32}-{PARENT}-01", "x" * 100_000])
def test_malformed_trace_context_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parent: Json) -> None:
    """A trace context that is none begins a new trace, and the call is served."""

    async def work(client: Client) -> None:
        message = modern(1, "tools/call", name="task_list", arguments={})
        message["params"]["_meta"] = {**message["params"]["_meta"], "traceparent": parent, "tracestate": 7}
        assert (await client.modern(message)).message["result"]["isError"] is False

    span = named(collected(tmp_path, monkeypatch, work), "tools/call task_list")
    assert (span.parent_span_id, len(span.trace_id)) == (b"", 16)


def test_errors_set_type_and_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a tool and one of the protocol set error.type and the status; a cancelled stream is no error."""

    async def work(client: Client) -> None:
        await client.modern(modern(1, "tools/call", name="task_update", arguments={"id": 9, "status": "pending"}))
        await client.modern(modern(2, "tools/call", name="x" * 5000, arguments={}))
        await client.modern(modern(3, "prompts/get", name="none"))
        listen = listening(client, 4, promptsListChanged=True)
        await listen.until(lambda reply: reply.status == 200)
        await listen.leave()

    collector = collected(tmp_path, monkeypatch, work)
    failed = named(collector, "tools/call task_update")
    assert (failed.status.code, attributes(failed)["error.type"]) == (Status.STATUS_CODE_ERROR, "tool_error")
    unknown = named(collector, "tools/call unknown")
    assert attributes(unknown)["error.type"] == attributes(unknown)["rpc.response.status_code"] == "-32602"
    assert unknown.status.code == Status.STATUS_CODE_ERROR
    assert len(unknown.status.message) <= 200
    assert named(collector, "prompts/get").status.code == Status.STATUS_CODE_ERROR
    left = named(collector, "subscriptions/listen")
    assert (left.status.code, attributes(left)["nexus.cancelled"]) == (Status.STATUS_CODE_UNSET, True)


def test_metrics_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Durations of requests and sessions, and counts of cycles, arrive when the server ends at the latest."""

    async def work(client: Client) -> None:
        await client.legacy(initialize())
        await client.legacy(call(1, "plan_start", topic="T", issues=[], research_summary=""))
        await client.legacy(call(2, "task_close"))
        await client.request("DELETE", mcp_session_id=client.session)

    collector = collected(tmp_path, monkeypatch, work)
    metrics = collector.metrics
    durations = metrics["mcp.server.operation.duration"]
    assert (durations.unit, list(durations.histogram.data_points[0].explicit_bounds)[:3]) == ("s", [0.01, 0.02, 0.05])
    tools = {attributes(point).get("gen_ai.tool.name"): point.count for point in durations.histogram.data_points}
    assert (tools["plan_start"], tools["task_close"]) == (1, 1)
    assert not any("jsonrpc.request.id" in attributes(point) for point in durations.histogram.data_points)
    assert metrics["mcp.server.session.duration"].histogram.data_points[0].count == 1
    for name in ("nexus.cycles.started", "nexus.cycles.closed"):
        (point,) = metrics[name].sum.data_points
        assert (point.as_int, attributes(point)["nexus.project"]) == (1, "project")


def test_attributes_of_metrics_do_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown tools, prompts and methods are one series each, whatever clients send."""

    async def work(client: Client) -> None:
        for number in range(50):
            await client.modern(modern(number, "tools/call", name=f"x{number}", arguments={}))
            await client.modern(modern(number, f"none/{number}"))
            await client.modern(modern(number, "prompts/get", name=f"none{number}"))

    collector = collected(tmp_path, monkeypatch, work)
    assert len(collector.metrics["mcp.server.operation.duration"].histogram.data_points) == 3
    assert {span.name for span in collector.spans} == {"tools/call unknown", "unknown", "prompts/get"}


def test_settings_of_opentelemetry_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the service, resource attributes, headers and a signal that is off are taken from its variables."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=ours,deployment.environment.name=test")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")

    async def work(client: Client) -> None:
        await client.modern(modern(1, "tools/list"))

    collector = collected(tmp_path, monkeypatch, work)
    assert (collector.resource["service.name"], collector.measurements) == ("ours", [])
    assert collector.resource["deployment.environment.name"] == "test"
    assert collector.headers[0]["api-key"] == "secret"


@pytest.mark.parametrize(
    "environment",
    [{}, {telemetry.VARIABLE: ""}, {telemetry.VARIABLE: "http://127.0.0.1:1", telemetry.DISABLED: "TRUE"}],
)
def test_nothing_starts_without_the_variable(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """Unset, empty and switched off are the same."""
    monkeypatch.delenv(telemetry.VARIABLE, raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert telemetry.start(is_http=True) is None
