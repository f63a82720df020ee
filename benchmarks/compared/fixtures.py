"""Run the fixtures of the conformance suite on a mapped server, except those that its map cannot translate."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.client import ROOT
from benchmarks.compared.maps import ServerMap
from benchmarks.compared.peer import Peer
from benchmarks.compared.proxy import NOT_SEEDED
from nexus_mcp.conformance import runner
from nexus_mcp.conformance.fixture import Action, Asserts, Fixture, Kill, Parallel, Step, WriteFile
from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.result import NOT_RUN, PASSED, FixtureResult
from nexus_mcp.conformance.settings import TargetOptions, load_expected
from nexus_mcp.conformance.target import Target, stdio

AREAS = {
    "plan_start": "plan",
    "plan_status": "plan",
    "plan_update": "plan",
    "plan_decide": "plan",
    "task_add": "tasks",
    "task_list": "tasks",
    "task_update": "tasks",
    "task_close": "close",
    "history_search": "history",
    "context": "context",
    "artifact_write": "artifacts",
    "listing": "lists of tools, form of results",
    "results": "lists of tools, form of results",
}
"""File of fixtures in conformance/tools → the row of the table; the first eleven are the tools of the contract."""
FORM = AREAS["listing"]
TOOLS = tuple(AREAS)[:11]
FOLDERS = {"scenarios": "several tools", "robustness": "broken files, processes, kills"}
UPSTREAM_LIST = ROOT / "tests" / "upstream" / "nexus-core-0.21.0.yml"
_TASKS = ".nexus/state/tasks.json"
_OWN = {"id", "status", "created_at"}
_SHOWN = 160
_CALL_S, _START_S = 60.0, 300.0
"""Timeouts in seconds. They are long, because a busy machine must not make a fixture fail; no time is measured here."""


def suite() -> list[Fixture]:
    """Return the fixtures of the tools of the contract, without those that need a hook command or an executor."""
    return [one for one in load() if not one.needs_events and not one.needs_run and set(one.called_tools) <= set(TOOLS)]


def area(fixture: Fixture) -> str:
    """Return the row of the table that a fixture counts for."""
    folder, _, name = fixture.source.rpartition("/")
    return FOLDERS.get(folder.rpartition("/")[2]) or AREAS[name.removesuffix(".json")]


def reason_against(fixture: Fixture, known: ServerMap, offered: Sequence[str]) -> str:
    """Return why a fixture cannot judge a mapped server, "" if it can."""
    if missing := [tool for tool in fixture.called_tools if tool not in offered]:
        return f"no tool for {missing[0]}"
    if area(fixture) == FORM:
        return "the map makes the form"
    steps = list(_steps(fixture.steps))
    if any(isinstance(step.do, Kill) for step in steps):
        return "a kill would hit the map"
    for request in (one for one in fixture.requests if isinstance(one, Action)):
        reached = known.parameters(request.tool)
        if reached is not None and (unknown := sorted(set(request.params) - reached)):
            return f"no parameter for {unknown[0]} of {request.tool}"
    return "" if known.same_files else _about_files(fixture, known, steps)


def _about_files(fixture: Fixture, known: ServerMap, steps: Sequence[Step]) -> str:
    """Return why a fixture cannot be run without the files of the contract, "" if it can."""
    laid = {path.replace("{STATE_ROOT}", ".nexus/state"): value for path, value in fixture.state_files.items()}
    before = {path: value for path, value in laid.items() if value is not None}
    if fixture.files or any(isinstance(step.do, WriteFile) for step in steps):
        return "about files of the contract"
    if set(before) - {_TASKS} or not _can_seed(before.get(_TASKS, {"tasks": []}), known, fixture):
        return "begins with files of the contract"
    asserts = [fixture.postcondition, *(step.asserts for step in steps)]
    times = {task["created_at"] for task in before.get(_TASKS, {"tasks": []})["tasks"] if "created_at" in task}
    if any(value in times for one in asserts for value in (one.return_value or {}).values() if isinstance(value, str)):
        return "judges times of the tasks that it begins with"
    if not any(one.return_value or one.error is not None or one.error_contains for one in asserts):
        return "judges files only"
    return ""


def _can_seed(value: Any, known: ServerMap, fixture: Fixture) -> bool:
    """Return whether the tasks of a tasks.json can be added one by one by the server's own tools.

    Its goal and decisions are left out where the fixture does not list them.
    """
    tasks = value.get("tasks") if isinstance(value, dict) else None
    reached = known.parameters("task_add")
    if not isinstance(tasks, list) or reached is None or "schema_version" in value:
        return False
    if (value.get("goal") or value.get("decisions")) and "task_list" in fixture.tools:
        return False
    return all(
        isinstance(task, dict) and task.get("id") == number and set(task) <= reached | _OWN and "status" in task
        for number, task in enumerate(tasks, 1)
    )


def _steps(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step.do, Parallel):
            for lane in step.do.lanes:
                yield from _steps(lane)


def answers_only(fixture: Fixture) -> Fixture:
    """Return the fixture without its assertions about files."""

    def bare(asserts: Asserts) -> Asserts:
        return replace(asserts, state_files={}, unchanged=None)

    def inner(step: Step) -> Step:
        do = step.do
        if isinstance(do, Parallel):
            do = Parallel(tuple(tuple(inner(one) for one in lane) for lane in do.lanes))
        return replace(step, do=do, asserts=bare(step.asserts))

    steps = tuple(inner(step) for step in fixture.steps)
    return replace(fixture, steps=steps, postcondition=bare(fixture.postcondition))


def run(peer: Peer, offered: Sequence[str], jobs: int) -> dict[str, str]:
    """Return id of a fixture → `passed`, `failed: …` or `not applicable: …`, on a server through its map."""
    everything = suite()
    reasons = {one.test_id: reason_against(one, peer.map, offered) for one in everything}
    chosen = [one for one in everything if not reasons[one.test_id]]
    if not peer.map.same_files:
        chosen = [answers_only(one) for one in chosen]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        template = [peer.prepare(folder)] if peer.map.setup else []
        command = [sys.executable, "-m", "benchmarks.compared.proxy", peer.name, *template]
        options = TargetOptions(environment={"PYTHONPATH": str(ROOT)}, timeout=_CALL_S, start_timeout=_START_S)
        seen = _run(chosen, stdio(command, options), jobs)
    return {test_id: seen.get(test_id, f"not applicable: {reason}") for test_id, reason in reasons.items()}


def run_plain(peer: Peer, jobs: int) -> dict[str, str]:
    """Return the same for a server without its map: only the prefix of its tools is removed from their names."""
    options = TargetOptions(
        prefix=peer.map.prefix or "", timeout=_CALL_S, start_timeout=_START_S, require_all_tools=True
    )
    return _run(suite(), stdio(peer.command(peer.map.start), options), jobs)


def plain_outcomes() -> dict[str, str]:
    """Return id → `passed` or `failed` on upstream without a map, from the list that `make upstream` checks."""
    suite_ids = [one.test_id for one in suite()]
    listed = load_expected(str(UPSTREAM_LIST), [one.test_id for one in load()])
    return {test_id: "failed" if test_id in listed else "passed" for test_id in suite_ids}


def _run(fixtures: Sequence[Fixture], target: Target, jobs: int) -> dict[str, str]:
    return {one.test_id: _in_words(one) for one in runner.run(fixtures, target, jobs=jobs).results}


def _in_words(result: FixtureResult) -> str:
    if result.status == PASSED:
        return "passed"
    if result.status == NOT_RUN:
        return f"not applicable: {result.reason}"
    failed = [one for one in result.assertions if not one.passed]
    if any(NOT_SEEDED in one.message for one in failed):
        return "not applicable: the server does not take the tasks that it begins with"
    first = next((one for one in failed if one.kind != "process"), failed[0])
    place = " ".join(part for part in (first.step, first.file, first.path) if part)
    return f"failed: {place}{': ' * bool(place)}{first.message}"[:_SHOWN]


def count(outcomes: dict[str, str]) -> dict[str, dict[str, int]]:
    """Return the row of the table → how many fixtures passed, failed, and are not applicable."""
    found: dict[str, dict[str, int]] = {}
    for fixture in suite():
        row = found.setdefault(area(fixture), {"passed": 0, "failed": 0, "not applicable": 0})
        row[outcomes[fixture.test_id].partition(":")[0]] += 1
    return found
