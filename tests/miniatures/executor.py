"""Executors that are wrong.

`python -m tests.miniatures.executor NAME STATUS [WORD …]` works through the task list of the folder that it runs in, as
tests/miniatures/right_executor.py does but for one fault. The name `correct` has none.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.miniatures.base import EXECUTOR, Json, Miniature
from tests.miniatures.right_executor import Executor

CORRECT = "correct"
RUN = "command run"

Deviation = Callable[[type[Executor]], dict[str, Any]]


def _document(edit: Callable[[dict[str, Json]], object]) -> Deviation:
    """Return the deviation that edits each status file."""

    def members(right: type[Executor]) -> dict[str, Any]:
        def document(self: Executor, status: str) -> dict[str, Json]:
            value = right.document(self, status)
            edit(value)
            return value

        return {"document": document}

    return members


def _replaced(**methods: Callable[..., Any]) -> Deviation:
    return lambda _: methods


def _in_place(self: Executor, path: Path, text: str) -> None:
    with path.open("w") as file:
        for start in range(0, len(text), 40):
            file.write(text[start : start + 40])
            file.flush()
            threading.Event().wait(0.003)


def _completes_first(right: type[Executor]) -> dict[str, Any]:
    def check(self: Executor, folder: Path) -> bool:
        id_ = next(id_ for id_, path in self.active.items() if path == folder)
        self.set_status(id_, "completed")
        return right.check(self, folder)

    return {"check": check}


def _never_in_progress(right: type[Executor]) -> dict[str, Any]:
    def set_status(self: Executor, id_: int, status: str) -> None:
        if status != "in_progress":
            right.set_status(self, id_, status)

    return {"set_status": set_status}


def _counts_blocked_as_pending(right: type[Executor]) -> dict[str, Any]:
    def progress(self: Executor) -> dict[str, int]:
        found = right.progress(self)
        return {**found, "pending": found["pending"] + found["blocked"]}

    return {"progress": progress}


def _pending_lags(right: type[Executor]) -> dict[str, Any]:
    def progress(self: Executor) -> dict[str, int]:
        found = right.progress(self)
        return {**found, "pending": found["pending"] + bool(self.active) * found["passed"]}

    return {"progress": progress}


def _exits(status: str, code: int) -> Deviation:
    """Return the deviation that ends with another exit code, with the status as it should be."""

    def members(right: type[Executor]) -> dict[str, Any]:
        def ended(self: Executor) -> int:
            found = right.ended(self)
            return code if json.loads(self.status.read_text())["run"]["status"] == status else found

        return {"ended": ended}

    return members


def _says(status: str, instead: str) -> Deviation:
    """Return the deviation that writes another status."""

    def members(right: type[Executor]) -> dict[str, Any]:
        def report(self: Executor, name: str) -> None:
            right.report(self, instead if name == status else name)

        return {"report": report}

    return members


def _forgets_deps(right: type[Executor]) -> dict[str, Any]:
    def ready(self: Executor) -> list[Json]:
        return [row for row in self.mine() if row["status"] != "completed" and row["id"] not in self.states]

    return {"ready": ready}


def _starts_over(right: type[Executor]) -> dict[str, Any]:
    def recover(self: Executor) -> None:
        for row in self.mine():
            self.set_status(row["id"], "pending")

    return {"recover": recover}


def _locks_by_file(right: type[Executor]) -> dict[str, Any]:
    def locked(self: Executor) -> Any:
        try:
            return (self.state / "run.lock").open("x")
        except FileExistsError:
            return None

    return {"locked": locked}


def _works_in_the_checkout(right: type[Executor]) -> dict[str, Any]:
    def merge(self: Executor, folder: Path) -> None:
        right.merge(self, folder)
        shutil.copytree(folder, self.root, dirs_exist_ok=True)

    return {"merge": merge}


def _tries_once_more(right: type[Executor]) -> dict[str, Any]:
    def carry_out(self: Executor, row: Json) -> None:
        self.budget += 1
        right.carry_out(self, row)

    return {"carry_out": carry_out}


def _gives_up_at_once(right: type[Executor]) -> dict[str, Any]:
    def carry_out(self: Executor, row: Json) -> None:
        self.budget = 1
        right.carry_out(self, row)

    return {"carry_out": carry_out}


def _ignores_words(right: type[Executor]) -> dict[str, Any]:
    def mine(self: Executor) -> list[Json]:
        return self.rows()

    return {"mine": mine}


def _runs_when_dry(right: type[Executor]) -> dict[str, Any]:
    def main(self: Executor) -> int:
        was, self.is_dry = self.is_dry, False
        code = right.main(self)
        self.is_dry = was
        self.report("completed")
        return code

    return {"main": main}


def _no_status_when_done(right: type[Executor]) -> dict[str, Any]:
    def main(self: Executor) -> int:
        if not self.is_dry and all(row["status"] == "completed" for row in self.mine()):
            return 0
        return right.main(self)

    return {"main": main}


def _terminates_as_failed(right: type[Executor]) -> dict[str, Any]:
    def terminated(self: Executor) -> None:
        self.end_orphans()
        os._exit(1)

    return {"terminated": terminated}


def _completes_unchanged(right: type[Executor]) -> dict[str, Any]:
    def files(self: Executor, folder: Path) -> dict[str, str]:
        return {"": str(object())}

    return {"files": files}


def _believes_a_dead_session(right: type[Executor]) -> dict[str, Any]:
    def session(self: Executor, row: Json, folder: Path, number: int) -> int:
        right.session(self, row, folder, number)
        return 0

    return {"session": session}


def _refuses_running(right: type[Executor]) -> dict[str, Any]:
    def locked(self: Executor) -> Any:
        return (self.state / "run.lock").open("a")

    return {"locked": locked}


def _one_at_a_time(right: type[Executor]) -> dict[str, Any]:
    def work(self: Executor) -> None:
        self.jobs = 1
        right.work(self)

    return {"work": work}


_ROWS: tuple[tuple[str, str, Deviation], ...] = (
    ("run-status-no-host", "The status file has no host.", _document(lambda value: value["run"].pop("host"))),
    (
        "run-status-no-story",
        "The status file has no storyId.",
        _document(lambda value: (value["current"] or {}).pop("storyId", None)),
    ),
    ("run-status-in-place", "The status file is written in place, piece by piece.", _replaced(put=_in_place)),
    ("run-pending-lags", "While a task is active, pending counts completed tasks, too.", _pending_lags),
    ("run-pending-has-blocked", "pending counts the blocked tasks, too.", _counts_blocked_as_pending),
    ("run-dry-works", "A dry run starts agents.", _runs_when_dry),
    ("run-no-order", "Tasks are started before their dependencies are done.", _forgets_deps),
    ("run-failed-exits-0", "A run that failed ends with 0.", _exits("failed", 0)),
    ("run-paused-exits-0", "A run that waits for a person ends with 0.", _exits("paused", 0)),
    ("run-stalled-exits-0", "A run in which nothing is ready ends with 0.", _exits("stalled", 0)),
    ("run-stalled-completes", "A run in which nothing is ready says completed.", _says("stalled", "completed")),
    ("run-ignores-the-task", "The id of a task on the command line is ignored.", _ignores_words),
    ("run-silent-when-done", "With nothing left to do no status file is written.", _no_status_when_done),
    ("run-starts-over", "Completed tasks are done again.", _starts_over),
    ("run-dirty", "A run starts on uncommitted changes.", _replaced(is_dirty=lambda _: False)),
    ("run-circle", "A circle of dependencies is not found.", _replaced(has_circle=lambda _: False)),
    ("run-one-at-a-time", "The number of jobs is ignored.", _one_at_a_time),
    ("run-completes-first", "A task is completed before its check.", _completes_first),
    ("run-no-check", "The agent is believed, and no check runs.", _replaced(check=lambda _, __: True)),
    ("run-never-in-progress", "The list does not say that a task is in progress.", _never_in_progress),
    ("run-dead-session", "A session that ended with an error counts as a success.", _believes_a_dead_session),
    ("run-tries-more", "A task has more attempts than are allowed.", _tries_once_more),
    ("run-gives-up", "A task has one attempt, whatever is allowed.", _gives_up_at_once),
    ("run-in-the-checkout", "The work is written into the user's checkout.", _works_in_the_checkout),
    ("run-not-alone", "A second run is not refused.", _refuses_running),
    ("run-leaves-orphans", "The agents of a dead run go on.", _replaced(end_orphans=lambda _: None)),
    ("run-lock-stays", "The lock file of a dead run refuses each later one.", _locks_by_file),
    ("run-terminated-fails", "SIGTERM ends with 1.", _terminates_as_failed),
    ("run-unchanged", "A task on which the agent changed nothing is completed.", _completes_unchanged),
)
DEVIATIONS = {name: deviation for name, _, deviation in _ROWS}
MINIATURES = tuple(Miniature(name, wrong, (RUN,), None, EXECUTOR) for name, wrong, _ in _ROWS)


def main(arguments: Sequence[str]) -> int:
    name, status, *words = arguments
    kind = Executor if name == CORRECT else type(name, (Executor,), DEVIATIONS[name](Executor))
    found: int = kind(Path(status), Path.cwd(), words).main()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
