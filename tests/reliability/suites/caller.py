"""Call the tools of a server, and undo as the command line does, within this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.server.app import Answer, App
from nexus_mcp.state.oplog import UNDO, By
from nexus_mcp.store.store import Store, undo
from nexus_mcp.workspace import Workspace
from tests.support import Clock


class Failed(Exception):
    """A call that has to succeed was answered with an error."""


class Caller:
    """A simulated process that works in the project at `root`, with the clock `now`."""

    def __init__(self, root: Path, now: Clock | None = None) -> None:
        self._workspace = Workspace(str(root))
        self._now = now or Clock()
        self._app = App(self._workspace, now=self._now)

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool, or "undo" with its `count`; return the answer, which has the same form for both."""
        if tool != UNDO:
            return self._app.call(tool, arguments)
        by = By(UNDO, self._workspace.harness_id, "proof")
        try:
            done = undo(Store(self._workspace, self._now), by, arguments["count"])
        except NexusError as error:
            return Answer({"error": str(error)}, is_error=True)
        return Answer({"files": done["files"]}, is_error=False)


def content(answer: Answer, tool: str) -> Any:
    """Return the structured content of the response. Raise Failed."""
    if answer.result["isError"]:
        raise Failed(f"{tool} fails: {answer.result['structuredContent']['error']}")
    return answer.result["structuredContent"]


def called(root: Path, tool: str, /, **arguments: Any) -> Any:
    """Call the tool in a new simulated process, deliver the response, and return its content. Raise Failed."""
    answer = Caller(root).call(tool, arguments)
    answer.confirm_delivery()
    return content(answer, tool)
