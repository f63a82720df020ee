"""The loop's order of requests that only read files; tests/server/ checks their results."""

from __future__ import annotations

import pytest

from tests.wire.connection import Json, call, error, exchange, initialize, modern, request
from tests.wire.fake_tools import LOOKS, FakeApp
from tests.wire.test_protocol import STAMP, ok

COMPLETION = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}


def test_lookups_run_in_turn_with_calls() -> None:
    """Whatever looks at files is carried out in turn with the calls, and shaped as the era has it."""
    fake = FakeApp()
    messages = [
        initialize(0),
        call(1, "echo"),
        request(2, "resources/read", {"uri": "x"}),
        request(3, "resources/read", {"uri": "fault"}),
        request(4, "resources/read", {"uri": "raise"}),
        request(5, "completion/complete", COMPLETION),
    ]
    assert exchange(fake.as_app(), messages)[2:] == [
        ok(2, LOOKS["resources/read"]),
        error(3, -32002, "no such thing", data={"uri": "fault"}),
        error(4, -32603, "Internal server error"),
        ok(5, LOOKS["completion/complete"]),
    ]
    looks = ["look resources/read"] * 3 + ["look completion/complete"]
    assert [event for event in fake.events if event != "delivered echo"] == ["run echo", *looks]
    assert fake.clients == ["test-client"] * 5


@pytest.mark.parametrize(
    ("method", "params", "hints"),
    [
        ("resources/list", {}, {"ttlMs": 0, "cacheScope": "private"}),
        ("resources/read", {"uri": "x"}, {"ttlMs": 0, "cacheScope": "private"}),
        ("resources/templates/list", {}, {"ttlMs": 3_600_000, "cacheScope": "public"}),
        ("prompts/list", {}, {"ttlMs": 0, "cacheScope": "private"}),
        ("prompts/get", {"name": "x"}, {}),
        ("completion/complete", COMPLETION, {}),
    ],
)
def test_changing_lists_are_not_cached(method: str, params: Json, hints: Json) -> None:
    """Results that may change at any time are not to be cached; prompts and completions have no hint."""
    fake = FakeApp()
    shown = {"resultType": "complete", **LOOKS[method], **hints, "_meta": STAMP}
    assert exchange(fake.as_app(), [modern(1, method, **params)]) == [ok(1, shown)]
    assert fake.events == [f"look {method} modern"]
