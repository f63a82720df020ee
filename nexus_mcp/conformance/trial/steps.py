"""What each kind of step does to a target. How it was meant to come out is judged elsewhere."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.evidence import exchange
from nexus_mcp.conformance.fixture import Action, Event, Kill, Parallel, Restart, Step, WriteFile
from nexus_mcp.conformance.processes.starting import NAME_IT
from nexus_mcp.conformance.result import Exchange
from nexus_mcp.conformance.tokens import expand_path, fill
from nexus_mcp.conformance.trial.asking import Answer, Book, call
from nexus_mcp.conformance.trial.events import send_event
from nexus_mcp.conformance.trial.killed import killed
from nexus_mcp.conformance.trial.lanes import run_lanes
from nexus_mcp.conformance.trouble import TargetTrouble
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nexus_mcp.conformance.session import Session
    from nexus_mcp.conformance.target import Place, Target
    from nexus_mcp.conformance.trial.sandbox import Sandbox


class Steps:
    """Does the steps of one fixture, one after the other. `exchanges` grows with each call.

    The server is started when it is first asked something, and has to be ended with `end` or `kill`. `attempt` counts
    the runs of the fixture from 0.
    """

    def __init__(self, target: Target, sandbox: Sandbox, place: Place, harness_id: str, attempt: int = 0) -> None:
        self.exchanges: list[Exchange] = []
        self.stderr = ""
        self._target = target
        self._sandbox = sandbox
        self._place = place
        self._harness_id = harness_id
        self._attempt = attempt
        self._session: Session | None = None

    async def do(self, step: Step, label: str) -> list[Answer]:
        """Does one, and returns its answers: none of a step that has none, or of a call that was killed before.

        Raises TargetTrouble when the target does what it may not, HarnessFault when an event cannot be sent at all.
        """
        doers: dict[type, Callable[[Any, Step, str], Awaitable[list[Answer]]]] = {
            Action: self._action,
            Event: self._event,
            WriteFile: self._write_file,
            Restart: self._restart,
            Kill: self._kill,
            Parallel: self._parallel,
        }
        return await doers[type(step.do)](step.do, step, label)

    async def end(self) -> None:
        """Ends the server as a client does. Raises TargetTrouble when that, or what it did before, was not right."""
        session, self._session = self._session, None
        if session is not None:
            try:
                complaint = await session.end()
            finally:
                session.kill()
                self.stderr = session.stderr or self.stderr
            if complaint:
                raise TargetTrouble(complaint)

    def kill(self) -> None:
        """Ends the server at once, if there is one."""
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
            raise TargetTrouble(f"could not be started: {error.strerror}") from None

    def _book(self, label: str) -> Book:
        return Book(label, self.exchanges, self._place.project)

    async def _call(self, action: Action, step: Step, label: str) -> Answer:
        session = await self._running()
        return await call(session, action, step.asserts, self._book(label))

    async def _action(self, action: Action, step: Step, label: str) -> list[Answer]:
        return [await self._call(action, step, label) for _ in range(step.times)]

    async def _event(self, event: Event, step: Step, label: str) -> list[Answer]:
        event = replace(event, params=fill(event.params, self._place.project))
        asked = f"event {event.type}"
        try:
            reply = await send_event(event, self._target.options, self._place)
        except TargetTrouble as trouble:
            said = exchange(label, asked, event.params, trouble=trouble.sentence, earlier=len(self.exchanges))
            self.exchanges.append(replace(said, description=event.description))
            raise
        except OSError as error:
            command = (self._target.options.event_command or ("",))[0]
            problem = f"The event command {command} could not be started: {error.strerror}."
            raise HarnessFault([problem], next_step=NAME_IT) from error
        said = exchange(label, asked, event.params, reply, earlier=len(self.exchanges))
        self.exchanges.append(replace(said, description=event.description))
        return [Answer(label, reply, step.asserts)]

    async def _write_file(self, change: WriteFile, _step: Step, _label: str) -> list[Answer]:
        path = expand_path(change.path, self._harness_id)
        try:
            self._sandbox.write(path, change.content, change.symlink)
        except OSError as error:
            raise TargetTrouble(f"left the project so that {path} cannot be written: {error.strerror}") from None
        return []

    async def _restart(self, _restart: Restart, _step: Step, label: str) -> list[Answer]:
        await self.end()
        await self._running()
        self.exchanges.append(Exchange(label, "restart"))
        return []

    async def _kill(self, kill: Kill, step: Step, label: str) -> list[Answer]:
        session = await self._running()
        chance = random.Random(kill.seed + self._attempt)  # noqa: S311 - to be repeated, not to be secret
        delay = chance.uniform(0, kill.within_ms / 1000)
        first = len(self.exchanges)
        try:
            answer = await killed(
                session, lambda: self._call(kill.action, step, label), delay, self._target.options.timeout
            )
        finally:
            self.exchanges[first:] = [replace(one, asked=f"kill {one.asked}") for one in self.exchanges[first:]]
        if answer is None:
            self.exchanges[-1] = replace(self.exchanges[-1], error="killed before it answered")
        self.kill()
        await self._running()
        if answer is None and kill.retry:
            answer = await self._call(kill.action, step, label)
        return [] if answer is None else [answer]

    async def _parallel(self, parallel: Parallel, _step: Step, label: str) -> list[Answer]:
        return await run_lanes(parallel, self._start, self._book(label))
