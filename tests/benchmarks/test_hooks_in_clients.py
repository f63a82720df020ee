"""The wall time of a tool call in the real clients: what counts as a call, and the table of the page."""

from __future__ import annotations

import pytest

from benchmarks import hooks_in_clients, results
from benchmarks.hooks_in_clients import BEGIN, CALLS, END, FAST, PAGE, RESULT, ROUNDS, WAYS, WITH, WITHOUT, Watch
from tests.e2e.clients import listed
from tests.e2e.model.conversation import Conversation


def test_page_has_the_table_of_the_results() -> None:
    """docs/performance-details.md shows the stored figures of each client, and how busy the machine was."""
    measured = results.read(RESULT)
    text = PAGE.read_text(encoding="utf-8")
    assert f"{BEGIN}{hooks_in_clients.table(measured)}\n{END}" in text
    assert f"(load {measured['machine']['load']} at the start)" in text


def test_results_have_each_client_in_each_way() -> None:
    """Every client was measured at the version that is tested, each way in as many rounds."""
    clients = results.read(RESULT)["clients"]
    assert list(clients) == list(WAYS)
    for client, row in clients.items():
        assert row["version"] == listed()[client].version
        assert {way: len(values) for way, values in row["rounds"].items()} == dict.fromkeys(WAYS[client], ROUNDS)


def test_table_has_medians_and_differences_within_a_round() -> None:
    """A difference is the median of those of the rounds, not the difference of the medians."""
    rounds = {WITHOUT: [10.0, 20.0, 90.0], WITH: [15.0, 32.0, 100.0], FAST: [11.0, 21.0, 91.0]}
    measured = {
        "begun": "then",
        "machine": {"system": "Linux", "cores": 2, "load": 9.5},
        "shape": {"rounds": 3, "calls": 8},
        "clients": {
            "claude-code": {"version": "1", "rounds": rounds},
            "codex": {"version": "2", "rounds": {WITHOUT: [1.0], WITH: [3.0]}},
        },
    }
    lines = hooks_in_clients.table(measured).splitlines()
    assert lines[2:4] == ["| Claude Code 1 | 20 | 32 (+10) | 21 (+1) |", "| Codex 2 | 1 | 3 (+2) | not offered |"]


def test_watch_needs_a_request_for_each_call() -> None:
    """A round with a call too few is refused, since its gaps would be those of other calls."""
    watch = Watch()
    steps = watch.steps()
    turns = [step(Conversation("", [], [])) for step in steps]
    assert [turn.get("tool") for turn in turns] == ["task_update"] * CALLS + [None]
    assert watch.take_median_ms() >= 0
    steps[0](Conversation("", [], []))
    with pytest.raises(ValueError, match="1 requests came, not 9"):
        watch.take_median_ms()
