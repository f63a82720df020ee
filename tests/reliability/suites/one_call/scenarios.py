"""The states of a workspace in which a call is disturbed, and the calls."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from nexus_mcp.server.app import App
from nexus_mcp.store import atomic
from nexus_mcp.workspace import Workspace
from tests.reliability.suite import Json

NOW = 1_767_323_045_250  # milliseconds since 1970
LATER = 1_000  # milliseconds from one call to the next

# The files below `.nexus` that must never be lost, doubled or torn. All other files only serve these.
NAMES = ("history.json", "state/plan.json", "state/tasks.json")
JOURNAL = "state/txn.json"
LOG_ASIDE = "state/conflict-oplog.jsonl"
"""The log that a close sets aside when it cannot append to it. The close succeeds, and undo does not go past it."""
RECEIPT = "state/closed-"
Files = tuple[bytes | None, ...]
"""The bytes of NAMES, None where absent."""
Tree = dict[str, bytes | None]
"""Path from `.nexus` → bytes of a file, None for a folder; the path "" is `.nexus` itself."""

ARGUMENTS: dict[str, dict[str, Json]] = {
    "task_close": {},
    "plan_start": {"topic": "Next", "issues": ["Three"], "research_summary": ""},
    "task_add": {"title": "More", "context": "because", "goal": "All of it"},
    "plan_status": {},
    "task_list": {},
    "history_search": {"query": "completed_at"},  # a word of every cycle
}
CHANGES = ("task_close", "plan_start", "task_add")
READS = ("plan_status", "task_list", "history_search")

# No version of ours writes this layout: a change has to keep its bytes.
_OLD = '{"cycles": [ {"completed_at": "2020-01-01T00:00:00.000Z", "branch":"main","plan":null,"tasks":[],"x":1.50} ]}'
_PLAN = ("plan_start", {"topic": "Topic", "issues": ["One", "Two"], "research_summary": "known"})
_DECISION = ("plan_decide", {"issue_id": 1, "decision": "yes"})
_TASK = ("task_add", {"title": "Do", "context": "because"})
_CLOSE = ("task_close", dict[str, Json]())
STATES: dict[str, tuple[tuple[str, dict[str, Json]], ...]] = {
    "all there": (_PLAN, _DECISION, _TASK, _TASK),
    "a plan": (_PLAN,),
    "tasks": (_TASK,),
    "nothing open": (_PLAN, _TASK, _CLOSE),
    "never used": (),
}
_WITH_OLD_HISTORY = ("all there", "tasks")
SCENARIOS = tuple(product(CHANGES, STATES))
"""(The tool that is disturbed, the state that it finds.)"""
# These calls change several files, so a crash may leave a journal.
JOURNALLED = tuple(
    (tool, state)
    for tool, state in SCENARIOS
    if tool == "task_close" or (tool == "plan_start" and state in ("all there", "a plan"))
)


def perform(root: Path, tool: str, at: int, send: Callable[[bytes], object] | None = None) -> Json:
    """Make one call in a new server at the time `at`; return the structured content of its answer.

    `send` writes the answer out. The server removes the receipt afterwards.
    """
    answer = App(Workspace(str(root)), now=lambda: at / 1000).call(tool, ARGUMENTS[tool])
    content = answer.result["structuredContent"]
    if send is not None:
        send(json.dumps(content).encode())
    answer.confirm_delivery()
    return content


def warm(root: Path) -> None:
    """Let a process search the history, so that the next process finds an index and texts of a long history."""
    if not os.path.exists(f"{root}/.nexus/{JOURNAL}"):
        perform(root, "history_search", NOW)


def project(folder: Path) -> Path:
    """Make a project without `.nexus` in this folder, on branch main; return its path."""
    git = folder / "project" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return git.parent


@cache
def tree_of(state: str) -> Tree:
    """Return the files of a workspace in this state."""
    with TemporaryDirectory() as folder:
        root = project(Path(folder).resolve())
        for number, (tool, arguments) in enumerate(STATES[state]):
            at = NOW - (len(STATES[state]) - number) * LATER
            answer = App(Workspace(str(root)), now=lambda at=at: at / 1000).call(tool, arguments)  # type: ignore[misc]
            answer.confirm_delivery()
            if answer.result["isError"]:
                raise RuntimeError(f"{tool} while preparing: {answer.result['structuredContent']}")
        if state in _WITH_OLD_HISTORY:
            (root / ".nexus" / "history.json").write_text(_OLD)
        return tree(root)


def tree(root: Path) -> Tree:
    """Return the present files of `.nexus`."""
    nexus = f"{root}/.nexus"
    found: Tree = {"": None} if os.path.exists(nexus) else {}
    for folder, folders, names in os.walk(nexus):
        for name in folders:
            found[f"{folder}/{name}"[len(nexus) + 1 :]] = None
        for name in names:
            found[f"{folder}/{name}"[len(nexus) + 1 :]] = _bytes(f"{folder}/{name}")
    return found


def restore(root: Path, wanted: Tree) -> None:
    """Replace the content of `.nexus` by `wanted`."""
    nexus = root / ".nexus"
    shutil.rmtree(nexus, ignore_errors=True)
    for path, content in wanted.items():
        if content is None:
            os.mkdir(f"{nexus}/{path}")
        else:
            with open(f"{nexus}/{path}", "wb") as file:
                file.write(content)


def files(root: Path) -> Files:
    """Return the present files of NAMES."""
    return tuple(_bytes(path) if os.path.exists(path := f"{root}/.nexus/{name}") else None for name in NAMES)


def files_of(of: Tree) -> Files:
    return tuple(of.get(name) for name in NAMES)


def leftovers(of: Tree) -> list[str]:
    """Return the leftovers of a crash that a later call has to complete or remove."""
    return [path for path in of if path == JOURNAL or path.startswith(RECEIPT) or is_temporary(path)]


def is_temporary(path: str) -> bool:
    return path.rpartition("/")[2].startswith(atomic.PREFIX)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
