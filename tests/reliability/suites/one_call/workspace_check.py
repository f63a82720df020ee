"""Compare a workspace with the states that are allowed after a disturbed call."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tests.reliability.suite import Json
from tests.reliability.suites.one_call.model import Heard, Model, Outcome, spelled
from tests.reliability.suites.one_call.scenarios import (
    JOURNAL,
    LATER,
    LOG_ASIDE,
    NAMES,
    READS,
    Files,
    files,
    is_temporary,
    leftovers,
    perform,
    tree,
)


class Wrong(Exception):
    """A state that must never be found. The text describes it."""


def check_whole(root: Path, allowed: Iterable[Files]) -> None:
    """Each file by itself is one of those that `allowed` has, and each of ours parses: what a reader sees any time.

    Raise Wrong.
    """
    found = tree(root)
    for name, data, wanted in zip(NAMES, files(root), zip(*allowed, strict=True), strict=True):
        if data not in wanted:
            raise Wrong(f"{name} is torn: it is neither the old file nor the new one, but {_shown(data)}")
    for path, content in found.items():
        if content is not None and path.endswith(".json") and not is_temporary(path):
            try:
                json.loads(content.decode("utf-8-sig"))
            except ValueError as error:
                raise Wrong(f"{path} is torn: {error}") from error


def narrowed(root: Path, outcomes: Iterable[Outcome], told: str) -> list[Outcome]:
    """Those of the outcomes that are found now. Raise Wrong when none is."""
    wanted = list(outcomes)
    found = files(root)
    left = [outcome for outcome in wanted if outcome.files == found]
    if not left:
        may = " or ".join(sorted({_told(outcome.files) for outcome in wanted}))
        raise Wrong(f"{told}: there is {_told(found)}, and there must be {may}")
    return left


def go_on(root: Path, model: Model, outcomes: Iterable[Outcome], tool: str, at: int) -> list[Outcome]:
    """Make a call, with nothing to disturb it: it has to succeed, its answer and the files have to be right.

    Raise Wrong.
    """
    answer: Json = perform(root, tool, at)
    if "error" in answer:
        raise Wrong(f"{tool} afterwards is refused: {answer['error']}")
    may = model.after(outcomes, tool, at, Heard.ALL, spelled(answer))
    if not may:
        raise Wrong(f"{tool} afterwards is answered with what it must not: {spelled(answer)[:300]}")
    return narrowed(root, may, f"after {tool}")


def settle(root: Path, model: Model, outcomes: Iterable[Outcome], at: int) -> None:
    """Go on until all that the disturbance left is completed and gone. Raise Wrong.

    A reading call by another process completes what was begun. The next close archives what is open, or gives the
    answer that is still due. The one after it is a close of its own.
    """
    for tool in READS:
        outcomes = go_on(root, model, outcomes, tool, at)
    if JOURNAL in tree(root):
        raise Wrong("the journal is still there after a reading call")
    for number in range(2):
        outcomes = go_on(root, model, outcomes, "task_close", at + number * LATER)
    found = tree(root)
    kept = [path for path in found if "conflict-" in path and path != LOG_ASIDE]
    left = leftovers(found) + kept + [path for path in found if path.endswith(".new")]
    if left:
        raise Wrong(f"left for good: {', '.join(left)}")
    if found.get(".gitignore") != b"state/\n":
        raise Wrong(f".gitignore is {_shown(found.get('.gitignore'))}")


def _told(found: Files) -> str:
    """Return the amount of data as text for a message."""
    history, plan, tasks = found
    try:
        cycles = 0 if history is None else len(json.loads(history)["cycles"])
        open_tasks = "no tasks" if tasks is None else f"{len(json.loads(tasks)['tasks'])} tasks"
        topic = "no plan" if plan is None else f"plan {json.loads(plan)['id']}"
    except (ValueError, KeyError, TypeError):
        return "what does not parse"
    return f"({cycles} cycles, {topic}, {open_tasks})"


def _shown(data: bytes | None) -> str:
    return "absent" if data is None else f"{len(data)} bytes: {data[:80]!r}"
