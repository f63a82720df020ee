"""Run one session of a harness: start it, follow its output, apply its guards, and record what it did.

The raw output, a neutral transcript and the last message go into the folder of the attempt.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from nexus_mcp.errors import StorageError
from nexus_mcp.run import events as ev
from nexus_mcp.run.config import Guards
from nexus_mcp.run.drivers.definition import Driver, Output, SessionRequest, check_types
from nexus_mcp.run.environment_faults import NOT_FOUND
from nexus_mcp.run.processes import StartedProcess
from nexus_mcp.run.redaction import Redactor
from nexus_mcp.run.run_folder import open_to_append, put_line, write_file, write_json
from nexus_mcp.run.transcript import Transcript
from nexus_mcp.store.folder import Folder, close_fd, reason

RAW_LIMIT = 64 << 20
"""Maximum bytes of stdout and stderr together that are stored for a session; the rest of stdout is only counted."""
_MESSAGE_LIMIT = 200_000
_STDERR_SHOWN = 4000
_SHOWN = 1000
_TICK_S = 0.25
_LEFT_S = 1.0
"""Seconds for which the output is still read after the process ended, and again after its group was ended."""


@dataclass(slots=True)
class Result:
    """The result of a session. `guard` names the guard that ended it, "" for none; `error` is the harness's own
    message. `forbidden` are the forbidden tools that the agent used.
    """

    code: int | None = None
    signal: int | None = None
    session: str = ""
    is_done: bool = False
    last_message: str = ""
    error: str = ""
    stderr: str = ""
    guard: str = ""
    edits: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    unread_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """The surroundings of a session: driver, request, folder of the attempt, and the task and attempt of its events.

    `flush` returns when the events are on disk. `wrap` turns a command into one that runs it in a sandbox; `redactor`
    keeps secrets out of what is written. `is_forbidden` returns whether the agent may not use a tool. `checks` are the
    command lines of the project's checks, `nudged` the guards on tools that have ended a session of the attempt. `used`
    maps the ids of the attempt's earlier sessions to their usage.
    """

    driver: Driver
    request: SessionRequest
    folder: Folder
    task: int
    attempt: int
    guards: Guards
    timeout_s: float
    environ: dict[str, str]
    flush: Callable[[], Awaitable[None]]
    wrap: Callable[[Sequence[str]], tuple[str, ...]] = tuple
    redactor: Redactor = field(default_factory=Redactor)
    is_forbidden: Callable[[str], bool] = lambda _: False
    project: str = ""
    checks: tuple[str, ...] = ()
    nudged: frozenset[str] = frozenset()
    used: Mapping[str, ev.Usage] = field(default_factory=dict)


async def run_session(place: Place, emit: Callable[[ev.Event], object], stop: asyncio.Event) -> Result:
    """Run the session to its end, and return the result. Events go to `emit`; `stop` ends the session at once.

    The process begins only after its start is in the log. A process that cannot start counts as ended with exit code
    127. Raise StorageError, and CancelledError if `stop` is set.
    """
    command = place.driver.command(place.request)
    try:
        os.makedirs(place.request.scratch, mode=0o700, exist_ok=True)
        for path, text in command.files.items():
            _write_private(path, text)
    except OSError as error:
        raise StorageError(place.request.scratch, "write", reason(error)) from error
    words = place.redactor.value(list(command.words))
    shown = {"words": words, "files": sorted(command.files)}
    write_json(place.folder, "command.json", shown, is_kept=False)

    def tell(event: ev.Event) -> None:
        emit(event.model_copy(update={"task": place.task, "attempt": place.attempt}))

    brief = place.redactor.data(place.request.prompt.encode("utf-8", "backslashreplace"))
    write_file(place.folder, "brief.md", brief, is_kept=False)
    environ = {**place.environ, **command.environ}
    role, agent = place.request.role, place.request.agent
    try:
        process = await StartedProcess.start(place.wrap(command.words), place.request.folder, environ)
    except OSError as error:
        tell(ev.ProcessStarted(role=role, agent=agent, pid=0, create_time=0.0))
        tell(
            ev.ProcessEnded(
                code=NOT_FOUND, failure="environment", error=f"{place.driver.id} could not be started: {reason(error)}"
            )
        )
        return Result(code=NOT_FOUND)
    following: _Following | None = None
    try:
        tell(ev.ProcessStarted(role=role, agent=agent, pid=process.pid, create_time=process.create_time))
        following = _Following(place, tell, process)
        await place.flush()
        process.release()
        feeding = asyncio.create_task(process.feed(command.stdin))
        await _follow(process, following, stop)
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    except BaseException:
        # After any failure, such as a full disk or a cancellation, the process must not run on. The engine may cancel a
        # second time while the process is being ended: that must not interrupt the ending.
        ending = asyncio.ensure_future(process.end())
        while not ending.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(ending)
        raise
    finally:
        if following is not None:
            following.close()
    result = following.result
    result.forbidden = following.forbidden_tools()
    result.code, result.signal = await process.wait()
    message = place.redactor.text(result.last_message)
    write_file(place.folder, "last_message.md", message.encode("utf-8", "backslashreplace"), is_kept=bool(message))
    failure = _failure(place.driver, result)
    tell(
        ev.ProcessEnded(
            code=result.code,
            signal=result.signal,
            done=result.is_done,
            guard=result.guard,
            failure="environment" if failure == "login" else failure,
            error=_error(place.driver, result, failure),
            forbidden=result.forbidden,
        )
    )
    return result


def _failure(driver: Driver, result: Result) -> Literal["", "environment", "limit", "login"]:
    """Return why the session failed; "" for exit code 0, if a guard ended it, or if the reason is unknown."""
    if result.code == 0 or result.guard:
        return ""
    return driver.failure(result.code, f"{result.error}\n{result.stderr}") or ""


def _error(driver: Driver, result: Result, failure: str) -> str:
    """Return the error that the harness reported, with the next step if it is not logged in."""
    reported = (result.error or result.stderr).strip()[-_SHOWN:]
    if failure != "login":
        return reported
    step = f": type {driver.login_command}" if driver.login_command else ""
    return f"{driver.id} is not logged in{step}. It reported: {reported}"


async def _follow(process: StartedProcess, following: _Following, stop: asyncio.Event) -> None:
    """Read both outputs until the process ends, then end its group. End the process when a guard has to end it.

    Raise CancelledError when `stop` is set, StorageError if the output cannot be stored.
    """
    reading = asyncio.create_task(_read(process, following))
    errors = asyncio.create_task(_read_errors(process, following))
    started = time.monotonic()
    try:
        while not process.has_ended:
            if reading.done():
                # The process closed its output: nearly always it ends soon after.
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), _TICK_S)
            else:
                await asyncio.wait({reading}, timeout=_TICK_S)
            if stop.is_set():
                # The log gets no end of this session: the next executor resumes it, and no attempt is used up.
                raise asyncio.CancelledError
            _raise_fault(reading, errors)
            guard = following.guard(time.monotonic() - started)
            if guard and not process.has_ended:
                following.result.guard = guard
                await process.end()
        await asyncio.wait({reading, errors}, timeout=_LEFT_S)
        await process.end()  # ends servers and other processes in its group, which may hold its output open
        await asyncio.wait({reading, errors}, timeout=_LEFT_S)
        _raise_fault(reading, errors)
    finally:
        for task in (reading, errors):
            task.cancel()
        await asyncio.gather(reading, errors, return_exceptions=True)


def _raise_fault(*tasks: asyncio.Task[None]) -> None:
    """Raise the error that ended one of the tasks: otherwise output would be lost without a message."""
    for task in tasks:
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _read_errors(process: StartedProcess, following: _Following) -> None:
    async for line in process.errors():
        following.take_error(line)


async def _read(process: StartedProcess, following: _Following) -> None:
    async for line in process.lines():
        following.take(line)


class _Following:
    """The state of a running session: its files, the time of its last output, and the tools that it used."""

    def __init__(self, place: Place, emit: Callable[[ev.Event], object], process: StartedProcess) -> None:
        self._place = place
        self._process = process
        self._emit = emit
        self._raw = open_to_append(place.folder, "stdout.raw")
        self._stderr = open_to_append(place.folder, "stderr.txt")
        self._transcript = Transcript(
            *(place.folder, place.request, place.driver.id, place.task, place.project, place.redactor)
        )
        self._is_text = place.driver.format == "text"
        self._written = 0
        self._last_event = self._last_line = time.monotonic()
        self._tools_open = 0
        self._is_warned = False
        self._nudge = ""
        self._before_edit = 0
        self._after_edit = -1
        self._capped: set[str] = set()
        self._calls: dict[str, str] = {}
        self._used: dict[str, None] = {}
        self.result = Result()

    def close(self) -> None:
        """Close the files."""
        close_fd(self._raw)
        close_fd(self._stderr)
        self._transcript.close()

    def take(self, line: bytes) -> None:
        """Take one line of stdout."""
        self._last_event = self._last_line = time.monotonic()
        self._is_warned = False
        if self._written + len(line) < RAW_LIMIT:
            put_line(self._raw, self._place.folder, self._place.redactor.data(line))
            self._written += len(line) + 1
        else:
            self.result.unread_bytes += len(line)
        for output in filter(None, map(check_types, self._place.driver.outputs(line))):
            self._output(output)

    def take_error(self, line: bytes) -> None:
        """Take one line of stderr. Both files together keep at most RAW_LIMIT bytes; messages get the end of stderr."""
        data = self._place.redactor.data(line)
        if self._written + len(data) < RAW_LIMIT:
            put_line(self._stderr, self._place.folder, data)
            self._written += len(data) + 1
        self.result.stderr = f"{self.result.stderr}{data.decode(errors='replace')}\n"[-_STDERR_SHOWN:]

    def guard(self, seconds: float) -> str:
        """Return the name of the guard that ends the session now, "" for none. Warn once in each long silence."""
        if seconds > self._place.timeout_s:
            self._emit(ev.Guard(name="timeout", value=round(seconds)))
            return "timeout"
        if self._tools_open:
            return ""
        if self._nudge and self.result.session and not self.result.is_done:
            return self._nudge
        guards, silent = self._place.guards, time.monotonic() - self._last_event
        if self._place.driver.format == "text" or silent <= guards.stale_warn_s:
            return ""
        since_line = time.monotonic() - self._last_line
        if not self._place.driver.tells_tools and self._process.began_within(since_line):
            self._last_event = time.monotonic()  # a tool is at work; this harness reports it only at its end
            return ""
        if silent > guards.stale_abort_s:
            self._emit(ev.Guard(name="stale_abort", value=round(silent)))
            return "stale_abort"
        if not self._is_warned:
            self._is_warned = True
            self._emit(ev.Guard(name="stale_warn", value=round(silent)))
        return ""

    def _output(self, output: Output) -> None:
        result = self.result
        self._transcript.add(output)
        match output.kind:
            case "session":
                if output.text and output.text != result.session:
                    result.session = output.text
                    self._emit(ev.Session(id=output.text))
            case "text" | "result":
                # In the format `text` each line is an output of its own, and all of them are the message.
                text = f"{result.last_message}\n{output.text}" if self._is_text and result.last_message else output.text
                result.last_message = text[-_MESSAGE_LIMIT:] or result.last_message
            case "tool_start":
                self._tools_open += 1
                self._tool(output)
            case "tool_end":
                self._tools_open = max(0, self._tools_open - 1)
                self._end_call(output)
            case "usage":
                self._emit(self._usage(output))
            case "error":
                result.error = output.text
            case "done":
                result.is_done = True

    def forbidden_tools(self) -> list[str]:
        """Return the forbidden tools that the agent used; a call without an end counts, too."""
        return [tool for tool in dict.fromkeys((*self._used, *self._calls.values())) if self._place.is_forbidden(tool)]

    def _end_call(self, output: Output) -> None:
        """Count the tool of a call that ended without failure; an event without a known id ends the last call."""
        call = output.call if output.call in self._calls else next(reversed(self._calls), "")
        tool = self._calls.pop(call, "")
        if tool and not output.failed:
            self._used[tool] = None

    def _usage(self, output: Output) -> ev.Usage:
        """Return the usage of this session. Some harnesses also count the usage before the resume: subtract that."""
        totals, before = self._place.driver.totals, self._place.used.get(self._place.request.resume)
        input_, out, cost = output.input, output.output, output.cost_usd
        if before is not None and "tokens" in totals and input_ >= before.input and out >= before.output:
            input_, out = input_ - before.input, out - before.output
        if before is not None and "cost" in totals and cost is not None and cost >= (before.cost_usd or 0.0):
            cost -= before.cost_usd or 0.0
        return ev.Usage(input=input_, output=out, cost_usd=cost)

    def _tool(self, output: Output) -> None:
        self.result.tools.append(output.text)
        self._calls[output.call or f"#{len(self.result.tools)}"] = output.tool or output.text
        guards = self._place.guards
        if output.is_edit:
            self._after_edit = 0
            if output.file:
                self.result.edits.append(output.file)
            return
        if self._after_edit < 0:
            self._before_edit += 1
            self._cap("investigation_cap", self._before_edit, guards.investigation_cap)
        elif any(check in output.command for check in self._place.checks):
            self._after_edit = 0
        else:
            self._after_edit += 1
            self._cap("post_edit_cap", self._after_edit, guards.post_edit_cap)

    def _cap(self, name: str, value: int, most: int) -> None:
        if value > most and name not in self._capped and self._place.request.role in ("owner", "implementer"):
            self._capped.add(name)
            self._emit(ev.Guard(name=name, value=value))  # type: ignore[arg-type]
            if self._place.driver.can_resume and name not in self._place.nudged:
                self._nudge = name


def _write_private(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
