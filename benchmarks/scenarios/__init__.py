"""The table SCENARIOS: the measurements, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.goals import HISTORY_PARTS, PARTS
from benchmarks.scenarios import crowd, history, hook, http, limits, native, runs, start, status, tasks
from benchmarks.scenarios.bench import Bench


@dataclass(frozen=True)
class Scenario:
    """A measurement: the parts whose rows it gives, and the number of rounds for stable medians."""

    parts: frozenset[str]
    rounds: int
    run: Callable[[Bench], None]


SCENARIOS: dict[str, Scenario] = {
    "start": Scenario(frozenset({"start"}), 15, start.run),
    "warm": Scenario(frozenset({"warm"}), 15, lambda bench: tasks.run(bench, count=140, calls=10)),
    "crowd": Scenario(frozenset({"crowd"}), 4, crowd.run),
    "history": Scenario(HISTORY_PARTS, 5, history.run),
    "tasks": Scenario(frozenset({"tasks"}), 5, lambda bench: tasks.run(bench, count=10_000, calls=2)),
    "hook": Scenario(frozenset({"hook"}), 15, hook.run),
    "native": Scenario(frozenset({"native"}), 15, native.run),
    "run": Scenario(frozenset({"run"}), 1, runs.run),
    "http": Scenario(frozenset({"http"}), 5, http.run),
    "status": Scenario(frozenset({"status"}), 31, status.run),
    "limits": Scenario(frozenset(PARTS), 5, limits.run),
}
