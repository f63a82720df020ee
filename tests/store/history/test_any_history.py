"""After any change of a history and its cache, a search returns the present history."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from nexus_mcp.store.history import identity
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.history.memory import Memory
from tests.store.history.generated import Cycle, Site, folder, ours, ours_of, settled, small, words
from tests.store.history.test_archive import appended


class Histories(RuleBasedStateMachine):
    """Two processes, a person with an editor, git and a spoiler of caches: no answer is ever of another history.

    What identity says of a file is played: it tells any two writes apart, so that nothing has to wait for a tick.
    """

    @initialize(cycles=st.lists(ours, max_size=5))
    def begin(self, cycles: list[Cycle]) -> None:
        self.folder = folder()
        self.cycles = cycles
        self.site = Site(Path(self.folder.name), ours_of(cycles))
        self.memories = [Memory(), Memory()]
        self.writes = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @contextmanager
    def archive(self, who: int) -> Iterator[Archive]:
        def of(info: os.stat_result) -> tuple[int, ...]:
            return info.st_dev, info.st_ino, info.st_size, self.writes, self.writes

        with small(), settled(), patch.object(identity, "of", of), self.site.archive(self.memories[who]) as archive:
            yield archive

    @rule(who=st.integers(0, 1), cycle=ours)
    def append(self, who: int, cycle: Cycle) -> None:
        with self.archive(who) as archive:
            appended(archive, cycle)
        self.cycles = [*self.cycles, cycle]

    @rule(cycles=st.lists(ours, max_size=3), keep=st.integers(0, 5), in_place=st.booleans())
    def change(self, cycles: list[Cycle], keep: int, in_place: bool) -> None:
        self.cycles = [*self.cycles[:keep], *cycles]
        self.writes += 1
        if in_place:
            self.site.path.write_bytes(ours_of(self.cycles))
        else:
            self.site.put(ours_of(self.cycles))

    @rule(number=st.integers(0, 5), version=st.sampled_from(["0.5", "0.6"]))
    def edit(self, number: int, version: str) -> None:
        """A letter becomes another, in place: nothing about the file changes but its time."""
        if number < len(self.cycles):
            self.cycles = [*self.cycles]
            self.cycles[number] = {**self.cycles[number], "schema_version": version}
            self.writes += 1
            with self.site.path.open("r+b") as file:
                file.write(ours_of(self.cycles))

    @rule(at=st.integers(0, 1 << 16), which=st.integers(0, 1), remove=st.booleans())
    def spoil(self, at: int, which: int, remove: bool) -> None:
        found = sorted((self.site.state / "cache").glob("*"))
        if which < len(found):
            data = bytearray(found[which].read_bytes())
            if remove or not data:
                found[which].unlink()
            else:
                data[at % len(data)] ^= 1
                found[which].write_bytes(data)
            self.memories = [Memory(), Memory()]  # who has read a file and found it whole reads it again as it was

    @rule(who=st.integers(0, 1))
    def begin_anew(self, who: int) -> None:
        self.memories[who] = Memory()

    @rule(who=st.integers(0, 1), query=words | st.sampled_from(['"0.6"', "id", "branch"]))
    def look(self, who: int, query: str) -> None:
        plain = [json.dumps(each, separators=(",", ":"), ensure_ascii=False).lower() for each in self.cycles]
        with self.archive(who) as archive:
            assert list(map(archive.cycle, range(len(archive)))) == self.cycles
            assert archive.highest_plan_id == max(
                (each["plan"]["id"] for each in self.cycles if each["plan"]), default=0
            )
            assert all(map(archive.has, self.cycles))
            taken = {each["completed_at"] for each in self.cycles}
            assert all(archive.free_time(time) not in taken for time in taken)
            if query.strip():
                found = [number for number, text in enumerate(plain) if query.lower() in text]
                assert archive.matches(query) == found


Histories.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True)
test_no_answer_is_of_another_history = Histories.TestCase
