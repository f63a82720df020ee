"""A project folder that is made anew for each corrupt file, and calls in it whose changes are recorded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.server.app import App
from nexus_mcp.store.history import cache
from nexus_mcp.workspace import Workspace
from tests.events import handle
from tests.reliability import long
from tests.support import Clock

Json = Any
Files = dict[str, bytes]

LOCK = "state/lock"  # no promise covers its content
ADVICE = "state/oplog.jsonl"  # a change may add a line to it, but need not
_INDEX = f"state/{cache.FOLDER}"


@dataclass(frozen=True)
class Done:
    """A call with its result (`error` is "" on success), and the files before and after it."""

    answer: Json
    error: str
    before: Files
    after: Files

    @property
    def changed(self) -> set[str]:
        """Return the paths below `.nexus` that have changed, without the lock."""
        paths = {*self.before, *self.after} - {LOCK}
        return {path for path in paths if self.before.get(path) != self.after.get(path)}


class Ground:
    """The project in this folder. Its clock stands still."""

    def __init__(self, root: Path) -> None:
        self.clock = Clock()
        self.workspace = Workspace(str(root), "nexus-mcp")
        self.app = App(self.workspace, now=self.clock)
        self._nexus = str(root / ".nexus")
        self._known: Files = {}

    def lay(self, files: Files) -> None:
        """Replace everything below `.nexus` by these files."""
        there = self.files()
        for path in there.keys() - files.keys():
            os.unlink(f"{self._nexus}/{path}")
        for path, data in files.items():
            if there.get(path) != data:
                full = f"{self._nexus}/{path}"
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "wb") as file:
                    file.write(data)
        self._known = dict(files)

    def files(self) -> Files:
        """Return all files below `.nexus`, without the index of a long history, which several projects share."""
        found: Files = {}
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(f"{self._nexus}/{folder}"))
            except FileNotFoundError:
                continue
            for entry in entries:
                if folder + entry.name == _INDEX and long.is_on():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{entry.name}/")
                else:
                    with open(entry.path, "rb") as file:
                        found[folder + entry.name] = file.read()
        return found

    def call(self, tool: str, *, deliver: bool = True, **arguments: Json) -> Done:
        """Call a tool. `deliver=False`: the process dies before it writes the answer."""
        answer = self.app.call(tool, arguments)
        if deliver:
            answer.confirm_delivery()
        else:
            answer.drop_delivery()
        content = answer.result["structuredContent"]
        return self._done(content, content["error"] if answer.result["isError"] else "")

    def event(self, name: str, **params: Json) -> Done:
        """Run a lifecycle event."""
        try:
            answer = handle(name, params, self.workspace, self.clock)
        except NexusError as error:
            return self._done(None, str(error) or "an error without a text")
        except Exception as error:  # noqa: BLE001 - the caller reports it with the file that causes it
            return self._done(None, f"Internal error: {error!r}")
        return self._done(answer, "")

    def _done(self, answer: Json, error: str) -> Done:
        before, self._known = self._known, self.files()
        return Done(answer, error, before, self._known)
