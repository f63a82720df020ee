"""Questions to a person: a file for each, an answer from the terminal or from `nexus-mcp run answer`, or a fallback."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from nexus_mcp.run import events as ev
from nexus_mcp.run.config import TRIGGER_FALLBACKS
from nexus_mcp.run.decide import Ask
from nexus_mcp.run.run_folder import write_json
from nexus_mcp.run.setup import Run
from nexus_mcp.state import times


class Questions:
    """The questions of a run. Only triggers that are set to true in the configuration ask; the others fall back."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: dict[str, asyncio.Future[str]] = {}

    async def ask(self, ask: Ask, task: int, attempt: int | None) -> str | None:
        """Return the answer to a question, None if no answer comes and the task has to pause.

        A question of an earlier executor keeps its id. Raise StorageError.
        """
        run = self._run
        known = [one for one in run.state.open_questions() if (one.task, one.trigger) == (task, ask.trigger)]
        id_ = known[0].id if known else f"q{len(run.state.questions) + 1}"
        if not known:
            question = ev.Question(id=id_, trigger=ask.trigger, summary=ask.question, task=task, attempt=attempt)
            run.emit(question)
        asks = run.config.questions.triggers.get(ask.trigger, False)
        timeout = run.config.questions.timeout_s if asks else 0
        self._write(id_, ask, task, timeout)
        if not asks:
            return None
        waiting = self._waiting[id_] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                answer: str = await waiting
                return answer
        except TimeoutError:
            fallback = TRIGGER_FALLBACKS[ask.trigger]
            run.emit(ev.Answered(id=id_, answer=fallback, by="timeout", task=task, attempt=attempt))
            return fallback if fallback == "continue" else None
        finally:
            self._waiting.pop(id_, None)

    def answered(self, id_: str, text: str, by: str) -> None:
        """Record the answer to a question; an unknown or answered one changes nothing. Raise StorageError."""
        question = self._run.state.questions.get(id_)
        if question is None or id_ in self._run.state.answers:
            return
        self._run.emit(ev.Answered(id=id_, answer=text, by=by, task=question.task, attempt=question.attempt))
        waiting = self._waiting.get(id_)
        if waiting is not None and not waiting.done():
            waiting.set_result(text)
        elif question.task is not None:
            self._run.emit(ev.TaskReady(task=question.task))

    def _write(self, id_: str, ask: Ask, task: int, timeout: float) -> None:
        now = time.time()
        value: dict[str, Any] = {
            "id": id_,
            "type": "input",
            "taskId": task,
            "stage": ask.trigger,
            "summary": ask.question,
            "fallback": TRIGGER_FALLBACKS[ask.trigger],
            "createdAt": times.stamp(now),
            "deadline": times.stamp(now + timeout) if timeout else None,
        }
        with self._run.folder.make("questions")[0] as folder:
            write_json(folder, f"{id_}.json", self._run.redactor.value(value))
