"""Hold the providers of OpenTelemetry, which send from their own threads.

A dead or slow collector delays no call: spans wait in a bounded queue, and are dropped when it is full. The providers
are not the global ones, so that no other library of the process sends through them.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from nexus_mcp import __version__, log
from nexus_mcp.server.otel.observer import Instruments, ProjectTelemetry

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.metrics.export import MetricReader

_NAME = "nexus-mcp"
_CLOSE_S = 3.0
"""Seconds to send the remaining spans and metrics when the server ends."""
_REPEAT_S = 60.0
_PLACEHOLDER = re.compile(r"%[-+ #0]*[\d.]*[sdifr]")


class Exporting:
    """The providers of a server. Raise the errors of OpenTelemetry for invalid settings."""

    def __init__(self, *, is_http: bool) -> None:
        _report_to_our_log()
        known = OTELResourceDetector().detect().attributes
        resource = Resource.create({"service.name": _NAME, "service.version": __version__, **known})
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        if _is_on("OTEL_TRACES_EXPORTER"):
            self._spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        readers: list[MetricReader] = []
        if _is_on("OTEL_METRICS_EXPORTER"):
            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
        self._metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        self._tracer = self._spans.get_tracer(_NAME, __version__)
        self._instruments = Instruments(self._metrics.get_meter(_NAME, __version__))
        self._transport = (
            {"network.transport": "tcp", "network.protocol.name": "http"} if is_http else {"network.transport": "pipe"}
        )

    def of_project(self, label: str) -> ProjectTelemetry:
        """Return the observer of a project with this name."""
        return ProjectTelemetry(self._tracer, self._instruments, {**self._transport, "nexus.project": label})

    def close(self) -> None:
        """Send the remaining data within `_CLOSE_S`. The threads are daemons, so no thread delays the exit."""
        end = time.monotonic() + _CLOSE_S
        ending = [threading.Thread(target=_quietly, args=(one,), daemon=True) for one in self._shutdowns()]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join(max(0.0, end - time.monotonic()))

    def _shutdowns(self) -> tuple[Callable[[], object], ...]:
        return self._spans.shutdown, lambda: self._metrics.shutdown(timeout_millis=_CLOSE_S * 1000)


def _quietly(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the process ends
        log.warning(f"the last spans or metrics could not be sent: {type(error).__name__}")


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() != "none"


class _Reporter(logging.Handler):
    """Log the messages of OpenTelemetry without their values; a repeated message only after a minute.

    The values may be headers with the key for the collector. A dead collector causes the same failure repeatedly.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._next: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        template = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
        now = time.monotonic()
        if now < self._next.get(template, 0.0):
            return
        if len(self._next) > 100:  # a message formatted by its caller has a new text each time
            self._next.clear()
        self._next[template] = now + _REPEAT_S
        text = _PLACEHOLDER.sub("…", template) if record.args else record.name
        log.warning(f"OpenTelemetry reports: {text}", logger=record.name)


def _report_to_our_log() -> None:
    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.handlers[:] = [_Reporter()]
