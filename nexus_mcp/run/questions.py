"""Ask a person: write a file for each question, and wait for an answer or the timeout."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from nexus_mcp.run import events as ev
from nexus_mcp.run import triggers
from nexus_mcp.run.decide import Ask
from nexus_mcp.run.run_folder import read_json, write_json
from nexus_mcp.run.setup import Run
from nexus_mcp.state import times


class QuestionUnanswered(Exception):
    """The run paused while a question waited. The question stays open, and is asked again when the run continues."""


class Questions:
    """The questions of a run. A trigger waits for an answer only if it is set to true in the configuration."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._deadlines: dict[str, str] = {}

    def restore(self) -> None:
        """Write the files of the answered questions: an executor may have died between the log entry and the file.
        Raise StorageError.
        """
        for id_ in self._run.state.answers:
            self._write(id_)

    async def ask(self, ask: Ask, task: int | None, attempt: int | None) -> str | None:
        """Log a question, and return its answer. If no answer comes in time, log and return the fallback.

        Return None without waiting if the trigger is off. An open question of an earlier executor keeps its id. Raise
        QuestionUnanswered if the run pauses, StorageError.
        """
        run = self._run
        known = [
            one
            for one in run.state.open_questions()
            if (one.task, one.trigger) == (task, ask.trigger) and one.id not in run.state.answers
        ]
        id_ = known[0].id if known else f"q{len(run.state.questions) + 1}"
        if not known:
            question = ev.Question(id=id_, trigger=ask.trigger, summary=ask.question, task=task, attempt=attempt)
            run.emit(question)
        asks = run.config.questions.asks(ask.trigger)
        timeout = run.config.questions.timeout_s if asks else 0
        if asks:
            self._deadlines[id_] = times.stamp(time.time() + timeout)
        self._write(id_)
        if not asks:
            return None
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = waiting
        try:
            await asyncio.wait({waiting}, timeout=timeout)
            if waiting.cancelled():
                raise QuestionUnanswered
            if waiting.done():  # also if the answer and the timeout came together
                return waiting.result()
            fallback = triggers.fallback(ask.trigger, run.config.questions)
            run.emit(ev.Answered(id=id_, answer=fallback, by="timeout", task=task, attempt=attempt))
            self._write(id_)
            return fallback
        finally:
            self._waiting.pop(id_, None)

    def leave_open(self) -> None:
        """End all waits without a fallback, because the run pauses: the person may not have seen the question."""
        for waiting in self._waiting.values():
            waiting.cancel()

    def record_answer(self, id_: str, text: str, by: str) -> None:
        """Record the answer to a question; if its task is paused, the task continues. Ignore an answer to a question
        that is unknown or not open. If the question concerns the whole run, the answer counts for all waiting questions
        of the same trigger. Raise StorageError.
        """
        question = next((one for one in self._run.state.open_questions() if one.id == id_), None)
        if question is None:
            return
        same = [id_]
        if triggers.ROWS[question.trigger].is_of_run:
            questions = self._run.state.questions
            same += [one for one in self._waiting if one != id_ and questions[one].trigger == question.trigger]
        for one in same:
            self._log_answer(self._run.state.questions[one], text, by)

    def _log_answer(self, question: ev.Question, text: str, by: str) -> None:
        self._run.emit(ev.Answered(id=question.id, answer=text, by=by, task=question.task, attempt=question.attempt))
        self._write(question.id)
        waiting = self._waiting.get(question.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(text)
        elif question.task is not None and self._run.state.task(question.task).state == "paused":
            self._run.emit(ev.TaskReady(task=question.task))

    def _write(self, id_: str) -> None:
        """Write the file of a question from the log. If an earlier executor asked, its deadline stays in the file."""
        question, answer = self._run.state.questions.get(id_), self._run.state.answers.get(id_)
        if question is None:
            return
        row = triggers.ROWS[question.trigger]
        value: dict[str, Any] = {
            "id": id_,
            "type": "input" if row.takes_text else "choose",
            "taskId": question.task,
            "stage": question.trigger,
            "summary": question.summary,
            "options": list(row.answers),
            "fallback": triggers.fallback(question.trigger, self._run.config.questions),
            "createdAt": question.at,
            "deadline": self._deadlines.get(id_),
        }
        name = f"{id_}.json"
        if answer is not None:
            value |= {"answer": answer.answer, "answeredBy": answer.by, "answeredAt": answer.at}
        with self._run.folder.make("questions")[0] as folder:
            if id_ not in self._deadlines and isinstance(before := read_json(folder, name), dict):
                value["deadline"] = before.get("deadline")
            write_json(folder, name, self._run.redactor.value(value))
