"""The engine of a run: start ready tasks, carry each to its end, and obey control files, until nothing is left."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from nexus_mcp.errors import LockTimeout, NexusError
from nexus_mcp.run import control, limits, routing, triggers
from nexus_mcp.run import events as ev
from nexus_mcp.run.attempts import Attempts
from nexus_mcp.run.checkout_guard import CheckoutChanged
from nexus_mcp.run.child_watcher import watch_children
from nexus_mcp.run.decide import (
    Action,
    Ask,
    Complete,
    Fail,
    Halt,
    Limits,
    Mend,
    Merge,
    Pause,
    Retry,
    Skip,
    Start,
    Task,
    decide,
    decide_unjudged,
)
from nexus_mcp.run.environment_faults import full_disk, is_full
from nexus_mcp.run.merging import merge, take_integration
from nexus_mcp.run.outcome import Outcome
from nexus_mcp.run.planning import plan_attempt
from nexus_mcp.run.projection import TaskRecord
from nexus_mcp.run.questions import Questions, QuestionUnanswered
from nexus_mcp.run.ready import FilesOfTasks, plan
from nexus_mcp.run.run_folder import LogLost
from nexus_mcp.run.setup import CLIENT, Run
from nexus_mcp.run.status import milliseconds
from nexus_mcp.state import times
from nexus_mcp.state.oplog import By
from nexus_mcp.state.tasks import COMPLETED, IN_PROGRESS, PENDING
from nexus_mcp.tools import task_update
from nexus_mcp.tools.definition import ToolContext

POLL_S = 0.2
LIST_CLOSED = "The task list was closed while the run was at work."
LOCK_S = 600.0
"""Seconds after which a task is paused because another process keeps the workspace lock."""
_LOOK_S = 0.25


class Engine(Protocol):
    """The part that carries out a run. A later engine may use several machines; the log and the functions that compute
    from it stay the same.
    """

    async def work(self) -> ev.RunStatus:
        """Work until nothing is left to do, and return the status of the run."""


class LocalEngine:
    """The engine of this machine: sessions are child processes."""

    def __init__(self, run: Run, has_tests: bool) -> None:  # noqa: FBT001
        self.run = run
        self._has_tests = has_tests
        self._working: dict[int, asyncio.Task[None]] = {}
        self._questions = Questions(run)
        self._files = FilesOfTasks()
        self._asking = asyncio.Lock()  # one question about the whole run at a time
        self._is_over = False
        self._fault: BaseException | None = None
        self.more_files: Callable[[], Mapping[int, Sequence[str]]] = dict
        watch_children()

    async def work(self) -> ev.RunStatus:
        """Work until nothing is ready and nothing runs, or until the run is stopped; return the status.

        Raise NexusError as the store, git and the log do, and any exception with which a task ended the run.
        """
        run = self.run
        limits.restore(run, self._usage())
        self._questions.restore()
        try:
            await run.repository.writer.open(run.repository.git)
            run.repository.differ.open()
            while True:
                await self._control()
                self._watch_list()
                if run.state.paused is not None:
                    self._questions.leave_open()
                elif not (self._is_over or run.stop.is_set()):
                    self._start_ready()
                if not self._working or run.stop.is_set():
                    break
                await run.log.flush()
                await asyncio.wait(self._working.values(), timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
                await self._reap()
                await self._see_hand_edits()
                limits.warn(run)
        finally:
            await self._end_all()
            await run.pool.close(is_hurried=run.stop.is_set())
            await run.repository.writer.close()
            await run.repository.differ.close()
        if self._fault is not None:
            raise self._fault
        return self._status()

    def _start_ready(self) -> None:
        run = self.run
        if len(self._working) >= run.config.jobs:
            return
        document = run.tasks()
        found = plan(
            document["tasks"],
            run.state,
            self._files.of(document["tasks"], dict(self.more_files()), run.workspace.root),
            chosen=run.options.tasks,
            is_isolated=True,  # docs/decisions/0112
        )
        for id_, reason in found.blocked.items():
            if run.state.task(id_).state != "blocked":
                run.emit(ev.TaskBlocked(task=id_, reason=reason))
        interrupted = [id_ for id_, task in run.state.tasks.items() if task.state in ("running", "merging")]
        for id_ in (*interrupted, *found.ready):
            if len(self._working) >= run.config.jobs:
                return
            if id_ not in self._working:
                if run.state.task(id_).state not in ("ready", "running", "merging"):
                    run.emit(ev.TaskReady(task=id_))
                self._working[id_] = asyncio.create_task(self._task(id_))

    async def _task(self, id_: int) -> None:
        """Carry one task to its end: completed, failed, paused or skipped. Return earlier if the run is stopped.

        A step that meets a full disk is repeated; if the next step meets it, too, the run pauses. The task keeps its
        state in the log in this case, if the run pauses while a question of the task waits, and if a limit or the
        question about it pauses or ends the run.
        """
        run, was_full = self.run, False
        while not run.stop.is_set():
            task = run.task(id_)
            if task is None:
                run.emit(ev.TaskSkipped(task=id_, reason="the task is gone from tasks.json"))
                return
            attempts = Attempts(run, task)
            record = run.state.task(id_)
            action = self._decide(attempts)
            try:
                if not await self._step(attempts, record, action):
                    return
                was_full = False
            except QuestionUnanswered:
                return
            except (NexusError, OSError) as error:
                if isinstance(error, LogLost) or not is_full(error):
                    raise
                if was_full:
                    run.emit(ev.Paused(reason=full_disk(error)))
                    return
                was_full = True

    def _decide(self, attempts: Attempts) -> Action | None:
        record = self.run.state.task(attempts.id)
        return decide(self._facts(attempts, record), record.facts(), self.run.config, self._usage())

    async def _step(  # noqa: PLR0912 - a case for each action
        self, attempts: Attempts, record: TaskRecord, action: Action | None
    ) -> bool:
        """Carry out one step of a task; return whether there may be another one."""
        id_ = attempts.id
        if record.state == "ready" and isinstance(action, Mend | Merge):  # a person answered a question of the task
            await self._set_status(id_, IN_PROGRESS)
        match action:
            case None:
                outcome = await attempts.carry_out()
                if not isinstance(outcome, Outcome):
                    record = self.run.state.task(id_)
                    facts = self._facts(attempts, record)
                    unjudged = decide_unjudged(facts, record.facts(), self.run.config, outcome)
                    return await self._step(attempts, record, unjudged)
            case Start():
                await self._begin(attempts, record, action)
            case Mend():
                await self._mend(attempts, action)
            case Merge():
                await merge(attempts)
            case Complete():
                await self._complete(id_)
                await self._clean(attempts)
                return False
            case Pause():
                await self._pause(id_, action.reason)
                if action.scope == "run":
                    self.run.emit(ev.Paused(reason=action.reason))
                return False
            case Fail():
                self.run.emit(ev.TaskFailed(task=id_, reason=action.reason))
                await self._set_status(id_, PENDING)
                return False
            case Skip():
                self.run.emit(ev.TaskSkipped(task=id_, reason=action.reason))
                await self._set_status(id_, PENDING)
                return False
            case Retry():
                self.run.emit(ev.TaskRetried(task=id_))
            case Halt():
                self._halt(action)
                return False
            case Ask() if triggers.ROWS[action.trigger].is_of_run:
                return await self._ask_of_run(attempts, action)
            case Ask():
                return await self._ask(attempts, action)
        return True

    def _halt(self, action: Halt) -> None:
        if action.is_limit:
            self.run.emit(ev.LimitReached(name="cost", value=self.run.state.cost_usd))
            self._is_over = True
        if self.run.state.paused is None:
            self.run.emit(ev.Paused(reason=action.reason))

    def _facts(self, attempts: Attempts, record: TaskRecord) -> Task:
        run = self.run
        chosen = routing.strategy(attempts.task, run.config, has_tests=self._has_tests, override=run.options.strategy)
        harness = record.last.harness if record.last is not None else run.config.harness_for("do")
        can_resume = run.driver(harness).can_resume
        return Task(attempts.id, chosen, attempts.category == "do" and chosen != "none", can_resume)

    def _usage(self) -> Limits:
        """Return what the run has used; `minutes` counts from the start of this executor."""
        return self.run.state.usage(milliseconds(self.run.state.executor_since, times.stamp(time.time())) / 60_000)

    async def _begin(self, attempts: Attempts, record: TaskRecord, action: Start) -> None:
        """Set the task in progress, and plan an attempt."""
        await self._set_status(attempts.id, IN_PROGRESS)
        await plan_attempt(self.run, attempts, record, action)

    async def _mend(self, attempts: Attempts, action: Mend) -> None:
        if action.why in ("merge-conflict", "regression"):
            await take_integration(attempts)
        number = attempts.record.attempt.number
        self.run.emit(ev.Mended(findings=action.findings, task=attempts.id, attempt=number))

    async def _complete(self, id_: int) -> None:
        await self.run.log.flush()
        await self._set_status(id_, COMPLETED)
        self.run.emit(ev.TaskDone(task=id_))

    async def _clean(self, attempts: Attempts) -> None:
        """Give the pool the worktrees of the merged attempts of a completed task; their branches stay."""
        for record in self.run.state.task(attempts.id).attempts:
            if record.worktree and (record is attempts.record or record.attempt.is_merged):
                await self.run.pool.give_back(record.worktree)

    async def _pause(self, id_: int, reason: str) -> None:
        self.run.emit(ev.TaskPaused(task=id_, reason=reason or "A person is needed."))
        await self._set_status(id_, PENDING)

    async def _ask(self, attempts: Attempts, action: Ask) -> bool:
        """Ask a person about a task; return whether the task continues. `decide` finds the answer in the log."""
        answer = await self._questions.ask(action, attempts.id, self._number(attempts.id))
        if answer is None:
            await self._pause(attempts.id, action.question)
        return answer is not None

    async def _ask_of_run(self, attempts: Attempts, action: Ask) -> bool:
        """Ask a person about the whole run; return whether the task continues. Tasks share the answer."""
        async with self._asking:
            again = self._decide(attempts)
            if self._is_over or self.run.state.paused is not None:
                return False
            if not isinstance(again, Ask) or again.trigger != action.trigger:
                return True
            if action.trigger == "cost-warning":
                await self._questions.ask(again, None, None)
                return True
            question = replace(again, question=triggers.question_text(again.trigger, again.question))
            answer = await self._questions.ask(question, attempts.id, self._number(attempts.id))
            if answer is not None and triggers.read(again.trigger, answer) == "continue":
                return True  # `_obey` raised the limit
            limits.emit(self.run, self._usage())
            self.run.emit(ev.Paused(reason=again.question))
            self._is_over = True
            return False

    def _number(self, id_: int) -> int | None:
        last = self.run.state.task(id_).last
        return None if last is None else last.attempt.number

    async def _set_status(self, id_: int, status: str) -> None:
        """Change the status of a task by the code of the tool `task_update`, so that the operation log has it.

        Retry after a LockTimeout, because a machine under load is no reason to pause a task. Raise the LockTimeout
        after LOCK_S seconds, or if the run is stopped. Do nothing if tasks.json does not have the task any more.
        """
        workspace, store, began = self.run.workspace, self.run.store, time.monotonic()
        context = ToolContext(workspace, store, By(task_update.TOOL.name, workspace.harness_id, CLIENT))
        while (task := self.run.task(id_)) is not None and task["status"] != status:
            try:
                with store.deadline.at_most(_LOOK_S):
                    task_update.TOOL.run(context, {"id": id_, "status": status})
            except LockTimeout:
                if self.run.stop.is_set() or time.monotonic() - began > LOCK_S:
                    raise
                await asyncio.sleep(_LOOK_S)
            else:
                return

    async def _see_hand_edits(self) -> None:
        """End the attempt of a task that a person completed; work that is not merged yet stays on its branch."""
        tasks = {task["id"]: task for task in self.run.tasks()["tasks"]}
        for id_ in list(self._working):
            task = tasks.get(id_)
            record = self.run.state.task(id_)
            if task is not None and task["status"] == COMPLETED and record.state in ("running", "merging"):
                await self._end(id_)
                last = self.run.state.task(id_).last
                if last is None or not last.attempt.is_merged:
                    await self._keep(id_, "the task was completed by hand")
                    self.run.emit(ev.TaskDone(task=id_, by_hand=True))

    async def _end(self, id_: int) -> None:
        """End the attempt of a task, if one is running."""
        working = self._working.pop(id_, None)
        if working is not None:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def _keep(self, id_: int, why: str) -> None:
        """Commit the work of a task's last attempt to its branch; if that fails, the work stays in the worktree."""
        last = self.run.state.task(id_).last
        if last is not None and last.worktree and os.path.isdir(last.worktree):
            message = f"nexus: task {id_}, attempt {last.attempt.number}: ended, {why}"
            with suppress(NexusError):
                await self.run.repository.collect(last.worktree, message, self.run.config.link, hooks=False)

    def _watch_list(self) -> None:
        """Pause the run and cancel the work on its tasks when the task list is empty or gone: a person closed it."""
        if self.run.state.tasks and not self.run.tasks()["tasks"] and self.run.state.paused is None:
            self.run.emit(ev.Paused(reason=LIST_CLOSED))
            for working in self._working.values():
                working.cancel()

    async def _reap(self) -> None:
        for id_, working in list(self._working.items()):
            if working.done():
                del self._working[id_]
                if not working.cancelled() and working.exception() is not None:
                    await self._pause_for_error(id_, working.exception())

    async def _pause_for_error(self, id_: int, error: BaseException | None) -> None:
        """Pause a task whose attempt failed by a NexusError or OSError, such as a fault of git or of the disk.

        CheckoutChanged pauses the run, too. LogLost and any other exception end the run.
        """
        if isinstance(error, CheckoutChanged):
            await self._pause(id_, str(error))
            self.run.emit(ev.Paused(reason=str(error)))
        elif isinstance(error, NexusError | OSError) and not isinstance(error, LogLost):
            await self._pause(id_, str(error))
        elif error is not None:
            self._fault = error
            self.run.stop.set()

    async def _end_all(self) -> None:
        for working in self._working.values():
            working.cancel()
        await asyncio.gather(*self._working.values(), return_exceptions=True)
        self._working.clear()

    async def _control(self) -> None:
        """Obey the files in control/: pause, resume, stop, skip, retry, answer. Remove each one after that."""
        for value in control.take(self.run.folder):
            await self._obey(value)

    async def _obey(self, value: dict[str, Any]) -> None:
        run, kind, id_ = self.run, value["command"], value.get("task", 0)
        if kind == "pause":
            run.emit(ev.Paused(reason="a person paused the run"))
        elif kind == "resume":
            run.emit(ev.Resumed())
        elif kind == "stop":
            run.stop.set()
        elif kind == "skip":
            await self._end(id_)
            last = run.state.task(id_).last
            if run.state.task(id_).state == "completed" or (last is not None and last.attempt.is_merged):
                return  # the work is merged: there is nothing to skip, and the engine completes the task
            await self._keep(id_, "a person skipped the task")
            run.emit(ev.TaskSkipped(task=id_, reason="a person skipped it"))
            await self._set_status(id_, PENDING)
        elif kind == "retry" and id_ not in self._working:
            task = run.task(id_)
            if task is None or task["status"] == COMPLETED:
                return
            run.emit(ev.TaskRetried(task=id_, tier=value.get("tier"), fresh=bool(value.get("fresh"))))
        elif kind == "answer":
            self._questions.record_answer(value["id"], value["text"], str(value.get("by", "person")))
            limits.raise_answered(run, self._usage())

    def _status(self) -> ev.RunStatus:
        """Return the status of a run that is stopped, or in which nothing runs and nothing is ready."""
        state = self.run.state
        if self.run.stop.is_set():
            return "interrupted"
        if self._is_over:
            return "limit"
        if state.paused is not None:
            return "paused"
        tasks = [task for task in self.run.tasks()["tasks"] if self._is_chosen(task["id"])]
        left = [task["id"] for task in tasks if task["status"] != COMPLETED]
        if not left:
            return "completed"
        states = [state.task(id_).state for id_ in left]
        if "failed" in states:
            return "failed"
        return "paused" if "paused" in states else "stalled"

    def _is_chosen(self, id_: int) -> bool:
        return self.run.options.tasks is None or id_ in self.run.options.tasks
