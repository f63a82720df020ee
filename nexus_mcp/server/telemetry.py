"""Start OpenTelemetry if OTEL_EXPORTER_OTLP_ENDPOINT is set and OTEL_SDK_DISABLED is not `true`.

Otherwise no module of it is imported.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from nexus_mcp import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from nexus_mcp.server.observing import Observer

    class Telemetry(Protocol):
        """Sends spans and metrics to a collector from its own threads."""

        def of_project(self, label: str) -> Observer:
            """Return the observer of a project with this name."""

        def close(self) -> None:
            """Send the remaining data within a bounded time."""


VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
DISABLED = "OTEL_SDK_DISABLED"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
_HTTP = "http/protobuf"


def start(*, is_http: bool) -> Telemetry | None:
    """Return the Telemetry of the process; None if its variable is not set, or it is disabled or cannot start.

    Never raise.
    """
    if not os.environ.get(VARIABLE) or os.environ.get(DISABLED, "").strip().lower() == "true":
        return None
    if (protocol := os.environ.get(PROTOCOL) or _HTTP) != _HTTP:
        log.warning(f"{PROTOCOL} {protocol[:40]} is not supported: spans and metrics are sent as {_HTTP}")
    try:
        from nexus_mcp.server.otel.exporting import Exporting

        return Exporting(is_http=is_http)
    except ImportError as error:
        log.warning(
            f"{VARIABLE} is set, but {error.name or 'a module'} cannot be imported: nothing is sent. "
            "Install the extra otel into the environment of nexus-mcp"
        )
    except Exception as error:  # noqa: BLE001 - calls are served without telemetry
        log.warning(f"{VARIABLE} is set, but OpenTelemetry cannot start ({type(error).__name__}): nothing is sent")
    return None


@contextmanager
def closing_telemetry(telemetry: Telemetry | None) -> Iterator[None]:
    """Close the telemetry, unless it is None, at the end of the block."""
    try:
        yield
    finally:
        if telemetry is not None:
            telemetry.close()
