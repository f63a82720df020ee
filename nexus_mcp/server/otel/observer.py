"""Make a span and measurements of each request, with the names of the semantic conventions for MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from nexus_mcp.server.observing import CANCELLED, PROTOCOL_ERROR, TOOL_ERROR

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Meter
    from opentelemetry.trace import Tracer

    from nexus_mcp.server.observing import Operation

    Attributes = dict[str, str | bool]

_TRACE_CONTEXT = TraceContextTextMapPropagator()
_LONGEST = 200
_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
"""The bucket boundaries in the conventions for MCP durations, in seconds."""


class Instruments:
    """The instruments of a server."""

    def __init__(self, meter: Meter) -> None:
        def durations(name: str, text: str) -> Histogram:
            return meter.create_histogram(name, "s", text, explicit_bucket_boundaries_advisory=_BUCKETS)

        self.operations = durations("mcp.server.operation.duration", "Duration of MCP requests.")
        self.sessions = durations("mcp.server.session.duration", "Duration of MCP sessions.")
        self.turns = durations("nexus.turn.wait.duration", "Waits of requests for earlier requests of the project.")
        self.locks = durations(
            "nexus.lock.wait.duration", "Waits for the lock of the project while another process held it."
        )
        self.hooks = durations("nexus.hook.duration", "Durations of events of hooks.")
        self.started = meter.create_counter("nexus.cycles.started", "{cycle}", "Cycles that plan_start began.")
        self.closed = meter.create_counter("nexus.cycles.closed", "{cycle}", "Cycles that were archived.")


class ProjectTelemetry:
    """The observer of one project: `attributes` name its transport and the project."""

    def __init__(self, tracer: Tracer, instruments: Instruments, attributes: dict[str, str]) -> None:
        self._tracer = tracer
        self._to = instruments
        self._common = attributes

    def operation_ended(self, operation: Operation) -> None:
        """Measure a request that has ended, and make its span.

        The span need not exist before, because no other span is inside it.
        """
        measured = self._attributes_of(operation)
        target = operation.tool or ("" if operation.outcome == PROTOCOL_ERROR else operation.prompt)
        span = self._tracer.start_span(
            f"{operation.method} {target}".strip(),
            context=_TRACE_CONTEXT.extract(operation.parent) if operation.parent else None,
            kind=SpanKind.SERVER,
            attributes={**measured, **_of_span(operation)},
            start_time=operation.begun_ns,
        )
        if operation.outcome in (PROTOCOL_ERROR, TOOL_ERROR):
            span.set_status(StatusCode.ERROR, operation.message[:_LONGEST] or None)
        span.end(operation.begun_ns + int(operation.seconds * 1e9))
        context = set_span_in_context(span)
        self._to.operations.record(operation.seconds, measured, context)
        if operation.is_starting:
            self._to.started.add(1, self._common, context)
        if operation.is_closing:
            self._to.closed.add(1, self._common, context)

    def turn_waited(self, seconds: float) -> None:
        """Measure a wait for earlier requests."""
        self._to.turns.record(seconds, self._common)

    def lock_waited(self, seconds: float, *, is_taken: bool) -> None:
        """Measure a wait for the lock."""
        self._to.locks.record(seconds, {**self._common, "nexus.lock.taken": is_taken})

    def hook_answered(self, event: str, seconds: float) -> None:
        """Measure an event of a hook."""
        self._to.hooks.record(seconds, {**self._common, "nexus.hook.event": event})

    def session_ended(self, seconds: float) -> None:
        """Measure the duration of a session."""
        self._to.sessions.record(seconds, self._common)

    def _attributes_of(self, operation: Operation) -> Attributes:
        """Return the attributes with few different values, for metrics and spans."""
        found: Attributes = {**self._common, "mcp.method.name": operation.method}
        if operation.version:
            found["mcp.protocol.version"] = operation.version
        if operation.tool:
            found["gen_ai.operation.name"] = "execute_tool"
            found["gen_ai.tool.name"] = operation.tool
        if operation.outcome == TOOL_ERROR:
            found["error.type"] = TOOL_ERROR
        elif operation.code is not None:
            found["error.type"] = found["rpc.response.status_code"] = str(operation.code)
        elif operation.outcome == CANCELLED:
            found["nexus.cancelled"] = True
        return found


def _of_span(operation: Operation) -> Attributes:
    """Return the attributes with many different values, for spans only: no arguments, no results."""
    pairs = (
        ("jsonrpc.request.id", operation.request_id),
        ("mcp.session.id", operation.session),
        ("gen_ai.prompt.name", operation.prompt),
        ("mcp.resource.uri", operation.uri),
    )
    return {name: value for name, value in pairs if value}
