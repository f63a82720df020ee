"""Execute a run for the command line: trust, precheck, signals, answers from the terminal, and the summary."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from nexus_mcp.cli import exits
from nexus_mcp.cli.run.command_line import EVENTS, NEW, STATUS_FILE, TRUST
from nexus_mcp.cli.run.screen import Screen
from nexus_mcp.errors import LockTimeout, NexusError, PathRefused, StateError, StorageError, UsageError
from nexus_mcp.harness import HARNESSES, opencode
from nexus_mcp.harness.models import Models, read_models
from nexus_mcp.harness.session_mount import NOTHING, Mount, mount
from nexus_mcp.program import own_command
from nexus_mcp.quoting import inert
from nexus_mcp.run import control, earlier, log_entries, precheck, report, triggers, trust
from nexus_mcp.run import events as ev
from nexus_mcp.run.begin import open_run, unfinished_run
from nexus_mcp.run.cleaning import KEPT
from nexus_mcp.run.dead_executor import GitAtWork
from nexus_mcp.run.environment_faults import full_disk, is_full
from nexus_mcp.run.execute import Front, Result, execute
from nexus_mcp.run.git import GitFailed
from nexus_mcp.run.projection import RunRecord
from nexus_mcp.run.run_folder import LogLost, RunBusy
from nexus_mcp.run.settings import SECTION
from nexus_mcp.run.status import Status, status_file
from nexus_mcp.run.status_writer import StatusPath
from nexus_mcp.state import times
from nexus_mcp.state.tasks import COMPLETED

if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values
    from nexus_mcp.cli.run.typed_run import TypedRun
    from nexus_mcp.run.config import RunConfig
    from nexus_mcp.run.setup import ChooseModel, Options, Run

EXIT_CODES = {
    "completed": exits.OK,
    "failed": exits.FAILED,
    "stalled": exits.NEEDS_PERSON,
    "paused": exits.NEEDS_PERSON,
    "interrupted": exits.INTERRUPTED,
    "limit": exits.LIMIT,
}
PAUSING = "Ctrl-C: nothing new starts, and the run ends after the running attempts. Ctrl-C again ends them at once."
_YES = ("y", "yes")
_MOVED_S = 3.0
"""For this many seconds after the first open question changed, a typed line may be meant for the previous one."""
_AWAIT_LOCK = "Wait until that process has ended, or end it; then type nexus-mcp run. Nothing is lost."


def begin(typed: TypedRun) -> int:
    """Execute the run, and return one of the exit codes in docs/run.md.

    Raise UsageError, CatalogError, and the errors of `precheck.examine`.
    """
    values, options = typed.values, typed.options
    human = sys.stderr if values.get(EVENTS.name) == "-" else sys.stdout
    if not _is_trusted(typed, human):
        return exits.BLOCKED
    paths = [StatusPath(values[STATUS_FILE.name])] if STATUS_FILE.name in values else []
    with Screen(human, is_live=not options.is_headless) as screen, ExitStack() as stack:
        items = asyncio.run(precheck.examine(typed.subject()))
        with typed.store.state() as state:
            is_resumed = state is not None and bool(unfinished_run(state)) and NEW.name not in values
        if _is_all_done(typed.tasks(), options) and not is_resumed:
            screen.line("All tasks are completed.")
            _write_status(paths, typed, "completed")
            return _name_unmerged(typed, screen)
        if is_resumed:
            items = [item for item in items if item.name != "tasks"]
        screen.items(items)
        if any(item.name == "lock" and not item.passed for item in items):
            return exits.BUSY
        if precheck.exit_code_of(items, strict=False) == "blocker":
            _write_status(paths, typed, "precheck-failed")
            return exits.USAGE if precheck.only_harness_is_missing(items) else exits.BLOCKED
        front = Front(screen.event, screen.items, None, paths)
        try:
            return asyncio.run(_work(typed, screen, front, _sink(values, stack)))
        except LockTimeout as busy:
            screen.line(f"The run did not continue: {inert(busy.fault)}. {_AWAIT_LOCK}", "bold red")
            return exits.NEEDS_PERSON
        except RunBusy as busy:
            screen.line(inert(str(busy)), "bold red")
            return exits.BUSY
        except (StateError, StorageError, PathRefused, GitFailed, GitAtWork) as error:
            screen.line(f"The run stopped. {inert(full_disk(error) if _is_short(error) else str(error))}", "bold red")
            return exits.NEEDS_PERSON


async def _work(typed: TypedRun, screen: Screen, front: Front, sink: Callable[[ev.AnyEvent], object]) -> int:
    options = typed.options
    opened = open_run(
        workspace=typed.workspace,
        store=typed.store,
        config=typed.config,
        options=options,
        catalog=typed.catalog,
        is_new=NEW.name in typed.values,
    )
    async with opened as run:
        equip(run, typed.settings)
        run.listeners.append(sink)
        screen.follow(run)
        with _Signals(run) as signals, _Terminal(run, screen, is_open=not options.is_headless) as terminal:
            if not options.is_headless:
                front = replace(front, confirm=lambda text: _confirm(terminal, screen, signals, text))
            result = await execute(run, front, signalled=lambda: signals.code is not None)
            screen.stop()
            _summary(screen, run, result)
            return signals.code if signals.code is not None else _exit_code(result)


def _exit_code(result: Result) -> int:
    """Return the exit code for the result. A completed run whose work is not merged as it should be needs a person."""
    if result.status == "completed" and result.merge_is_open:
        return exits.NEEDS_PERSON
    return EXIT_CODES[result.status]


def equip(run: Run, settings: dict[str, Any]) -> None:
    """Set the models of the run, and the function that returns our server and hooks. Raise CatalogError."""
    run.models = choices(run.config, run.catalog, settings)
    run.mount = partial(make_mount, run.catalog)


def make_mount(catalog: Catalog, harness: str, folder: str, worktree: str) -> Mount:
    """Return our server and hooks for a session in `worktree`; nothing for a harness that `install` does not know."""
    if harness not in HARNESSES:
        return NOTHING
    has_hooks = harness == opencode.ID and opencode.loads_plugin(worktree, os.environ)
    return mount(harness, folder, own_command(), catalog, has_hooks=has_hooks)


def choices(config: RunConfig, catalog: Catalog, settings: dict[str, Any]) -> dict[str, ChooseModel]:
    """Return harness -> the function that returns the model of (agent, tier), "" for none. Raise CatalogError."""
    found: dict[str, ChooseModel] = {}
    for harness in dict.fromkeys((config.harness_for("do"), config.harness_for("check"))):
        models = read_models(harness, settings)

        def choose(agent: str, tier: str, models: Models = models) -> str:
            entry = catalog.agents.get(agent)
            own = models.by_category.get(entry["category"], "") if entry is not None else ""
            return own or models.tiers.get(tier, "")

        found[harness] = choose
    return found


def _is_short(error: NexusError) -> bool:
    """Return whether the disk is full and the error has no advice about it yet."""
    return is_full(error) and not isinstance(error, LogLost)


def _is_trusted(typed: TypedRun, human: TextIO) -> bool:
    """Return whether the commands of the configuration may run: there are none, or a person trusts them."""
    root, section = typed.workspace.root, typed.settings.get(SECTION) or {}
    wanted = trust.digest(section)
    if trust.is_trusted(root, wanted):
        return True
    print("The section run of .nexus/config.yml names commands and files that you have not trusted yet:", file=human)
    for line in trust.commands(section):
        print(f"  {inert(line)}", file=human)
    if TRUST.name in typed.values:
        trust.trust(root, wanted)
        return True
    if typed.options.is_headless:
        print("If you trust them: nexus-mcp run --trust", file=human)
        return False
    print("Run them, now and until they change? [y/N] ", end="", file=human, flush=True)
    if sys.stdin.readline().strip().lower() not in _YES:
        return False
    trust.trust(root, wanted)
    return True


def _name_unmerged(typed: TypedRun, screen: Screen) -> int:
    """Print the newest run if its work should be merged and is not in the user's branch; return the exit code."""
    with typed.store.state() as state:
        left = asyncio.run(earlier.run_to_merge(state, typed.workspace.root))
    if not left or typed.options.merge == "never":
        return exits.OK
    screen.line(f"The work of {left} is not in your branch yet. To merge it, type:", "yellow")
    screen.line(f"  nexus-mcp run merge {left}")
    return exits.NEEDS_PERSON


def _is_all_done(document: dict[str, Any], options: Options) -> bool:
    chosen = [one for one in document["tasks"] if options.tasks is None or one["id"] in options.tasks]
    return bool(chosen) and all(one["status"] == COMPLETED for one in chosen)


def _write_status(paths: list[StatusPath], typed: TypedRun, status: Status) -> None:
    """Write the status of a run that did not begin."""
    document, chosen = typed.tasks(), typed.options.tasks
    made = status_file(
        RunRecord(run="", pid=os.getpid()),
        [task for task in document["tasks"] if chosen is None or task["id"] in chosen],
        typed.config,
        times.stamp(time.time()),
        feature=document["goal"],
        status=status,
    )
    for path in paths:
        path.write(made.data())


def _sink(values: Values, stack: ExitStack) -> Callable[[ev.AnyEvent], object]:
    """Return the function that writes an event as a JSON line to the file of --events.

    Without the option, the function does nothing. Raise UsageError if the file cannot be opened.
    """
    where = values.get(EVENTS.name)
    if where is None:
        return lambda _: None
    if where == "-":
        file = sys.stdout
    else:
        try:
            file = stack.enter_context(open(where, "a", encoding="utf-8"))  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"{EVENTS.name}: {where!r} cannot be written: {error.strerror}.") from error

    def write(event: ev.AnyEvent) -> None:
        with suppress(OSError):  # a closed pipe or a full disk does not end the run
            file.write(json.dumps(log_entries.entry(event), ensure_ascii=True) + "\n")
            file.flush()

    return write


async def _confirm(terminal: _Terminal, screen: Screen, signals: _Signals, text: str) -> bool:
    """Ask on the terminal, and return whether the person agrees. A signal such as Ctrl-C means no."""
    screen.stop()
    screen.line(f"{text} [y/N]", "bold")
    answering = asyncio.create_task(terminal.line())
    signalled = asyncio.create_task(signals.arrived.wait())
    await asyncio.wait({answering, signalled}, return_when=asyncio.FIRST_COMPLETED)
    is_answered = answering.done() and not signalled.done()
    for task in (answering, signalled):
        task.cancel()
    await asyncio.gather(answering, signalled, return_exceptions=True)
    return is_answered and answering.result().strip().lower() in _YES


def _summary(screen: Screen, run: Run, result: Result) -> None:
    """Show how the run ended, and the commands that you may type next."""
    screen.line()
    document = run.tasks()
    for task in document["tasks"]:
        record = run.state.tasks.get(task["id"])
        if record is None:
            continue
        state = "completed" if task["status"] == COMPLETED else record.state
        why = f": {inert(' '.join(record.reason.split()))[:200]}" if record.reason else ""
        style = "green" if state == "completed" else "yellow"
        attempts = f"{len(record.attempts)} attempt{'s' * (len(record.attempts) != 1)}"
        screen.line(f"{state:10} task {task['id']} {inert(task['title'])[:60]} ({attempts}){why}", style)
    screen.line(f"{report.totals(run.state, document)}.", "bold")
    if result.merge_is_open:
        why = inert(result.merge).rstrip(".")
        screen.line(
            f"Nothing was merged into your branch: {why}. The work is on {run.repository.integration}.", "yellow"
        )
    elif result.is_merged:
        screen.line("Your branch has the work.", "green")
    for command in report.next_commands(run.state, document, result.merge):
        screen.line(f"  {command}")
    if result.report:
        screen.line(f"Report: {result.report}")
    if result.removed:
        screen.line(
            f"The newest {KEPT} runs are kept. Removed, because finished and merged: {', '.join(result.removed)}."
        )
    for problem in result.problems:
        screen.line(inert(problem), "yellow")


class _Signals:
    """The signal handlers of a run. `code` is the exit code for the signal that arrived, None before one."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._loop = asyncio.get_running_loop()
        self.code: int | None = None
        self.arrived = asyncio.Event()

    def __enter__(self) -> _Signals:
        self._loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number, code in ((signal.SIGTERM, exits.TERMINATED), (signal.SIGHUP, exits.HUNG_UP)):
            if signal.getsignal(number) is not signal.SIG_IGN:  # SIGHUP stays ignored under nohup
                self._loop.add_signal_handler(number, self._end, code)
        return self

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        self.arrived.set()
        if self.code is not None:
            self._run.stop.set()
            return
        self.code = exits.INTERRUPTED
        try:
            self._run.emit(ev.Paused(reason=PAUSING))
        except StorageError:  # the next event raises the error again, and then it is reported
            self._run.stop.set()

    def _end(self, code: int) -> None:
        self.arrived.set()
        self.code = code
        self._run.stop.set()


class _Terminal:
    """Read lines from the terminal while the run works.

    A line for which `line` waits is its result. Any other line answers the first open question, which the screen
    marks. If the first question changed without a typed line, for example by a fallback, the person may have meant the
    previous one. So lines within `_MOVED_S` after such a change are refused.
    """

    def __init__(self, run: Run, screen: Screen, *, is_open: bool) -> None:
        self._run = run
        self._screen = screen
        self._is_open = is_open
        self._first = ""
        self._moved_at = -_MOVED_S
        self._wanted: asyncio.Future[str] | None = None
        self._rest = b""

    def __enter__(self) -> _Terminal:
        if self._is_open:
            asyncio.get_running_loop().add_reader(0, self._read)
            self._run.listeners.append(self._watch)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    async def line(self) -> str:
        """Return the next line that is typed, "" at the end of input or when the run is stopped."""
        if not self._is_open:
            return ""
        self._wanted = asyncio.get_running_loop().create_future()
        stopping = asyncio.create_task(self._run.stop.wait())
        both: set[asyncio.Future[Any]] = {self._wanted, stopping}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        return self._wanted.result() if self._wanted.done() else ""

    def _read(self) -> None:
        try:
            data = os.read(0, 4096)
        except OSError:
            data = b""
        if not data:
            self._close()
        *lines, self._rest = (self._rest + data).split(b"\n") if data else [self._rest, b""]
        for line in lines:
            self._take(line.decode(errors="replace"))

    def _take(self, text: str) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(text)
            return
        questions = self._run.state.open_questions()
        if not questions or not text.strip():
            return
        first = questions[0]
        if time.monotonic() - self._moved_at < _MOVED_S:
            self._screen.line(
                f"Your line was not taken: it may be meant for the previous question. To answer {first.id}, type "
                "the line again.",
                "yellow",
            )
        elif why := triggers.fault(first.trigger, text):
            self._screen.line(f"The question {first.id} does not accept this answer. {why}", "yellow")
        else:
            request = {"command": "answer", "id": first.id, "text": text.strip(), "by": "terminal"}
            try:
                control.drop(self._run.folder, request)
            except NexusError as error:
                self._screen.line(f"Your answer was not stored: {inert(str(error))} Type it again.", "yellow")

    def _watch(self, event: ev.AnyEvent) -> None:
        """Store the time when the first open question changes for another reason than a line of this terminal."""
        questions = self._run.state.open_questions()
        first = questions[0].id if questions else ""
        is_ours = isinstance(event, ev.Answered) and event.by == "terminal"
        if self._first not in ("", first) and not is_ours:
            self._moved_at = time.monotonic()
        self._first = first

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            asyncio.get_running_loop().remove_reader(0)
