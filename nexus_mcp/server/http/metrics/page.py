"""Answer /metrics with the series that a token may see, in the text format 0.0.4 of Prometheus.

A token for named projects gets the series of these projects only. A token for all projects also gets the series of the
process.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING

from anyio import to_thread
from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from starlette.responses import Response

from nexus_mcp.server.http.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric
    from starlette.types import Receive, Scope, Send

    from nexus_mcp.server.http.callers import Callers
    from nexus_mcp.server.http.metrics.counters import ProjectMetrics, ServerMetrics
    from nexus_mcp.server.http.tokens import Token

PATH = "/metrics"
RIGHT = "read"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPage:
    """The answers to /metrics, rendered one at a time: a page of many projects takes long."""

    def __init__(self, metrics: ServerMetrics, callers: Callers) -> None:
        self._metrics = metrics
        self._callers = callers
        self._one = asyncio.Lock()

    async def answer(self, scope: Scope, token: Token, receive: Receive, send: Send) -> None:
        """Answer a request of a token with the right to read. Raise Refusal."""
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "GET and HEAD only.", {"allow": "GET, HEAD"})
        projects = {name: one for name, one in self._metrics.projects.items() if token.may_enter(name)}
        sees_process = token.projects is None
        now = [*self._open(projects), *([self._connections()] if sees_process else [])]

        def render() -> bytes:
            families = [*_join(projects.values()), *now]
            if sees_process:
                families += self._metrics.registry.collect()
            return generate_latest(_Page(families))

        async with self._one:
            data = await to_thread.run_sync(render)  # 1000 projects take seconds
        await Response(data, headers={"content-type": CONTENT_TYPE})(scope, receive, send)

    def _connections(self) -> Metric:
        return GaugeMetricFamily("nexus_http_connections", "Open connections.", value=len(self._metrics.connections))

    def _open(self, projects: dict[str, ProjectMetrics]) -> Iterator[Metric]:
        """Yield the numbers of open sessions, requests and streams of each project."""
        open_ = [(one.mount.name, one.writer) for one in self._callers.requests if one.mount is not None]
        streams = [name for name, writer in open_ if writer is not None and writer.is_stream]
        counts = (
            ("nexus_sessions", "Open sessions.", [one.mount.name for one in self._callers.sessions]),
            ("nexus_open_requests", "Open requests, with streams.", [name for name, _ in open_]),
            ("nexus_open_streams", "Open streams.", streams),
        )
        for name, text, places in counts:
            found = Counter(places)
            family = GaugeMetricFamily(name, text, labels=("project",))
            for project, metrics in projects.items():
                family.add_metric((metrics.label,), found[project])
            yield family


class _Page:
    """Metric families with the interface that `generate_latest` needs."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _join(projects: Iterable[ProjectMetrics]) -> Iterable[Metric]:
    """Return the families of several projects, each once, with the label `project` in every sample."""
    found: dict[str, Metric] = {}
    for project in projects:
        for family in project.registry.collect():
            samples = [one._replace(labels={"project": project.label, **one.labels}) for one in family.samples]
            if family.name in found:
                found[family.name].samples += samples
            else:
                family.samples = samples
                found[family.name] = family
    return found.values()
