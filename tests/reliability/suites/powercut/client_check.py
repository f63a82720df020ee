"""Check the files and answers that a client finds after a power cut."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.state.oplog import UNDO, By
from nexus_mcp.store import oplog
from nexus_mcp.store.history import cache
from nexus_mcp.store.store import Store, undo
from nexus_mcp.workspace import Workspace
from tests.reliability.suites.caller import Caller, Failed, called, content
from tests.reliability.suites.powercut.disk import Tree
from tests.reliability.suites.powercut.files import conflicts, known_as, leftovers, put_tree, state_of
from tests.reliability.suites.powercut.scenarios import FOREIGN, Played
from tests.support import Clock

_LATER = 60_000  # ms
_SEARCHES: tuple[dict[str, Any], ...] = ({"query": "topic"}, {"query": "yes"}, {})
Infos = Mapping[str, os.stat_result]


@dataclass
class Found:
    """The result of a tree: the values of its files after a read (`state`, as JSON), and the `problems`.

    `aside` are the contents of the conflict files; `retried` is (the answer of a repeated task_close, the number of
    cycles after it).
    """

    state: str = ""
    aside: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    retried: tuple[Any, int] | None = None


class Trouble(Exception):
    """A violation of a rule."""


def found_in(tree: Tree, infos: Infos, folder: Path, played: Played, *, retried: bool) -> Found:
    """Let a new server read the tree, then change something; with `retried`, also let a client repeat its close.

    `infos` is the argument of known_as: only with it an index of the history is valid again.
    """
    found = Found()
    root = folder / "found"
    try:
        with put_tree(root, tree), known_as(root, infos):
            _check_searches(root)
            for tool in ("plan_status", "task_list", "history_search", "context"):
                called(root, tool)
            found.state = state_of(root)
            found.aside = [text for text in conflicts(root) if text != FOREIGN]
            _check_files(root, played)
            _check_undo(root, found.state, played)
            _check_works(root, found.state)
        if retried:
            with put_tree(root, tree), known_as(root, infos):
                answer = called(root, "task_close")
                found.retried = answer, len(json.loads(state_of(root))["history"]["cycles"])
    except (Trouble, Failed, ValueError) as error:
        found.problems.append(str(error))
    return found


def faults(found: Found, played: Played, end: int) -> list[str]:
    """Return the faults found after a power cut behind the first `end` operations."""
    if found.problems:
        return found.problems
    allowed = played.allowed(end)
    wrong = [f"extra conflict file with {text:.500}" for text in found.aside if not any(map(_holds(text), allowed))]
    if found.state not in allowed:
        wrong.append(_difference(found.state, sorted(allowed)))
    if played.retries(end) and found.retried is not None and played.is_closed_at_most(found.state):
        answer, cycles = found.retried
        first = json.loads(played.states[0])
        before = len((first["history"] or {"cycles": []})["cycles"])
        if cycles != before + 1:
            wrong.append(f"a close and its repetition made {cycles - before} cycles")
        if first["plan"] and answer["deleted"] != ["plan.json", "tasks.json"]:
            wrong.append(f"a repeated task_close is answered {answer}")
    return wrong


def _holds(text: str) -> Callable[[str], bool]:
    """Return a test whether a state has this file: a conflict file may hold an unacknowledged change."""

    def holds(state: str) -> bool:
        value = json.loads(state)
        return text in value["artifacts"].values() or text in (json.dumps(value["plan"]), json.dumps(value["tasks"]))

    return holds


def _difference(state: str, allowed: list[str]) -> str:
    """Return the part of the state that is in none of the allowed ones."""
    values, seen = [json.loads(text) for text in allowed], json.loads(state)
    told = [
        f"{name}: found {str(seen[name])[:500]}, allowed {' or '.join(str(value[name])[:500] for value in values)}"
        for name in seen
        if any(value[name] != seen[name] for value in values)
    ]
    return "; ".join(told)


def _check_searches(root: Path) -> None:
    """Check that a damaged index of the history changes no answer."""
    folder = root / ".nexus" / "state" / cache.FOLDER
    if folder.is_dir():
        told = [called(root, "history_search", **arguments) for arguments in _SEARCHES]
        shutil.rmtree(folder)
        if told != [called(root, "history_search", **arguments) for arguments in _SEARCHES]:
            raise Trouble("the damaged index of the history changes the answers of history_search")


def _check_files(root: Path, played: Played) -> None:
    """Check the rules that hold for every tree."""
    history = root / ".nexus" / "history.json"
    if played.old and not history.read_bytes().startswith(played.old):
        raise Trouble("the bytes of the old cycle have changed")
    if (root / ".nexus" / "state" / "txn.json").exists():
        raise Trouble("a read did not complete the journal")


def _check_undo(root: Path, state: str, played: Played) -> None:
    """Check that undo does not go past a cycle in the history, with any remains of the operation log."""
    if _cycles(state) <= _cycles(played.states[0]):
        return
    store = Store(Workspace(str(root)), Clock())
    try:
        taken = undo(store, By(UNDO, "nexus-mcp", "proof"), 1, dry_run=True)["undone"]
    except NexusError:
        return
    before = played.start.tree().get(f".nexus/state/{oplog.NAME}") or b""
    if any(entry["id"].encode() in before for entry in taken):
        raise Trouble("undo takes back a change from before the last cycle")


def _cycles(state: str) -> int:
    return len((json.loads(state)["history"] or {"cycles": []})["cycles"])


def _check_works(root: Path, state: str) -> None:
    """Check that the next change works on the present state, and can be taken back, with any remains of the operation
    log.
    """
    before = json.loads(state)
    # The time is later than any cycle: undo trusts a log that lacks a cycle only for changes after that cycle.
    added = Caller(root, Clock(Clock().ms + _LATER)).call("task_add", {"title": "Later", "context": "works"})
    added.confirm_delivery()
    content(added, "task_add")
    after = json.loads(state_of(root))
    rows = [*(before["tasks"] or {"tasks": []})["tasks"], after["tasks"]["tasks"][-1]]
    if after["tasks"]["tasks"] != rows or {**after, "tasks": None} != {**before, "tasks": None}:
        raise Trouble("a task_add changes something else")
    if leftovers(root):
        raise Trouble("a task_add leaves temporary files of the dead process")
    called(root, "undo", count=1)
    if state_of(root) != state:
        raise Trouble("the undo of a task_add does not restore the state before it")
