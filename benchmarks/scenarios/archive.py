"""The project of one server with a long history: the calls on it, each with its expected answer.

The expected answers follow from the generator and from the archived values, never from another server. The timestamps
of new cycles are read from the file. At the end the file is checked for each cycle with its archived values.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable

from benchmarks.client import NotMeasurable
from benchmarks.data.history import TAIL, cycles, history, rare_places
from benchmarks.data.project import Project
from benchmarks.data.words import RARE
from benchmarks.figures import Figures
from benchmarks.memory import peak
from benchmarks.peers.answers import Json, answers, new_plan
from benchmarks.peers.servers import Server, Session
from benchmarks.reader import watching
from benchmarks.scenarios.start import TASK

PLAN: Json = {"topic": "Storage", "issues": ["Where?", "How?"], "research_summary": "Files suffice."}
_SHOWN = 10
_NEWEST = re.compile(rb'^      "completed_at": "([^"]*)"', re.MULTILINE)
_TAIL = 200_000  # bytes at the end that contain the newest ten cycles


class Archive:
    """A project with `size` generated cycles. `total` and `plan_id` are the present numbers, `put` the new cycles."""

    def __init__(self, server: Server, size: int, project: Project, figures: Figures) -> None:
        self.server, self.size, self.project, self.figures = server, size, project, figures
        self.total = self.plan_id = size
        self.peak = 0.0
        self.looks = self.half = 0
        project.give_history(size)
        self.answers = answers(server)
        self.put: list[tuple[Json, list[Json]]] = []
        self.plan: Json = {}
        self.tasks: list[Json] = []

    def fresh(self, work: Callable[[Session], None]) -> None:
        """Do `work` with a new server, and record its peak memory."""
        with self.server.start(self.project.root) as session:
            session.ready()
            work(session)
            self.peak = max(self.peak, peak(session.pid))

    def search(self, session: Session) -> float:
        taken, answer = session.call("history_search", query=RARE.lower())
        self._expect("history_search", answer, self.answers.found(_known(self.size)[0], answer))
        return taken

    def recent(self, session: Session) -> float:
        taken, answer = session.call("history_search")
        self._expect("history_search without query", answer, self.answers.recent(self.total, self._newest()))
        return taken

    def plan_start(self, session: Session, *, archives: bool) -> float:
        """Start a plan; an open plan becomes a cycle. Return the milliseconds."""
        taken, answer = session.call("plan_start", **PLAN)
        self.plan_id += 1
        if archives:
            self._archived([])
        self.plan = new_plan(self.plan_id, **PLAN)
        expected = {"created": True, "plan_id": self.plan_id, "topic": PLAN["topic"], "issueCount": len(PLAN["issues"])}
        self._expect("plan_start", answer, {**expected, "previousArchived": archives})
        return taken

    def close(self, session: Session) -> float:
        taken, answer = session.call("task_close")
        plan, tasks = self.plan, self.tasks
        self._archived(tasks)
        self.tasks = []
        self._expect("task_close", answer, self.answers.closed(plan, tasks, self.total, answer))
        return taken

    def add_task(self, session: Session) -> None:
        _, answer = session.call("task_add", **TASK)
        self.tasks.append(self.answers.task(len(self.tasks) + 1, TASK, answer))
        self._expect("task_add", answer, {"task": self.tasks[-1]})

    def decided(self, session: Session) -> None:
        """Archive a cycle with a decision, for later answers. Nothing is timed."""
        self.plan_start(session, archives=False)
        issue = self.plan["issues"][0]
        issue |= {"status": "decided", "decision": "In files, größer als vorher."}
        _, answer = session.call("plan_decide", issue_id=issue["id"], decision=issue["decision"])
        self._expect("plan_decide", answer, self.answers.decided(self.plan, issue))
        self.add_task(session)
        self.close(session)
        self.recent(session)

    def drop_plan(self) -> None:
        """Remove a plan that was only started for a measurement, while no server runs."""
        self.project.plan.unlink(missing_ok=True)  # absent after a wrong answer of plan_start
        self.plan_id -= 1
        self.plan = {}

    def turns(self, session: Session, count: int, *, parse: bool = False) -> list[tuple[float, float, float]]:
        """Repeat a plan_start, one that archives it, and a close, beside a reader. Return the milliseconds of each."""
        times = []
        known = {self._length()}
        with watching(self.project.history, parse=parse) as seen:
            for _ in range(count):
                started = self.plan_start(session, archives=False)
                self.add_task(session)
                archived = self.plan_start(session, archives=True)
                known.add(self._length())
                self.add_task(session)
                times.append((started, archived, self.close(session)))
                known.add(self._length())
        unknown = seen.sizes - known
        self.looks += seen.looks
        self.half += seen.half + len(unknown)
        self._expect("a reader's looks at half a history", seen.half, 0)
        self._expect("sizes of history that nobody wrote", sorted(unknown), [])
        return times

    def check_whole(self) -> None:
        """Check that the file has the old cycles byte for byte, then the new ones with their archived values."""
        data = self.project.history.read_bytes()
        old = history(self.size).read_bytes()[: -len(TAIL)]
        self._expect("bytes of old cycles kept", data.startswith(old), True)
        del old
        kept: list[Json] = json.loads(data)["cycles"]
        self._expect("cycles in the file", len(kept), self.total)
        for cycle, (plan, tasks) in zip(kept[self.size :], self.put, strict=False):
            self._expect("a new cycle in the file", cycle, self.answers.cycle(plan, tasks, cycle))
        moments = [str(cycle.get("completed_at")) for cycle in kept[self.size - 1 :]]
        self._expect("moments of new cycles", moments, sorted(set(moments)))

    def _archived(self, tasks: list[Json]) -> None:
        self.total += 1
        self.put.append((self.plan, tasks))
        self.plan = {}

    def _length(self) -> int:
        return os.stat(self.project.history).st_size

    def _newest(self) -> list[Json]:
        """Return the cycles that a search without a query shows, with the timestamps in the file."""
        with self.project.history.open("rb") as file:
            file.seek(max(0, self._length() - _TAIL))
            moments = [stamp.decode() for stamp in _NEWEST.findall(file.read())][-_SHOWN:]
        if len(moments) < _SHOWN:
            raise NotMeasurable(f"{self.server.name} wrote a history of another layout")
        put = [self.answers.cycle(plan, tasks, {}) for plan, tasks in self.put]
        newest = [*_known(self.size)[1], *put][-_SHOWN:]
        return [{**cycle, "completed_at": moment} for cycle, moment in zip(newest, moments, strict=True)]

    def _expect(self, what: str, seen: object, expected: object) -> None:
        self.figures.expect(self.server.name, f"{what}, {self.size} cycles", seen, expected)


@functools.cache
def _known(size: int) -> tuple[list[Json], list[Json]]:
    """Return (the generated cycles with the rare word, the newest generated ones)."""
    rare = set(rare_places(size))
    chosen = {place: one for place, one in enumerate(cycles(size)) if place in rare or place >= size - _SHOWN}
    return [chosen[place] for place in sorted(rare)], list(chosen.values())[-_SHOWN:]
