"""Execute the steps of a fixture against a target and record each request; the results are judged elsewhere.

Each kind of step has its own function: a call, a request for the list of tools, a lifecycle event (a command with the
payload on its stdin), a write of a file, a restart, a kill in the middle of a call, a run of the executor, and parallel
lanes with a server process each.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.conformance.document import Unparsable, count_values, parse
from nexus_mcp.conformance.evidence import record_exchange
from nexus_mcp.conformance.failures import Reply, TargetFailure, error_line, last_line
from nexus_mcp.conformance.fixture import RUN, Action, Event, Kill, ListTools, Parallel, Restart, Run, Step, WriteFile
from nexus_mcp.conformance.limits import VALUES
from nexus_mcp.conformance.processes.process import Allowance, ServerProcess
from nexus_mcp.conformance.processes.starting import NAME_PROGRAM_HINT, make_environment
from nexus_mcp.conformance.result import Exchange
from nexus_mcp.conformance.trial.executing import execute
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nexus_mcp.conformance.client.connection import Session
    from nexus_mcp.conformance.fixture import Asserts, Fixture
    from nexus_mcp.conformance.settings import TargetOptions
    from nexus_mcp.conformance.target import Place, Target
    from nexus_mcp.conformance.trial.bench import Bench
    from nexus_mcp.conformance.trial.sandbox import Sandbox

TYPE, URL = "{type}", "{url}"
"""The placeholders in an event command."""
TOKEN_VARIABLE = "NEXUS_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable in which an event command with URL finds the bearer token of the server."""


class Answer(NamedTuple):
    """The answer to a request, with the label and the assertions of its step."""

    label: str
    reply: Reply
    asserts: Asserts


class Book(NamedTuple):
    """The list in which calls are recorded, and the label of their step."""

    label: str
    log: list[Exchange]


class Scene(NamedTuple):
    """A fixture with an executor, and its bench."""

    fixture: Fixture
    bench: Bench


class Steps:
    """Execute the steps of one fixture in order. `exchanges` grows with each request and restart.

    The first step that needs the server starts it, and the caller must end it with `end` or `kill`. `attempt` counts
    the repetitions of the fixture from 0.
    """

    def __init__(
        self, target: Target, sandbox: Sandbox, place: Place, attempt: int = 0, scene: Scene | None = None
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.stderr = ""
        self._target = target
        self._sandbox = sandbox
        self._place = place
        self._attempt = attempt
        self._scene = scene
        self._session: Session | None = None

    async def do(self, step: Step, label: str) -> list[Answer]:
        """Execute one step and return its answers; [] if the step has no answer, or if the server was killed before it
        answered and the call is not repeated.

        Raise TargetFailure when the target breaks a rule or does not answer, HarnessFault when the command of an event
        or the executor cannot be started.
        """
        doers: dict[type, Callable[[Any, Step, str], Awaitable[list[Answer]]]] = {
            Action: self._action,
            Event: self._event,
            ListTools: self._list_tools,
            WriteFile: self._write_file,
            Restart: self._restart,
            Kill: self._kill,
            Run: self._run,
            Parallel: self._parallel,
        }
        return await doers[type(step.do)](step.do, step, label)

    async def end(self) -> None:
        """End the server as a client does. Raise TargetFailure if it broke a rule before or at its end."""
        session, self._session = self._session, None
        if session is not None:
            try:
                complaint = await session.end()
            finally:
                session.kill()
                self.stderr = session.stderr or self.stderr
            if complaint:
                raise TargetFailure(complaint)

    def kill(self) -> None:
        """End the server at once, if it runs."""
        session, self._session = self._session, None
        if session is not None:
            session.kill()
            self.stderr = session.stderr or self.stderr

    async def _running(self) -> Session:
        if self._session is None:
            self._session = await self._start()
        return self._session

    async def _start(self) -> Session:
        try:
            return await self._target.open(self._place)
        except OSError as error:
            raise TargetFailure(f"could not be started: {error.strerror}") from None

    async def _call(self, action: Action, step: Step, label: str) -> Answer:
        session = await self._running()
        return await call(session, action, step.asserts, Book(label, self.exchanges))

    async def _action(self, action: Action, step: Step, label: str) -> list[Answer]:
        return [await self._call(action, step, label) for _ in range(step.times)]

    async def _event(self, event: Event, step: Step, label: str) -> list[Answer]:
        request = f"event {event.type}"
        try:
            options = await self._event_options()
            reply = await send_event(event, options, self._place)
        except TargetFailure as failure:
            record = record_exchange(
                label, request, event.params, failure=failure.sentence, earlier=len(self.exchanges)
            )
            self.exchanges.append(replace(record, description=event.description))
            raise
        except OSError as error:
            command = (self._target.options.event_command or ("",))[0]
            problem = f"The event command {command} could not be started: {error.strerror}."
            raise HarnessFault([problem], next_step=NAME_PROGRAM_HINT) from error
        record = record_exchange(label, request, event.params, reply, earlier=len(self.exchanges))
        self.exchanges.append(replace(record, description=event.description))
        return [Answer(label, reply, step.asserts)]

    async def _event_options(self) -> TargetOptions:
        """Return the options of the target for an event. If the event command has {url}, start the server if it does
        not run, and replace {url} by its URL.
        """
        options = self._target.options
        if not has_url(options):
            return options
        url, token = (await self._running()).access
        words = tuple(word.replace(URL, url) for word in options.event_command or ())
        own = {TOKEN_VARIABLE: token} if token else {}
        return replace(options, event_command=words, environment={**options.environment, **own})

    async def _list_tools(self, look: ListTools, step: Step, label: str) -> list[Answer]:
        reply = (await self._running()).list_tools(look.tools)
        # Record no arguments: MCP's tools/list takes no names of tools, and the answer has them.
        self.exchanges.append(record_exchange(label, "list_tools", {}, reply, earlier=len(self.exchanges)))
        return [Answer(label, reply, step.asserts)]

    async def _run(self, run: Run, step: Step, label: str) -> list[Answer]:
        assert self._scene is not None
        words, earlier = {"words": list(run.words)}, len(self.exchanges)
        try:
            reply = await execute(run, *self._scene, self._target.options, self._place)
        except TargetFailure as failure:
            self.exchanges.append(record_exchange(label, RUN, words, failure=failure.sentence, earlier=earlier))
            raise
        self.stderr = reply.text or self.stderr
        self.exchanges.append(record_exchange(label, RUN, words, reply, earlier=earlier))
        return [Answer(label, reply, step.asserts)]

    async def _write_file(self, change: WriteFile, _step: Step, _label: str) -> list[Answer]:
        try:
            self._sandbox.write(change.path, change.content, change.symlink)
        except OSError as error:
            did = f"left the project so that {change.path} cannot be written: {error.strerror}"
            raise TargetFailure(did) from None
        return []

    async def _restart(self, _restart: Restart, _step: Step, label: str) -> list[Answer]:
        await self.end()
        await self._running()
        self.exchanges.append(Exchange(label, "restart"))
        return []

    async def _kill(self, kill: Kill, step: Step, label: str) -> list[Answer]:
        session = await self._running()
        chance = random.Random(kill.seed + self._attempt)  # noqa: S311 - repeatable, not secret
        delay = chance.uniform(0, kill.within_ms / 1000)
        first = len(self.exchanges)
        try:
            answer = await call_and_kill(
                session, lambda: self._call(kill.action, step, label), delay, self._target.options.timeout
            )
        finally:
            self.exchanges[first:] = [replace(one, request=f"kill {one.request}") for one in self.exchanges[first:]]
        if answer is None:
            self.exchanges[-1] = replace(self.exchanges[-1], error="killed before it answered")
        self.kill()
        await self._running()
        if answer is None and kill.retry:
            answer = await self._call(kill.action, step, label)
        return [] if answer is None else [answer]

    async def _parallel(self, parallel: Parallel, _step: Step, label: str) -> list[Answer]:
        return await run_lanes(parallel, self._start, Book(label, self.exchanges))


async def call(session: Session, action: Action, asserts: Asserts, book: Book) -> Answer:
    """Call a tool, and record the call in any case. Raise TargetFailure if there is no valid answer."""
    tool, params, earlier = action.tool, action.params, len(book.log)
    try:
        reply = await session.call(tool, params)
    except TargetFailure as failure:
        book.log.append(record_exchange(book.label, tool, params, failure=failure.sentence, earlier=earlier))
        raise
    book.log.append(record_exchange(book.label, tool, params, reply, earlier=earlier))
    return Answer(book.label, reply, asserts)


def has_url(options: TargetOptions) -> bool:
    """Return whether the event command needs the URL of the server."""
    return any(URL in word for word in options.event_command or ())


async def send_event(event: Event, options: TargetOptions, place: Place) -> Reply:
    """Run the event command for one event, in the project. With a non-zero exit code the returned reply is an error.

    Raise TargetFailure when the command does not end in time, is ended by a signal, prints too much, or leaves
    processes behind; OSError when it cannot be started.
    """
    assert options.event_command is not None
    printed = bytearray()  # one text, because a list of many short lines would take much memory
    started = time.perf_counter()
    process = ServerProcess(
        [word.replace(TYPE, event.type) for word in options.event_command],
        place.project,
        make_environment(options, place.project, place.mark),
        allowance=Allowance(unrequested=sys.maxsize),
        on_line=lambda line: printed.extend(line + b"\n"),
        on_end=lambda: None,
    )
    subject = f"the event command for {event.type}"
    try:
        process.send(json.dumps(event.params, ensure_ascii=False).encode() + b"\n")
        process.close_input()
        await process.death.wait(options.timeout)
        seconds = time.perf_counter() - started
        if not process.death.is_dead and not process.fault:
            raise TargetFailure(f"did not end within {options.timeout:g} s", subject)
        complaint = await process.end(options.end_timeout)
        if did := process.fault or complaint or (process.death.code < 0 and process.death.description):
            raise TargetFailure(did, subject)
    finally:
        process.kill()
    return _reply(bytes(printed + process.unfinished_line), process.stderr, process.death.code, seconds)


async def call_and_kill(
    session: Session, ask: Callable[[], Awaitable[Answer]], delay_s: float, wait_s: float
) -> Answer | None:
    """Call with `ask`, and kill the process group `delay_s` seconds after the request was sent.

    Return the answer if it was written before the kill, else None. Raise TargetFailure when the server ended or
    misbehaved by itself, or when it still lives after `wait_s` more seconds. Afterwards the session is unusable, but
    must still be killed.
    """
    assert session.transport is not None
    process = session.transport.process
    # Kill from a thread, because the event loop's clock is too coarse.
    timer = threading.Timer(delay_s, _kill_group, [process.pid])
    timer.daemon = True
    process.expect_end()
    session.transport.after_send = timer.start
    answer = None
    try:
        answer = await ask()
    except TargetFailure:
        if session.transport.after_send is not None:
            raise
    finally:
        if session.transport.after_send is None:
            # Wait until the timer has killed: the caller reaps the process, and another process may then get its pid.
            await asyncio.to_thread(timer.join)
    await process.death.wait(wait_s)
    if process.fault or process.death.code != -signal.SIGKILL:
        raise TargetFailure(process.fault or process.death.description or "did not die when it was killed")
    return answer


async def run_lanes(parallel: Parallel, start: Callable[[], Awaitable[Session]], book: Book) -> list[Answer]:
    """Start a server for each lane. When all servers are ready, all lanes begin at once; each sends its calls in order.

    Answers and records come in the order of the lanes. If lanes failed, raise the first TargetFailure when all
    servers have ended.
    """
    gate = asyncio.Barrier(len(parallel.lanes))
    books = [Book(f"{book.label}, lane {number + 1}", []) for number in range(len(parallel.lanes))]
    failures: list[TargetFailure] = []
    tasks: list[asyncio.Task[list[Answer]]] = []
    try:
        async with asyncio.TaskGroup() as group:
            for lane, own in zip(parallel.lanes, books, strict=True):
                tasks.append(group.create_task(_lane(lane, start, gate, own)))
    except* TargetFailure as group_of:
        failures += [error for error in group_of.exceptions if isinstance(error, TargetFailure)]
    finally:
        for own in books:
            book.log.extend(own.log)
    if failures:
        raise failures[0]
    return [answer for task in tasks for answer in task.result()]


def _reply(stdout: bytes, stderr: str, code: int, seconds: float) -> Reply:
    text = stdout.decode("utf-8", "replace").strip()
    try:
        payload = parse(text) if count_values(stdout, VALUES) <= VALUES else None
    except Unparsable:
        payload = None
    if code == 0:
        return Reply(payload, text, seconds=seconds)
    message = error_line(stderr) or last_line(stderr) or f"exit code {code}"
    return Reply(payload, message, is_error=True, seconds=seconds)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


async def _lane(
    lane: tuple[Step, ...], start: Callable[[], Awaitable[Session]], gate: asyncio.Barrier, book: Book
) -> list[Answer]:
    session = await start()
    answers = []
    try:
        await gate.wait()
        for step in lane:
            assert isinstance(step.do, Action)
            for _ in range(step.times):
                answers.append(await call(session, step.do, step.asserts, book))
        if complaint := await session.end():
            raise TargetFailure(complaint)
    finally:
        session.kill()
    return answers
