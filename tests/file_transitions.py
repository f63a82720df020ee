"""Count how often control moves between files of the package while one request is served.

`python -m tests.file_transitions` prints one row for each scenario. `python -m tests.file_transitions SCENARIO` also
prints each move, indented by depth. A move is a call or a return whose two frames lie in different files of
`nexus_mcp/`. Calls into other packages, and generated code, do not count: the frame below them does.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = f"{ROOT / 'nexus_mcp'}{os.sep}"


class Moves:
    """The moves of one request: `path` holds (depth, file) for each, in order."""

    def __init__(self) -> None:
        self.path: list[tuple[int, str]] = []
        self._stack: list[str] = []

    @property
    def count(self) -> int:
        return len(self.path)

    @property
    def files(self) -> int:
        """How many files of the package took part."""
        return len({file for _, file in self.path})

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record in this thread until the block ends."""
        sys.setprofile(self._event)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, _argument: Any) -> None:
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) or event not in ("call", "return"):
            return
        file = file[len(PACKAGE) :]
        if event == "call":
            if not self._stack or self._stack[-1] != file:
                self.path.append((len(self._stack), file))
            self._stack.append(file)
        elif self._stack:
            self._stack.pop()
            if self._stack and self._stack[-1] != file:
                self.path.append((len(self._stack) - 1, self._stack[-1]))


def task_add(folder: Path) -> Callable[[], object]:
    """A warm task_add with 20 tasks, from the parsed request to the answer."""
    app = _app(folder)
    for number in range(20):
        app.call("task_add", {"title": f"Task {number}", "context": "Because"})
    return lambda: app.call("task_add", {"title": "One more", "context": "Because"})


def history_search(folder: Path) -> Callable[[], object]:
    """A warm history_search with a query, over 20 cycles."""
    app = _app(folder)
    for number in range(20):
        app.call("plan_start", {"topic": f"Topic {number}", "issues": ["One"], "research_summary": "Known"})
        app.call("task_close", {})
    app.call("history_search", {"query": "topic"})
    return lambda: app.call("history_search", {"query": "topic 7"})


def pre_tool_use(folder: Path) -> Callable[[], object]:
    """Run a pre_tool_use hook of a tracked agent, in a process that has imported the needed modules."""
    return _event(
        folder,
        "pre_tool_use",
        {"tool": "Edit", "tool_input": {"file_path": "src/a.py"}, "agent_id": "a1", "session_id": "s1"},
    )


def plan_message(folder: Path) -> Callable[[], object]:
    """A user_message hook with `[plan]`."""
    return _event(folder, "user_message", {"prompt": "[plan] Move to SQLite", "session_id": "s1"})


def fixture(folder: Path) -> Callable[[], object]:
    """The runner's work on one fixture of task_add, against our own tools in memory."""
    from nexus_mcp.conformance.loading import load
    from nexus_mcp.conformance.runner import run
    from nexus_mcp.conformance.target import in_memory
    from nexus_mcp.server.app import App
    from nexus_mcp.server.sdk import build_server
    from nexus_mcp.workspace import Workspace

    one = next(fixture for fixture in load() if fixture.tools == ("task_add",) and not fixture.needs_process)
    target = in_memory(lambda root: build_server(App(Workspace(root))))
    run([one], target, jobs=1)
    return lambda: run([one], target, jobs=1)


def _app(folder: Path) -> Any:
    from nexus_mcp.server.app import App
    from nexus_mcp.workspace import Workspace

    return App(Workspace(str(folder)))


def _event(folder: Path, name: str, params: dict[str, Any]) -> Callable[[], object]:
    from nexus_mcp.lifecycle.guard import answer_event
    from nexus_mcp.workspace import Workspace

    app, workspace = _app(folder), Workspace(str(folder), "claude-code")
    app.call("plan_start", {"topic": "Topic", "issues": ["One", "Two"], "research_summary": "Known"})
    app.call("task_add", {"title": "One", "context": "Because"})
    answer_event("session_start", {"source": "startup", "session_id": "s1"}, workspace)
    answer_event("subagent_spawn", {"agent_name": "engineer", "agent_id": "a1", "session_id": "s1"}, workspace)
    answer_event(name, params, workspace)
    return lambda: answer_event(name, params, workspace)


SCENARIOS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "task_add": task_add,
    "history_search": history_search,
    "pre_tool_use": pre_tool_use,
    "[plan] message": plan_message,
    "fixture": fixture,
}


def measure(name: str) -> Moves:
    """Serve the scenario once, warm, in a project of its own."""
    moves = Moves()
    with tempfile.TemporaryDirectory() as folder:
        serve = SCENARIOS[name](Path(folder).resolve())
        with moves.recorded():
            serve()
    return moves


def main(arguments: list[str]) -> int:
    print(f"{'scenario':<16} {'moves':>6} {'files':>6}")
    for name in arguments or SCENARIOS:
        moves = measure(name)
        print(f"{name:<16} {moves.count:>6} {moves.files:>6}")
        if arguments:
            for depth, file in moves.path:
                print(f"{'  ' * depth}{file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
