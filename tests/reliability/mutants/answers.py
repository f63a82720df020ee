"""Faults in the answers to lines."""

from __future__ import annotations

import re
from typing import Any

from nexus_mcp.server import messages, pipes, recover, stdio
from nexus_mcp.server.faults import INVALID_REQUEST, PARSE_ERROR, Fault
from nexus_mcp.server.pipes import Splitter
from tests.reliability.mutants.definition import Mutant


def _drops_unreadable() -> tuple[Any, str, Any]:
    def parse(line: bytes) -> messages.Message | None:
        try:
            return messages.parse(line)
        except Fault as fault:
            if fault.code == PARSE_ERROR:
                return None
            raise

    return stdio, "parse", parse


def _ends_at_a_fault() -> tuple[Any, str, Any]:
    real = stdio._Session._take

    def take(self: stdio._Session, line: bytes | Fault) -> None:
        if isinstance(line, bytes):
            try:
                messages.parse(line)
            except Fault as fault:
                if fault.code == INVALID_REQUEST:
                    raise RuntimeError("an unexpected error") from fault
        real(self, line)

    return stdio._Session, "_take", take


def _no_line_limit() -> tuple[Any, str, Any]:
    return pipes, "Splitter", lambda: Splitter(1 << 40)


def _serves_batches() -> tuple[Any, str, Any]:
    def parse(line: bytes) -> messages.Message | None:
        return messages.parse(line.strip()[1:-1] if line.startswith(b"[{") and line.endswith(b"}]") else line)

    return stdio, "parse", parse


def _answers_notifications() -> tuple[Any, str, Any]:
    def notify(self: stdio._Session, message: messages.Message) -> None:
        self._connection.notify(message)
        self._sink.send({"jsonrpc": "2.0", "id": None, "result": {}})

    return stdio._Session, "_notify", notify


def _guesses_ids() -> tuple[Any, str, Any]:
    def id_in_line(line: bytes) -> int | None:
        found = re.findall(rb'"id": ?(\d{1,9})\b', line)
        return int(found[-1]) if found else None

    return recover, "id_in_line", id_in_line


MUTANTS = (
    Mutant("drops-unreadable", "A line that is no JSON gets no answer.", _drops_unreadable),
    Mutant("ends-at-a-fault", "A line that is refused ends the server.", _ends_at_a_fault),
    Mutant("no-line-limit", "The length of a line has no limit.", _no_line_limit),
    Mutant("serves-batches", "A batch of one request is served.", _serves_batches),
    Mutant("answers-notifications", "Notifications are answered.", _answers_notifications),
    Mutant("guesses-ids", "A malformed line is answered under its last id-like number.", _guesses_ids),
)
