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
    """An answer or a state of the files that is not allowed. The text describes it."""


def check_whole(root: Path, allowed: Iterable[Files]) -> None:
    """Check what a reader may see at any time: each file is one of those in `allowed`, and each of ours parses.

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
    """Return the outcomes that agree with the present files. Raise Wrong when none does."""
    wanted = list(outcomes)
    found = files(root)
    left = [outcome for outcome in wanted if outcome.files == found]
    if not left:
        may = " or ".join(sorted({_told(outcome.files) for outcome in wanted}))
        raise Wrong(f"{told}: found {_told(found)}, allowed {may}")
    return left


def go_on(root: Path, model: Model, outcomes: Iterable[Outcome], tool: str, at: int) -> list[Outcome]:
    """Make an undisturbed call, and return the outcomes after it. Raise Wrong unless it succeeds correctly.

    Its answer and the files have to agree with one of the outcomes.
    """
    answer: Json = perform(root, tool, at)
    if "error" in answer:
        raise Wrong(f"{tool} afterwards is refused: {answer['error']}")
    may = model.after(outcomes, tool, at, Heard.ALL, spelled(answer))
    if not may:
        raise Wrong(f"{tool} afterwards is answered wrongly: {spelled(answer)[:300]}")
    return narrowed(root, may, f"after {tool}")


def settle(root: Path, model: Model, outcomes: Iterable[Outcome], at: int) -> None:
    """Make calls until all leftovers of the disturbance are completed or removed. Raise Wrong.

    A reading call by another process completes a pending change. The next close archives the open plan and tasks, or
    returns the undelivered answer of an earlier close. The close after it is an ordinary one.
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
        raise Wrong(f"never removed: {', '.join(left)}")
    if found.get(".gitignore") != b"state/\n":
        raise Wrong(f".gitignore is {_shown(found.get('.gitignore'))}")


def _told(found: Files) -> str:
    """Return a summary of the files as text for a message."""
    history, plan, tasks = found
    try:
        cycles = 0 if history is None else len(json.loads(history)["cycles"])
        open_tasks = "no tasks" if tasks is None else f"{len(json.loads(tasks)['tasks'])} tasks"
        topic = "no plan" if plan is None else f"plan {json.loads(plan)['id']}"
    except (ValueError, KeyError, TypeError):
        return "a file that does not parse"
    return f"({cycles} cycles, {topic}, {open_tasks})"


def _shown(data: bytes | None) -> str:
    return "absent" if data is None else f"{len(data)} bytes: {data[:80]!r}"
