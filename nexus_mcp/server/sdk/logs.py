"""What the SDK and its libraries log, on the way that our own log lines take: one line each, never waiting."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from nexus_mcp import log


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = f"{record.name}: {self.format(record)}"
        except Exception as error:  # noqa: BLE001 - a log call with wrong arguments is not our caller's fault
            text = f"{record.name}: a log line that cannot be formatted ({type(error).__name__})"
        if record.levelno >= logging.ERROR:
            log.error(text)
        elif record.levelno >= logging.WARNING:
            log.warning(text)
        elif record.levelno >= logging.INFO:
            log.info(text)
        else:
            log.debug(text)


@contextmanager
def logging_to_our_log() -> Iterator[None]:
    """Take over the root logger for the length of the block."""
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [_Handler()]
    try:
        yield
    finally:
        root.handlers[:] = before
