"""Answers are matched with their lines, even if several lines have one id."""

from __future__ import annotations

import json

from tests.reliability.suites.frames.matching import faults

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
SENT = [
    {"id": 1, "method": "initialize", "params": HELLO},
    {"id": 7, "method": "prompts/get", "params": {"name": "d"}},
    {"id": 7, "method": "tools/call", "params": {"name": 5}},
    {"id": 8, "method": "ping"},
]
GREETED, PONG = {"id": 1, "result": HELLO}, {"id": 8, "result": {}}
REFUSED = {"id": 7, "error": {"code": -32602, "message": "Invalid params"}}
LOOKED = {"id": 7, "result": {"messages": []}}


def _told(*answers: dict[str, object]) -> list[str]:
    sent, received = ([json.dumps({"jsonrpc": "2.0", **line}).encode() for line in lines] for lines in (SENT, answers))
    return faults(sent, received)


def test_second_line_with_the_same_id_may_be_answered_first() -> None:
    """A request that is answered at once may be the later one: the first response need not be for the first line."""
    assert _told(GREETED, REFUSED, PONG, LOOKED) == []
    assert _told(GREETED, REFUSED, LOOKED, PONG) == []


def test_missing_extra_and_early_answers_are_detected() -> None:
    """A missing response, a surplus one, and one before its turn are detected."""
    assert "never came" in _told(GREETED, REFUSED, PONG)[0]
    assert "matches no line" in _told(GREETED, REFUSED, PONG, LOOKED, LOOKED)[0]
    assert "matches no line" in _told(GREETED, PONG, LOOKED, REFUSED)[0]
