"""Run fixtures against a target: several at once, each in its own project, and delete everything afterwards.

Before the first fixture, the runner checks that the target starts, answers and has at least one of the tools;
otherwise no fixture can be judged. The runner skips this check if all fixtures judge only the executor.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.evidence import Space, cut_result
from nexus_mcp.conformance.failures import TargetFailure, TargetTimeout, first_line, last_lines, unwrap_group
from nexus_mcp.conformance.fixture import Parallel
from nexus_mcp.conformance.limits import AT_ONCE, RUN_EVIDENCE
from nexus_mcp.conformance.processes import killing
from nexus_mcp.conformance.processes.killing import adopt_orphans
from nexus_mcp.conformance.processes.process import Allowance
from nexus_mcp.conformance.processes.starting import NAME_PROGRAM_HINT, max_parallel_fixtures
from nexus_mcp.conformance.result import FAILED, NOT_RUN, PASSED, Assertion, Cut, FixtureResult, Leftover, RunResult
from nexus_mcp.conformance.settings import find_prefix
from nexus_mcp.conformance.stopping import block_signals, handle_signals, in_thread, run_under_signals
from nexus_mcp.conformance.target import Place
from nexus_mcp.conformance.tokens import fill_fixture
from nexus_mcp.conformance.trial.bench import Bench
from nexus_mcp.conformance.trial.steps import URL, has_url
from nexus_mcp.conformance.trial.trial import Trial
from nexus_mcp.conformance.trial.workspace_root import WorkspaceRoot
from nexus_mcp.errors import HarnessFault, NexusError
from nexus_mcp.packaged import data_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nexus_mcp.conformance.client.connection import Session
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.stopping import Ending
    from nexus_mcp.conformance.target import Target
    from nexus_mcp.conformance.trial.sandbox import Sandbox

_SHARED = {"listing", "results"}
"""The names of the fixture files that are about all tools, not about one tool."""
NO_TOOL = "needs tools that the server lacks"
"""Why a fixture is not run when the target lacks some of its tools. The result names the missing tools."""
_PROGRAMS = (".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".php", ".jar", ".dll")
"""The ends of the names of files that an interpreter runs. Other words with a dot may be names of packages."""
_NAMED = 8
_NAME = 60
_OTHERS = 50


def run(
    fixtures: Sequence[Fixture],
    target: Target,
    *,
    jobs: int = 0,
    max_failures: int | None = None,
    is_expected: Callable[[str], bool] = lambda _test_id: False,
    on_start: Callable[[str], None] = lambda _test_id: None,
    on_result: Callable[[FixtureResult], None] = lambda _result: None,
    on_left: Callable[[tuple[Leftover, ...]], None] = lambda _left: None,
) -> RunResult:
    """Run every fixture, at most `jobs` at a time (0: one per processor, at most AT_ONCE), and return the results.

    `on_start` gets the id of each fixture, `on_result` its result, as they come; the results returned are in the order
    of the fixtures. After `max_failures` failures of fixtures whose ids `is_expected` does not accept, no further
    fixture starts. Raise HarnessFault when the target cannot be run at all, when the project of a fixture cannot be
    created, or for a fault of this package; SystemExit or KeyboardInterrupt for a signal. In every case the
    processes of the run are killed, and its temporary folders deleted. Paths that cannot be deleted are in the result,
    or go to `on_left` when there is no result.
    """
    if has_url(target.options) and not target.has_url:
        raise HarnessFault(
            [f"The event command has {URL}, but the target has no URL."],
            next_step=f"Leave {URL} out, or name the URL of the server with --url.",
        )
    mark = secrets.token_hex(8)
    remaining: tuple[Leftover, ...] = ()
    with handle_signals() as ending, adopt_orphans():
        root = WorkspaceRoot(target.project)
        ending.last_resort = lambda: _last_resort(mark, root.path)
        found = None
        try:
            running = _Run(target, root, mark, on_start, on_result)
            found = ending.run(running.all(fixtures, jobs, _Limit(max_failures, is_expected)))
        except BaseExceptionGroup as group:
            raise unwrap_group(group) from None
        finally:
            with block_signals():
                killing.kill_marked(mark)
                remaining = _remove(root, ending)
            if remaining and found is None:
                on_left(remaining)  # without a result, this is the only list of the remaining paths
    return replace(found, left=remaining)


def _remove(root: WorkspaceRoot, ending: Ending) -> tuple[Leftover, ...]:
    left = run_under_signals(root.remove, ending)
    return (Leftover(root.path, "deleting it took too long"),) if left is None else tuple(left)


def _last_resort(mark: str, path: str) -> str:
    killing.kill_marked(mark)
    return f"The folder {path} may be left behind."


class _Limit:
    """Count failures, up to the one after which a run stops."""

    def __init__(self, most: int | None, is_expected: Callable[[str], bool]) -> None:
        self._most = most
        self._is_expected = is_expected
        self._failures = 0

    @property
    def is_reached(self) -> bool:
        return self._most is not None and self._failures >= self._most

    @property
    def reason(self) -> str:
        """Return why a fixture is not run after the limit."""
        return f"stopped after {self._most} failure{'s' * (self._most != 1)}"

    def count(self, result: FixtureResult) -> None:
        self._failures += result.status == FAILED and not self._is_expected(result.test_id)


class _Run:
    def __init__(
        self,
        target: Target,
        root: WorkspaceRoot,
        mark: str,
        on_start: Callable[[str], None],
        on_result: Callable[[FixtureResult], None],
    ) -> None:
        self._limit = _Limit(None, lambda _test_id: False)
        self._target = target
        self._root = root
        self._mark = mark
        self._on_start = on_start
        self._on_result = on_result
        self._at_once = 1
        self._space = Space(RUN_EVIDENCE)

    async def all(self, fixtures: Sequence[Fixture], jobs: int, limit: _Limit) -> RunResult:
        self._limit = limit
        began, started = datetime.now(UTC), time.perf_counter()
        called = {tool for fixture in fixtures for tool in fixture.called_tools}
        if self._target.manner is None and (
            not fixtures or not all(fixture.needs_run and not fixture.needs_server for fixture in fixtures)
        ):
            await _preflight(self._target, called, self._root, f"{self._mark}.start")
        # A target that serves one folder gets one fixture at a time.
        wanted = min(jobs or min(_processors(), AT_ONCE), max(1, len(fixtures)))
        self._at_once = 1 if self._target.project is not None else min(wanted, max_parallel_fixtures(_lanes(fixtures)))
        gate = asyncio.Semaphore(self._at_once)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(fixture, n, gate)) for n, fixture in enumerate(fixtures)]
        return RunResult(
            self._target.label,
            self._target.server,
            self._target.protocol,
            f"{began:%Y-%m-%dT%H:%M:%SZ}",
            time.perf_counter() - started,
            tuple(task.result() for task in tasks),
            other_tools=_other_tools(self._target, called),
        )

    async def _one(self, fixture: Fixture, number: int, gate: asyncio.Semaphore) -> FixtureResult:
        missing = _missing_tools(fixture, self._target)
        reason = NO_TOOL if missing else _reason_not_run(fixture, self._target)
        if reason:
            # Report this result before the others: the estimate of the time left must count only fixtures that run.
            result = _summary(fixture, NOT_RUN, reason=reason, missing_tools=missing)
            self._on_start(fixture.test_id)
            self._on_result(result)
            return result
        async with gate:
            self._on_start(fixture.test_id)
            try:
                result = await self._result(fixture, f"{self._mark}.{number}")
                if self._limit.is_reached and result.status == FAILED:
                    # The run has reached its limit of failures since this fixture began.
                    result = _summary(fixture, NOT_RUN, reason=self._limit.reason)
                self._limit.count(result)
            except NexusError:
                raise
            except Exception as error:
                problem = (
                    f"{fixture.test_id}: a fault of the runner, not of the target: {type(error).__name__}: {error}"
                )
                raise HarnessFault([problem], next_step="Please report it.") from error
            result = cut_result(result, self._space)
            self._on_result(result)
            return result

    async def _result(self, fixture: Fixture, mark: str) -> FixtureResult:
        if self._limit.is_reached:
            return _summary(fixture, NOT_RUN, reason=self._limit.reason)
        started = time.perf_counter()
        attempt = 0
        while True:
            trial, texts, cut = await self._attempt(fixture, mark, attempt)
            attempt += 1
            failed = list(dict.fromkeys(one.kind for one in trial.assertions if not one.passed))
            if failed or attempt == fixture.repeat:
                break
        return _summary(
            fixture,
            FAILED if failed else PASSED,
            reason=", ".join(failed),
            assertions=tuple(trial.assertions),
            exchanges=tuple(trial.steps.exchanges),
            files=texts,
            stderr=trial.steps.stderr,
            seconds=time.perf_counter() - started,
            repeats=attempt,
            cut=cut,
        )

    async def _attempt(self, fixture: Fixture, mark: str, attempt: int) -> tuple[Trial, dict[str, str], Cut]:
        sandbox = self._root.sandbox()
        remaining: list[Leftover] = []
        try:
            try:
                fixture = fill_fixture(fixture, sandbox.project, fixture.harness_id or self._target.options.harness_id)
                sandbox.lay(fixture)
                bench = Bench(sandbox.project) if fixture.needs_run else None
                if bench is not None:
                    await asyncio.to_thread(bench.lay, fixture)
            except (OSError, ValueError) as error:
                place = f"{fixture.source}: {fixture.pointer or '/'}"
                raise HarnessFault(
                    [f"{place}: the project of {fixture.test_id} cannot be created: {error}."]
                ) from error
            trial = Trial(fixture, self._target, sandbox, mark, attempt, at_once=self._at_once, bench=bench)
            await trial.run()
            good = all(assertion.passed for assertion in trial.assertions)
            texts, cut = ({}, Cut()) if good else await _texts(sandbox)
        finally:
            remaining += await _clear(sandbox)
        for one in remaining:
            problem = f"the target left files that cannot be deleted: {one.path}: {one.reason}"
            trial.assertions.append(Assertion("process", passed=False, message=problem))
        return trial, texts, cut


async def _texts(sandbox: Sandbox) -> tuple[dict[str, str], Cut]:
    try:
        return await in_thread(sandbox.texts)
    except TargetFailure:
        return {}, Cut()


async def _clear(sandbox: Sandbox) -> list[Leftover]:
    """Delete a sandbox, and return the paths that remain."""
    try:
        return await in_thread(sandbox.clear)
    except TargetFailure:
        return [Leftover(sandbox.project, "deleting it took too long")]


def _lanes(fixtures: Sequence[Fixture]) -> int:
    """Return the largest number of servers that one fixture starts at once."""
    steps = [step.do for fixture in fixtures for step in fixture.steps]
    return max((len(do.lanes) for do in steps if isinstance(do, Parallel)), default=1)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _missing_tools(fixture: Fixture, target: Target) -> tuple[str, ...]:
    """Return the tools of the fixture that the target lacks.

    Return () if the tools of the target are unknown. Also return () with --require-all-tools, so that the fixture
    fails.
    """
    if target.options.require_all_tools or target.tools is None:
        return ()
    return tuple(tool for tool in fixture.called_tools if target.options.actual(tool) not in target.tools)


def _other_tools(target: Target, called: set[str]) -> tuple[str, ...]:
    """Return the names, shortened, of the first tools of the target that are neither in our suite nor in `called`."""
    known = target.options.all_actual(_suite_tools() | called)
    others = [name for name in dict.fromkeys(target.tools or ()) if name not in known]
    return tuple(first_line(name, _NAME) for name in others[:_OTHERS])


def _reason_not_run(fixture: Fixture, target: Target) -> str:
    """Return the reason why the fixture cannot run against this target, "" if it can."""
    if fixture.needs_process and not target.is_process:
        return "needs a process"
    if fixture.needs_events and target.options.event_command is None:
        return "needs --event-command"
    if not fixture.needs_run:
        return ""
    if target.options.run_command is None:
        return "needs --run-command"
    return "" if target.project is None else "needs a project of its own"


def _summary(fixture: Fixture, status: str, **more: Any) -> FixtureResult:
    return FixtureResult(
        fixture.test_id,
        fixture.description,
        fixture.source,
        fixture.group,
        fixture.tools,
        status,
        level=fixture.level,
        **more,
    )


async def _preflight(target: Target, called: Iterable[str], root: WorkspaceRoot, mark: str) -> None:
    """Connect to the target in a sandbox of `root`, and check its tools. `called` are the tools that the fixtures call.

    Raise HarnessFault when the target does not answer, or has no known tool.
    """
    sandbox = root.sandbox()
    session = None
    try:
        sandbox.lay_git()
        session = await _connect(target, Place(sandbox.project, mark, Allowance()))
        _check_tools(target, session, {*_suite_tools(), *called})
        await session.end()
    finally:
        if session is not None:
            session.kill()
        await in_thread(sandbox.clear)


def _suite_tools() -> set[str]:
    """Return the tools of our suite, which has a file of fixtures for each: a server with any of them is judged."""
    return {name.removesuffix(".json") for name in os.listdir(data_path("conformance", "tools"))} - _SHARED


async def _connect(target: Target, place: Place) -> Session:
    try:
        try:
            return await target.open(place)
        except TargetTimeout:
            raise
        except TargetFailure:
            if not target.is_process or not target.start_plainly():
                raise
            # An old server may exit after a request that it does not know.
            return await target.open(place)
    except TargetFailure as failure:
        lines = last_lines(failure.stderr)
        end = ["The end of its stderr:", *(f"  {line}" for line in lines)] if len(lines) > 1 else []
        problem = f"The server did not become ready: it {failure}."
        raise HarnessFault([problem, *end], next_step=_hint(target)) from failure
    except OSError as error:
        problem = f"The server could not be started: {target.command[0]}: {error.strerror}."
        raise HarnessFault([problem], next_step=_hint(target) or NAME_PROGRAM_HINT) from error


def _check_tools(target: Target, session: Session, known: set[str]) -> None:
    listed = session.connection.tools
    if not target.options.all_actual(known).isdisjoint(listed):
        return
    shown = (
        ", ".join(first_line(name, _NAME) for name in listed[:_NAMED]) + (" …" if len(listed) > _NAMED else "")
        if listed
        else "none at all"
    )
    prefix = find_prefix(listed, known)
    prefix = prefix if len(prefix) <= _NAME else ""
    hint = f"Its names begin with {prefix}: use --tool-prefix {prefix}" if prefix else ""
    if not hint and any(tool in listed for tool in known):
        hint = "Its names have no prefix: leave --tool-prefix out."
    raise HarnessFault([f"The server has none of the tools that the fixtures call; it lists {shown}."], next_step=hint)


def _hint(target: Target) -> str:
    """Return a hint if the command has a relative path, which is the most common mistake, or names a program that does
    not exist, for example because it is not built; else "".
    """
    for place, word in enumerate(target.command):
        is_path = place > 0 or os.path.dirname(word)  # a word without a slash is searched in PATH
        if not is_path or os.path.isabs(word):
            continue
        if os.path.isfile(word):
            return f"The server runs in a project of its own: give {word} as an absolute path."
        is_program = place == 0 or (word.endswith(_PROGRAMS) and not word.startswith("-") and "://" not in word)
        if is_program and not os.path.lexists(word):
            return f"There is no file {first_line(word)} in {os.getcwd()}. Build the server, or correct the path."
    return ""
