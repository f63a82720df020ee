"""A project on disk with all its possible states; each answer excludes the states that do not agree with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from nexus_mcp.errors import UNCHANGED
from nexus_mcp.server.app import Answer
from nexus_mcp.store.history import cache
from tests.model.model import Outcome
from tests.reliability.suites.caller import Caller
from tests.reliability.suites.model.observed_files import leftovers, look, names
from tests.reliability.suites.model.outcomes import died, failed
from tests.reliability.suites.model.possible_state import Possible
from tests.store.crash_points import failing_at, killed, meddling_at
from tests.support import READ_ONLY, Clock, Project, changed, unpack, without_lock

_JOURNAL = "state/txn.json"
_CACHE = f".nexus/state/{cache.FOLDER}"
_MOST = 64  # possible states; with more, a read excludes some first


class World:
    """A project with two processes that work in it. `figures` counts their actions."""

    def __init__(self, root: Path, figures: Counter[str]) -> None:
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.project = Project(root.resolve())
        self.clock = Clock()
        self.figures = figures
        self.possible = [Possible(str(self.project.root), self.clock)]
        self._callers = [Caller(self.project.root, self.clock) for _ in range(2)]
        self._edited: set[str] = set()  # while a journal waits
        self._logs_aside = 0
        self._is_unswept = False  # a system call has failed since the last change
        self._on_its_way: dict[int, tuple[Answer, Any]] = {}

    def call(self, at: int, tool: str, given: dict[str, Any], arrives: bool | None = True) -> None:
        """Make a call in process number `at`. `arrives`: whether the answer arrives; None: not known yet."""
        self._know_the_journal()
        before = None if self._is_interrupted() else self.project.snapshot()
        answer = self._callers[at].call(tool, given)
        content, is_error = unpack(answer), answer.result["isError"]
        self._leave_those_that_answer(tool, given, content, is_error)
        closed = content if tool == "task_close" and not is_error else None
        if closed and arrives is None:
            self.settle(at, arrived=True)
            self._on_its_way[at] = answer, closed
        elif arrives:
            answer.confirm_delivery()
        else:
            self._lose(answer, closed)
        if before is not None and (is_error or tool in READ_ONLY):
            after = self.project.snapshot()
            same = _without_cache(after) == _without_cache(before)
            assert same, f"a {tool} that changes nothing changed {changed(before, after)}"
        if not (is_error and self._is_interrupted()):
            self._look()

    def crash(self, at: int, tool: str, given: dict[str, Any], number: int) -> None:
        """Kill process number `at` before the `number`-th system call of a call, or before it writes the answer."""
        self._bound()
        self._know_the_journal()
        answer = killed(number, lambda: self._callers[at].call(tool, given))
        if answer is None:
            self.figures["crashes"] += 1
            self.possible = _distinct(then for state in self.possible for then in died(state, tool, given))
        else:
            content, is_error = unpack(answer), answer.result["isError"]
            self._leave_those_that_answer(tool, given, content, is_error)
            self._lose(answer, content if tool == "task_close" and not is_error else None)
        del answer
        self.restart(at)

    def fail(self, at: int, tool: str, given: dict[str, Any], number: int, code: int) -> None:
        """Make a call whose `number`-th system call fails with the errno `code`."""
        self._bound()
        self._know_the_journal()
        with failing_at(number, code) as seen:
            answer = self._callers[at].call(tool, given)
        self.figures["errors"] += len(seen.names) >= number
        self._is_unswept = True
        content, is_error = unpack(answer), answer.result["isError"]

        def agrees(outcome: Outcome) -> bool:
            return _agrees(outcome, content, is_error)

        following = [then for state in self.possible for then in failed(state, tool, given, content, agrees)]
        assert following, self._differs(tool, given, content)
        self.possible = following
        answer.confirm_delivery()
        if not self._is_interrupted():
            self._look(failed=True)

    def settle(self, at: int, *, arrived: bool) -> None:
        """Deliver the pending answer of process `at`, if there is one, or lose it."""
        answer, content = self._on_its_way.pop(at, (None, None))
        if answer is not None and arrived:
            answer.confirm_delivery()
        elif answer is not None:
            self._lose(answer, content)

    def restart(self, at: int) -> None:
        """End process `at` with its unfinished work, and start another one."""
        self.settle(at, arrived=False)
        self._callers[at] = Caller(self.project.root, self.clock)

    def git_history(self, foreign: dict[str, Any] | None) -> None:
        """Let git add the cycle `foreign` to the history, or remove the last cycle for None."""
        if (self.project.nexus / "history.json").exists():
            self.git(lambda cycles: cycles[:-1] if foreign is None else [*cycles, foreign])

    def git(self, change: Callable[[list[Any]], list[Any]], *, in_place: bool = True) -> None:
        """Let git replace the history by the result of `change`."""
        self._know_the_journal()
        found = self.cycles()
        made = change(found)
        following = []
        for state in self.possible:
            due = [] if state.waiting is None or state.waiting.cycle in (None, *found) else [state.waiting.cycle]
            if [*found, *due] == state.cycles:
                then = state.copy()
                again = [state.waiting.cycle] if state.waiting and state.waiting.cycle not in (None, *made) else []
                then.cycles = [*made, *again]
                following.append(then)
        assert following, "the history is in no possible state"
        self.possible = following
        path = self.project.put("history.json" if in_place else "new.json", {"cycles": made})
        path.rename(self.project.nexus / "history.json")

    def meddle(self, at: int, number: int, change: Callable[[list[Any]], list[Any]]) -> bool:
        """Let git change the history while process number `at` closes, before its system call `number`.

        Return False, without a change, if the new history has all the bytes of the old one by then.
        """
        self._know_the_journal()
        met = []

        def meddle(name: str) -> None:
            if name != "utime":
                met.append(name)
                self.git(change, in_place=bool(number % 2))

        with meddling_at(number, meddle):
            answer = self._callers[at].call("task_close", {})
        content, is_error = unpack(answer), answer.result["isError"]
        answer.confirm_delivery()
        if not (is_error and UNCHANGED in content["error"]):
            self._leave_those_that_answer("task_close", {}, content, is_error)
        self._look()
        return bool(met)

    def cycles(self) -> list[Any]:
        """Return the cycles of the history on the disk."""
        return list(json.loads(self.project.get("history.json"))["cycles"])

    def waiting(self) -> Any:
        """Return the cycle in a pending journal; None without one."""
        self._know_the_journal()
        return next((state.waiting.cycle for state in self.possible if state.waiting is not None), None)

    def edit(self, name: str, data: bytes | None) -> None:
        """Let a program without the lock replace or remove plan.json or tasks.json."""
        self._know_the_journal()
        if name in self._edited:
            return  # the first edit may be set aside by now or not
        self._edited.add(name)
        for state in self.possible:
            if state.waiting is None or name not in state.waiting.files:
                state.put(name, data)
            elif data not in (None, state.bytes_of(name), state.waiting.files[name]):
                state.conflicts.append(data)  # neither the new nor the old content of the change
        path = self.project.state / name
        if data is None:
            path.unlink(missing_ok=True)
        else:
            self.project.put(f"state/{name}", data)

    def _leave_those_that_answer(self, tool: str, given: dict[str, Any], content: Any, is_error: bool) -> None:
        following, sweeps = [], True
        for state in self.possible:
            outcome, then, wrote = state.after(tool, given)
            if _agrees(outcome, content, is_error):
                following.append(then)
                sweeps = sweeps and wrote is not None
        assert following, self._differs(tool, given, content)
        self.possible = following
        if sweeps:
            assert not leftovers(self.project), f"{tool} leaves {leftovers(self.project)}"
            self._is_unswept = False

    def _lose(self, answer: Answer, content: Any) -> None:
        answer.drop_delivery()
        if content is not None:
            for state in self.possible:
                state.receipts.append(content)

    def _is_interrupted(self) -> bool:
        return (self.project.nexus / _JOURNAL).exists()

    def _know_the_journal(self) -> None:
        """Exclude the states that do not agree with the presence or absence of a journal."""
        if self._is_interrupted():
            self.possible = [state for state in self.possible if state.waiting is not None]
            assert self.possible, "there is a journal, but no state allows one"
            return
        self._edited.clear()
        for state in self.possible:
            state.waiting = None

    def _bound(self) -> None:
        if len(self.possible) > _MOST:
            self.call(0, "context", {})

    def _look(self, *, failed: bool = False) -> None:
        """Exclude the states that do not agree with the present files.

        `failed`: a system call has failed since the last read, so the operation log may have been set aside.
        """
        assert not self._is_interrupted(), "a journal is left after a call"
        seen = look(self.project)
        fitting = [state for state in self.possible if seen.agrees(state, is_unswept=self._is_unswept)]
        assert fitting, f"in none of {len(self.possible)} states: {seen.differences(self.possible[0])}"
        if seen.logs_aside > self._logs_aside:
            assert failed, "the operation log was set aside though nothing failed"
            self._logs_aside = seen.logs_aside
            for state in fitting:
                state.log = state.log[len(state.log) - len(seen.log) :] if seen.log else []
        logged = [state for state in fitting if names(state.log) == seen.log]
        assert logged, f"the operation log has {seen.log}, not {names(fitting[0].log)}"
        self.possible = _distinct(logged)

    def _differs(self, tool: str, given: dict[str, Any], content: Any) -> str:
        expected = self.possible[0].after(tool, given)[0]
        return f"{tool} is answered {content!r:.800}, in none of {len(self.possible)} states; {expected!r:.800} in one"


def _without_cache(files: dict[str, Any]) -> dict[str, Any]:
    """Leave out the cached index of a long history, to which any read may add."""
    return {path: content for path, content in without_lock(files).items() if not path.startswith(_CACHE)}


def _distinct(states: Iterable[Possible]) -> list[Possible]:
    return list({state.key(): state for state in states}.values())


def _agrees(expected: Outcome, content: Any, is_error: bool) -> bool:
    if expected.is_error or is_error:
        message = content.get("error", "")
        fits = message == expected.message if expected.message else all(name in message for name in expected.mention)
        return expected.is_error and is_error and fits
    if expected.result.get("message") is ...:
        return {**expected.result, "message": content.get("message")} == content and "task_add" in content["message"]
    return bool(expected.result == content)
