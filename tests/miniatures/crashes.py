"""Servers that are wrong when a second server works beside them, or when they are killed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from nexus_mcp.server.app import Answer, App
from nexus_mcp.store import journal
from nexus_mcp.store.replacement import Replacement
from nexus_mcp.workspace import Workspace
from tests.miniatures.base import PROCESS, Call, Deviation, Json, Miniature, failed

_FILES = (".gitignore", "history.json", "state/plan.json", "state/tasks.json")
_PAUSE = 0.002
_BETWEEN_FILES = 0.01
_LATE = 0.03
_PIECE = 256


def keeps_the_list(call: Call) -> Answer:
    """Overwrite the list of another process with the list in memory."""
    if "tasks" in call.memory and call.tasks.exists():
        _install(call.tasks, call.memory["tasks"])
    answer = call.right()
    if not failed(answer):
        call.memory["tasks"] = call.tasks.read_bytes()
    return answer


def _install(path: Path, content: bytes) -> None:
    """Write a whole file, so that no other process reads a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    late = path.with_name(f".{path.name}.{os.getpid()}")
    late.write_bytes(content)
    late.replace(path)


def forgets_lost_answers(call: Call) -> Answer:
    """Answer slowly, and close again for a repeated close."""
    for receipt in (call.nexus / "state").glob("closed-*"):
        receipt.unlink()
    answer = call.right()
    time.sleep(_LATE)
    return answer


def takes_no_lock(call: Call) -> Answer:
    """Read the files, change a copy of them, write back what changed: the writes of other processes meanwhile are lost.

    Without the lock our own store would find most of these changes, and refuse them.
    """
    files = {name: call.nexus / name for name in _FILES}
    before = {name: path.read_bytes() for name, path in files.items() if path.exists()}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / ".nexus"
        (copy / "state").mkdir(parents=True)
        for name, content in before.items():
            (copy / name).write_bytes(content)
        Path(folder, ".git").symlink_to(call.root / ".git")
        call.answer = App(Workspace(folder)).call(call.name, call.arguments)
        time.sleep(_PAUSE)
        for name, path in files.items():
            after = (copy / name).read_bytes() if (copy / name).exists() else None
            if after is not None and after != before.get(name):
                _install(path, after)
    return call.answer


def forgets_what_it_began(call: Call) -> Answer:
    """Change one file after the other; after a kill no call completes the rest."""
    _replace(call, journal, "read_pending", lambda _: None)
    _replace(call, journal, "apply", _after_a_pause(journal.apply, _BETWEEN_FILES))
    _replace(call, journal, "_apply_prepared", _after_a_pause(journal._apply_prepared, _BETWEEN_FILES))
    return call.right()


def _writing_in_place(name: str) -> Deviation:
    """Return a deviation that writes the file `name` in place, piece by piece: a kill leaves a part of it."""
    install = Replacement.install

    def in_place(self: Replacement, temporary: str, new: Any) -> None:
        folder = self._folder
        if self._name != name or new is None:
            return install(self, temporary, new)
        data = Path(folder.path, temporary).read_bytes()
        with Path(folder.path, name).open("wb", buffering=0) as file:
            for start in range(0, len(data), _PIECE):
                file.write(data[start : start + _PIECE])
                time.sleep(_PAUSE)
        return folder.unlink(temporary)

    def deviation(call: Call) -> Answer:
        _replace(call, Replacement, "install", in_place)
        return call.right()

    return deviation


def _replace(call: Call, module: ModuleType | type, name: str, value: object) -> None:
    """Replace an attribute of a module until the process of the server ends."""
    from unittest.mock import patch  # on demand, because it imports asyncio, which most servers do not need

    if name not in call.memory:
        call.memory[name] = patch.object(module, name, value)
        call.memory[name].start()


def _after_a_pause(function: Callable[..., Json], pause_s: float = _PAUSE) -> Callable[..., Json]:
    def late(*arguments: object, **named: object) -> Json:
        time.sleep(pause_s)
        return function(*arguments, **named)

    return late


def _row(name: str, wrong: str, tool: str, deviation: Deviation) -> Miniature:
    return Miniature(name, wrong, (tool,), deviation, PROCESS)


MINIATURES = (
    _row("add-from-memory", "task_add overwrites tasks.json with its list in memory.", "task_add", keeps_the_list),
    _row("add-without-lock", "task_add takes no lock.", "task_add", takes_no_lock),
    _row("start-without-lock", "plan_start takes no lock.", "plan_start", takes_no_lock),
    _row("decide-without-lock", "plan_decide takes no lock.", "plan_decide", takes_no_lock),
    _row("close-in-pieces", "A task_close that is killed leaves half of it.", "task_close", forgets_what_it_began),
    _row("start-in-pieces", "A plan_start that is killed leaves half of it.", "plan_start", forgets_what_it_began),
    _row("close-forgets-answers", "A repeated task_close closes again.", "task_close", forgets_lost_answers),
    _row("close-in-place", "task_close writes history.json in place.", "task_close", _writing_in_place("history.json")),
    _row("decide-in-place", "plan_decide writes plan.json in place.", "plan_decide", _writing_in_place("plan.json")),
    _row("artifact-in-place", "artifact_write writes in place.", "artifact_write", _writing_in_place("a.txt")),
)
