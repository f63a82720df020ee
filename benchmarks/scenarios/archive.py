"""One server's own project with a long history: the calls on it, each with what has to be answered.

What is expected is known from the generator and from the file itself, never from another server.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any

from benchmarks.client import NotMeasurable
from benchmarks.data.history import RARE_CYCLES, TAIL, cycles, history, rare_places
from benchmarks.data.project import Project
from benchmarks.data.words import RARE
from benchmarks.figures import Figures
from benchmarks.memory import peak
from benchmarks.peers.servers import Server, Session
from benchmarks.reader import watching
from benchmarks.scenarios.start import TASK

PLAN = {"topic": "Storage", "issues": ["Where?", "How?"], "research_summary": "Files suffice."}
_NEWEST = re.compile(rb'^      "completed_at": "([^"]*)"', re.MULTILINE)
_TAIL = 200_000  # bytes, in which the newest ten cycles are


class Archive:
    """`size` is the generated length; `total` and `plan_id` say what the file has by now."""

    def __init__(self, server: Server, size: int, project: Project, figures: Figures) -> None:
        self.server, self.size, self.project, self.figures = server, size, project, figures
        self.total = self.plan_id = size
        self.peak = 0.0
        self.looks = self.half = 0
        project.give_history(size)
        places = set(rare_places(size))
        self.rare = [one["completed_at"] for place, one in enumerate(cycles(size)) if place in places]

    def fresh(self, work: Callable[[Session], None]) -> None:
        """Does something by a server of its own, and remembers how much memory it took at most."""
        with self.server.start(self.project.root) as session:
            session.ready()
            work(session)
            self.peak = max(self.peak, peak(session.pid))

    def search(self, session: Session) -> float:
        taken, answer = session.call("history_search", query=RARE.lower())
        if self.server.extra:  # upstream answers with places in the cycles
            seen = (answer.get("total_cycles"), sorted({hit["cycle_id"] for hit in answer.get("hits", ())}))
        else:
            seen = (answer.get("total"), [one["completed_at"] for one in answer.get("cycles", ())])
        self._expect("history_search", seen, (RARE_CYCLES, self.rare))
        return taken

    def recent(self, session: Session) -> float:
        taken, answer = session.call("history_search")
        seen = (answer.get("total"), sorted(one["completed_at"] for one in answer.get("cycles", ())))
        self._expect("history_search without query", seen, (self.total, self._newest()))
        return taken

    def plan_start(self, session: Session, *, archives: bool) -> float:
        """A plan is started; the one that was active, if any, becomes a cycle."""
        taken, answer = session.call("plan_start", **PLAN)
        self.plan_id += 1
        self.total += archives
        seen = (answer.get("plan_id", answer), answer.get("previousArchived"))
        self._expect("plan_start", seen, (self.plan_id, archives))
        return taken

    def close(self, session: Session, tasks: int) -> float:
        taken, answer = session.call("task_close")
        self.total += 1
        if self.server.extra:
            self._expect("task_close", (answer.get("closed", answer), answer.get("task_count")), (True, tasks))
        else:
            seen = (answer.get("total_cycles", answer), answer.get("archived"))
            self._expect("task_close", seen, (self.total, {"plan": True, "decisions": 0, "tasks": tasks}))
        return taken

    def add_task(self, session: Session) -> None:
        _, answer = session.call("task_add", **TASK)
        self._expect("task_add", answer.get("error"), None)

    def drop_plan(self) -> None:
        """Takes back a plan that was started for nothing, while no server runs."""
        self.project.plan.unlink()
        self.plan_id -= 1

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
                times.append((started, archived, self.close(session, 2)))
                known.add(self._length())
        unknown = seen.sizes - known
        self.looks += seen.looks
        self.half += seen.half + len(unknown)
        self._expect("a reader's looks at half a history", seen.half, 0)
        self._expect("sizes of history that nobody wrote", sorted(unknown), [])
        return times

    def check_whole(self) -> None:
        """Every cycle is in the file, and the bytes of the old ones are what they were."""
        data = self.project.history.read_bytes()
        old = history(self.size).read_bytes()[: -len(TAIL)]
        self._expect("bytes of old cycles kept", data.startswith(old), True)
        del old
        kept: list[Any] = json.loads(data)["cycles"]
        self._expect("cycles in the file", len(kept), self.total)

    def _length(self) -> int:
        return os.stat(self.project.history).st_size

    def _newest(self) -> list[str]:
        with self.project.history.open("rb") as file:
            file.seek(max(0, self._length() - _TAIL))
            found = _NEWEST.findall(file.read())
        if len(found) < 10:
            raise NotMeasurable(f"{self.server.name} wrote a history of another layout")
        return sorted(stamp.decode() for stamp in found[-10:])

    def _expect(self, what: str, seen: object, expected: object) -> None:
        self.figures.expect(self.server.name, f"{what}, {self.size} cycles", seen, expected)
