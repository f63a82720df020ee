"""The allowed results of disturbed calls: the files, and the answer of a repeated task_close."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path

from tests.reliability.suite import Json
from tests.reliability.suites.one_call.scenarios import NAMES, READS, Files, files, perform, project, restore


class Heard(Enum):
    """The knowledge that the caller of a call has."""

    NOTHING = auto()  # the server died before it answered: the change may be made or not
    RECORDED = auto()  # an error said that the change is made, or will be completed
    ANSWER = auto()  # the answer was sent, but the server may not have removed the receipt
    ALL = auto()  # the answer was sent, and the receipt is removed


@dataclass(frozen=True)
class Outcome:
    """One possible set of files. `closed` is the undelivered answer of a close, "" for none.

    The next close that finds nothing open must return it, unless it may have been delivered (`perhaps`).
    """

    files: Files
    closed: str = ""
    perhaps: bool = False


class Model:
    """The results of undisturbed calls, which the model makes in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._scratch = project(folder / "scratch")
        self._known: dict[tuple[Files, str, int], tuple[str, Files]] = {}

    def after(
        self, outcomes: Iterable[Outcome], tool: str, at: int, heard: Heard, answer: str | None = None
    ) -> list[Outcome]:
        """Return the possible files if the call was made in one of `outcomes`; `answer`: its answer."""
        ends: dict[Outcome, None] = {}
        for outcome in outcomes:
            if heard is Heard.NOTHING:
                ends[outcome] = None
            for given, end in self._done(outcome, tool, at):
                if answer in (None, given):
                    ends[end if tool in READS else _heard(end, heard)] = None
        return list(ends)

    def _done(self, outcome: Outcome, tool: str, at: int) -> Iterator[tuple[str, Outcome]]:
        """Yield (the answer, the outcome) of a completed call, for each possible outcome."""
        if tool == "task_close" and outcome.closed and outcome.files[1:] == (None, None):
            yield outcome.closed, outcome
            if not outcome.perhaps:
                return
        answer, found = self._undisturbed(outcome.files, tool, at)
        if tool in READS:
            yield answer, outcome
            return
        yield answer, Outcome(found, answer if tool == "task_close" else "")

    def _undisturbed(self, found: Files, tool: str, at: int) -> tuple[str, Files]:
        key = (found, tool, at)
        if key not in self._known:
            there = {name: data for name, data in zip(NAMES, found, strict=True) if data is not None}
            restore(self._scratch, {"": None, "state": None, **there})
            answer = spelled(perform(self._scratch, tool, at))
            self._known[key] = answer, files(self._scratch)
        return self._known[key]


def spelled(answer: Json) -> str:
    """Return an answer as text, for comparisons."""
    return json.dumps(answer, sort_keys=True)


def _heard(end: Outcome, heard: Heard) -> Outcome:
    if heard is Heard.ALL:
        return replace(end, closed="", perhaps=False)
    return replace(end, perhaps=bool(end.closed)) if heard is Heard.ANSWER else end
