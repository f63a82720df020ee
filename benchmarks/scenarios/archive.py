"""One server's own project with a long history: the calls on it, each with its expected answer.

What is expected is known from the generator and from what was put in, never from another server; of new cycles the
file says when they were archived, and in the end it is looked at whether each is there as it was put in.
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
_TAIL = 200_000  # bytes, in which the newest ten cycles are


class Archive:
    """`size` is the generated length; `total` and `plan_id` say what the file has by now, `put` what was archived."""

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
        """Does something by a server of its own, and remembers how much memory it took at most."""
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
        """A plan is started; the one that was active, if any, becomes a cycle."""
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
        """A cycle with a decision, which is shown afterwards. Nothing of it is timed."""
        self.plan_start(session, archives=False)
        issue = self.plan["issues"][0]
        issue |= {"status": "decided", "decision": "In files, größer als vorher."}
        _, answer = session.call("plan_decide", issue_id=issue["id"], decision=issue["decision"])
        self._expect("plan_decide", answer, self.answers.decided(self.plan, issue))
        self.add_task(session)
        self.close(session)
        self.recent(session)

    def drop_plan(self) -> None:
        """Takes back a plan that was started for nothing, while no server runs."""
        self.project.plan.unlink(missing_ok=True)  # without one, plan_start was answered wrongly
        self.plan_id -= 1
        self.plan = {}

    def turns(self, session: Session, count: int, *, parse: bool = False) -> list[tuple[float, float, float]]:
        """So often: a plan, one that archives it, a close. Milliseconds of each, while somebody looks at the file."""
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
        """Every cycle is in the file: the old ones to the byte, then the new ones as they were put in."""
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
        """The cycles that are shown without a query, with the moments that the file has."""
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
    """The generated cycles with the rare word, and the newest ones."""
    rare = set(rare_places(size))
    chosen = {place: one for place, one in enumerate(cycles(size)) if place in rare or place >= size - _SHOWN}
    return [chosen[place] for place in sorted(rare)], list(chosen.values())[-_SHOWN:]
