"""The cost of a run: an unreported cost is shown as unknown, and a limit that cannot be enforced is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nexus_mcp.run import control
from nexus_mcp.run import events as ev
from nexus_mcp.run.projection import project
from nexus_mcp.run.report import cost_text
from nexus_mcp.run.setup import Run
from tests.run.runs import Ground
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
TWO: list[Json] = [*ONE, {"id": 2, "title": "Two", "deps": [1]}]
USAGE = '{"kind": "usage", "input": 9, "output": 3%s}'


def writes(name: str, cost: str | None = None) -> list[Json]:
    """Return the steps of a session that writes a file, and reports this cost."""
    return [{"write": name, "text": "x"}, *([] if cost is None else [{"print": USAGE % cost}])]


def test_a_driver_that_reports_no_usage_has_an_unknown_cost(tmp_path: Path) -> None:
    """At the end of the run, in its status, in both forms of the report, and in the status file."""
    ground = Ground(tmp_path, ONE, {"1": [writes("f1")]})
    ground.configure()
    code, out, err = ground.cli("--trust", "--merge", "never")
    assert code == 0, out + err
    folder = ground.root / ".nexus/state/runs" / ground.run_id
    shown = [out, ground.cli("status")[1], ground.cli("show")[1]]
    for text in (*shown, (folder / "report.md").read_text(), (folder / "report.html").read_text()):
        assert "unknown cost" in text
        assert "0.00 USD" not in text
    assert json.loads((folder / "status.json").read_text())["cost"]["spent"] is None


def test_tokens_without_a_price_have_an_unknown_cost(tmp_path: Path) -> None:
    """The line of the log says so."""
    ground = Ground(tmp_path, ONE, {"1": [writes("f1", "")]})
    ground.configure()
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    assert "9 tokens in, 3 out, unknown cost" in ground.cli("log", "--level", "debug")[1]


def test_a_sum_that_lacks_a_session_is_a_lower_bound() -> None:
    """The second session died before it reported anything; while the first one works, nothing is known."""
    start = ev.ProcessStarted(task=1, attempt=1, role="owner", pid=5, create_time=1.0)
    log: list[ev.AnyEvent] = [start]
    assert cost_text(project([])) == "0.00 USD"
    assert cost_text(project(log)) == "unknown cost"
    log += [ev.Usage(task=1, attempt=1, cost_usd=0.5), ev.ProcessEnded(task=1, attempt=1, code=0, done=True)]
    assert cost_text(project(log)) == "0.50 USD"
    log += [start, ev.ProcessEnded(task=1, attempt=1, signal=9)]
    assert cost_text(project(log)) == "at least 0.50 USD"
    assert project(log).is_cost_reported


@pytest.mark.parametrize("code", [126, 127])
def test_a_harness_that_did_not_start_costs_nothing(code: int) -> None:
    """The shell could not start it."""
    start = ev.ProcessStarted(task=1, attempt=1, role="owner", pid=5, create_time=1.0)
    assert cost_text(project([start, ev.ProcessEnded(task=1, attempt=1, code=code)])) == "0.00 USD"


def test_a_limit_that_cannot_hold_ends_the_run(tmp_path: Path) -> None:
    """The first session reported no cost, so the second one is not started; diagnose says what to do."""
    ground = Ground(tmp_path, TWO, {"1": [writes("f1")], "2": [writes("f2")]})
    ground.configure(max_cost_usd=5.0)
    code, out, err = ground.cli("--trust", "--merge", "never")
    assert (code, "reported no cost, so the limit of 5.00 USD cannot be enforced" in out) == (4, True), out + err
    assert ground.statuses() == ["completed", "pending"]
    assert "Set run.prices" in ground.cli("diagnose")[1]


def test_a_known_part_of_the_cost_still_reaches_the_limit(tmp_path: Path) -> None:
    """A session died without a cost; the costs of the others are more than the limit."""
    script: dict[str, Json] = {"1": [[{"kill": 9}], writes("f1", ', "cost_usd": 2.0')], "2": [writes("f2")]}
    ground = Ground(tmp_path, TWO, script)
    ground.configure(max_cost_usd=1.5)
    code, out, err = ground.cli("--trust", "--merge", "never")
    assert (code, "The run has cost 2.00 USD" in out) == (4, True), out + err
    assert ground.statuses() == ["completed", "pending"]


def test_a_yes_raises_the_limit_by_its_amount(tmp_path: Path) -> None:
    """The question about the limit comes once for each such amount, not before each step."""
    rows = [{"id": id_, "title": "T", "deps": [id_ - 1] if id_ > 1 else []} for id_ in range(1, 5)]
    script: dict[str, Json] = {"*": [[{"run": "echo x > f$NEXUS_TASK"}, {"print": USAGE % ', "cost_usd": 1.0'}]]}
    ground = Ground(tmp_path, rows, script)

    def agree(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            if isinstance(event, ev.Question):
                control.drop(run.folder, {"command": "answer", "id": event.id, "text": "yes", "by": "person"})

        run.listeners.append(look)

    state = ground.run(before=agree, max_cost_usd=1.5, questions={"triggers": {"cost-exceeded": True}})
    assert ground.statuses() == ["completed"] * 4
    assert [one.summary[:24] for one in state.questions.values()] == ["The run has cost 2.00 US"]
