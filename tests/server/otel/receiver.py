"""A collector on loopback: it takes spans and metrics over HTTP, and decodes them."""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
    from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """What arrived. While `gate` is not set, requests get no response."""

    def __init__(self) -> None:
        self.traces: list[ExportTraceServiceRequest] = []
        self.measurements: list[ExportMetricsServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.arrived = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.status = 200
        self.url = ""

    @property
    def spans(self) -> list[Span]:
        return [
            span for one in self.traces for place in one.resource_spans for by in place.scope_spans for span in by.spans
        ]

    @property
    def metrics(self) -> dict[str, Metric]:
        """Return the metrics of the last request by name."""
        (place,) = self.measurements[-1].resource_metrics
        return {metric.name: metric for by in place.scope_metrics for metric in by.metrics}

    @property
    def resource(self) -> dict[str, Any]:
        return attributes(self.traces[-1].resource_spans[0].resource)


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a span, a resource or a point as plain values."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Receive within the block."""
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.headers.append(dict(self.headers.items()))
            found.arrived.set()
            found.gate.wait(60)
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                found.traces.append(ExportTraceServiceRequest.FromString(body))
            elif self.path == "/v1/metrics":
                found.measurements.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(found.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except OSError:  # the sender has ended
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield found
    finally:
        found.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
