"""The target of the coverage-guided fuzzer answers random conversations by rule, also where no fuzzer is installed."""

from __future__ import annotations

import random

import pytest

from nexus_mcp.server import pipes, stdio
from tests.reliability.suites.frames import coverage_guided, reference_reader, scripts

_CONVERSATIONS = 200


def test_target_answers_by_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations with lines of every kind, also with lines that are too long, end without a fault."""
    splitter = pipes.Splitter
    monkeypatch.setattr(pipes, "Splitter", lambda: splitter(coverage_guided.LONGEST))
    monkeypatch.setattr(reference_reader, "LONGEST", coverage_guided.LONGEST)
    rng, too_long = random.Random(7), 0
    for _ in range(_CONVERSATIONS):
        lines = scripts.conversation(rng, rng.randrange(1, 5), 0)
        too_long += any(len(line) > coverage_guided.LONGEST for line in lines)
        coverage_guided.converse(stdio, bytes([rng.randrange(256)]) + b"\n".join(lines))
    assert too_long > 10


def test_wrong_answers_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer fails the target."""
    monkeypatch.setattr(stdio._Session, "run", lambda _session: None)
    with pytest.raises(AssertionError, match="never came"):
        coverage_guided.converse(stdio, b'\x10{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
