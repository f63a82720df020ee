"""The points at which a call can be disturbed, and the end of the call: for strace and for the simulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.reliability import long
from tests.reliability.suite import Json
from tests.reliability.suites.one_call.scenarios import Tree, perform, restore, warm


@dataclass(frozen=True)
class Point:
    """The `number`-th system call of a tool call, from 1; `shown` has its arguments."""

    number: int
    name: str
    shown: str


@dataclass(frozen=True)
class Ended:
    """The end of a call: the data sent before it, and whether the point of the disturbance was reached."""

    sent: bytes
    reached: bool = True

    @property
    def answer(self) -> Json:
        """The structured content of the answer; None if no answer was sent."""
        return json.loads(self.sent) if self.sent else None


@dataclass(frozen=True)
class Case:
    """A call of `tool` in the project `root`, at the time `at`, with `start` in `.nexus`."""

    root: Path
    start: Tree
    tool: str
    at: int

    def perform(self, send: Callable[[bytes], object] | None = None) -> Json:
        """Make the call with the present files."""
        return perform(self.root, self.tool, self.at, send)

    def prepare(self) -> None:
        """Restore the files that the call has to find."""
        restore(self.root, self.start)
        if long.is_on():
            warm(self.root)


class Lever(Protocol):
    """A way to disturb a call. The project is prepared for each."""

    def kill_points(self, case: Case) -> list[Point]: ...

    def kill(self, case: Case, point: Point) -> Ended: ...

    def error_points(self, case: Case, code: int) -> list[Point]: ...

    def fail(self, case: Case, point: Point, code: int, *, lasting: bool) -> Ended: ...
