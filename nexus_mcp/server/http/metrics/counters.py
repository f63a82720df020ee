"""The metrics of a server. Each project has its own registry.

So the page for a token of some projects joins only their registries, and dropping a project drops its series. No label
has a text of a client, so the number of series is bounded.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.process_collector import ProcessCollector

from nexus_mcp import __version__

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from nexus_mcp.server.http.refusal import Refusal
    from nexus_mcp.server.observing import Operation

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which no rule or page needs

_CALL_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WAIT_BUCKETS = (0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10)
_OTHER = "other"
_REASONS = {
    400: "malformed",
    401: "token",
    403: "origin",
    404: "place",
    405: "method",
    408: "slow",
    413: "too_large",
    421: "host",
    429: "rate",
    503: "busy",
}
"""Reasons of refusals by status. A 403 that names a missing right has the reason `right`."""
_RIGHT = "right"


class ProjectMetrics:
    """The metrics of one project: an Observer. `label` is its name on the page."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.registry = CollectorRegistry(auto_describe=False)
        to = self.registry
        self._children: dict[tuple[str, str, str], tuple[Counter, Counter | None, Histogram | None]] = {}
        self._requests = Counter("nexus_requests", "Requests of MCP clients.", ("method", "outcome"), registry=to)
        self._calls = Counter("nexus_tool_calls", "Calls of tools.", ("tool", "outcome"), registry=to)
        self._seconds = Histogram(
            "nexus_tool_call_duration_seconds",
            "Durations of calls, with their waits.",
            ("tool",),
            buckets=_CALL_BUCKETS,
            registry=to,
        )
        self._turns = Histogram(
            "nexus_turn_wait_seconds",
            "Waits of requests for earlier requests of the project.",
            buckets=_WAIT_BUCKETS,
            registry=to,
        )
        self._locks = Histogram(
            "nexus_lock_wait_seconds",
            "Waits for the lock of the project while another process held it.",
            ("outcome",),
            buckets=_WAIT_BUCKETS,
            registry=to,
        )
        self._hooks = Histogram(
            "nexus_hook_duration_seconds",
            "Durations of events of hooks, with their waits.",
            ("event",),
            buckets=_CALL_BUCKETS,
            registry=to,
        )
        self._started = Counter("nexus_cycles_started", "Cycles that plan_start began.", registry=to)
        self._closed = Counter("nexus_cycles_closed", "Cycles that were archived.", registry=to)
        self._ended = Counter("nexus_sessions_ended", "Sessions that ended.", registry=to)

    def operation_ended(self, operation: Operation) -> None:
        """Count a request, the call in it, and a cycle that the call started or closed."""
        key = operation.method, operation.tool, operation.outcome
        children = self._children.get(key)
        if children is None:
            children = self._children[key] = self._children_of(*key)
        requests, calls, seconds = children
        requests.inc()
        if calls is None or seconds is None:
            return
        calls.inc()
        seconds.observe(operation.seconds)
        if operation.is_starting:
            self._started.inc()
        if operation.is_closing:
            self._closed.inc()

    def _children_of(self, method: str, tool: str, outcome: str) -> tuple[Counter, Counter | None, Histogram | None]:
        """Return the metrics with these labels; the caller keeps them, because the library's look-ups are slow."""
        requests = self._requests.labels(method, outcome)
        return (
            (requests, self._calls.labels(tool, outcome), self._seconds.labels(tool))
            if tool
            else (requests, None, None)
        )

    def turn_waited(self, seconds: float) -> None:
        """Count a wait for earlier requests."""
        self._turns.observe(seconds)

    def lock_waited(self, seconds: float, *, is_taken: bool) -> None:
        """Count a wait for the lock."""
        self._locks.labels("taken" if is_taken else "given_up").observe(seconds)

    def hook_answered(self, event: str, seconds: float) -> None:
        """Count an event of a hook."""
        self._hooks.labels(event).observe(seconds)

    def session_ended(self, seconds: float) -> None:  # noqa: ARG002 - the page has no durations of sessions
        """Count the end of a session."""
        self._ended.inc()


class ServerMetrics:
    """The metrics of a server, and those of its projects by the name in their address.

    `connections` is set to the open connections when the first client connects.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        to = self.registry
        ProcessCollector(registry=to)
        Gauge("nexus_build_info", "The version of the server.", ("version", "python"), registry=to).labels(
            __version__, platform.python_version()
        ).set(1)
        self._responses = Counter("nexus_http_responses", "Responses by status.", ("code",), registry=to)
        self._refusals = Counter(
            "nexus_refusals", "Requests that were refused before MCP.", ("code", "reason"), registry=to
        )
        self.connections: Collection[object] = ()
        self._projects: dict[str, ProjectMetrics] = {}

    @property
    def projects(self) -> dict[str, ProjectMetrics]:
        """Return the metrics of the projects by name."""
        return dict(self._projects)

    def of_project(self, name: str, label: str) -> ProjectMetrics:
        """Return the metrics of a project; make them if they do not exist."""
        found = self._projects.get(name)
        if found is None:
            found = self._projects[name] = ProjectMetrics(label)
        return found

    def forget(self, name: str) -> None:
        """Drop the series of a project that is no longer served."""
        self._projects.pop(name, None)

    def count_response(self, status: int) -> None:
        """Count a response."""
        self._responses.labels(str(status)).inc()

    def count_refusal(self, refusal: Refusal) -> None:
        """Count a refused request by its reason."""
        self._refusals.labels(str(refusal.status), _reason_of(refusal.status, refusal.headers)).inc()

    def count_refused_connection(self, status: int) -> None:
        """Count a request or a connection that protocol.py or handshake.py refuses."""
        self._responses.labels(str(status)).inc()
        self._refusals.labels(str(status), _reason_of(status, {})).inc()


def _reason_of(status: int, headers: Mapping[str, str]) -> str:
    """Return the reason of a refusal with this status and these headers, for a label with few values."""
    if status == 403 and any(name.lower() == "www-authenticate" for name in headers):
        return _RIGHT
    return _REASONS.get(status, _OTHER)
