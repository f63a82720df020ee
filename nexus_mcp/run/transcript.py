"""Write transcript.jsonl of an attempt, in one neutral format for all harnesses.

The first line describes the first session. An entry `done` or `error` has the tokens that its session used so far.
Each further session of the attempt begins with an entry `session_info`, which has no parent: an entry whose parent is
not the entry before it begins a branch.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from typing import TYPE_CHECKING, Any

from nexus_mcp.run.run_folder import open_to_append, put_line
from nexus_mcp.state import times
from nexus_mcp.store.folder import close_fd

if TYPE_CHECKING:
    from nexus_mcp.run.drivers.definition import Output, SessionRequest
    from nexus_mcp.run.redaction import Redactor
    from nexus_mcp.store.folder import Folder

NAME = "transcript.jsonl"
VERSION = 3


class Transcript:
    """The transcript of an attempt, to which one more session adds its entries."""

    def __init__(  # noqa: PLR0917
        self, folder: Folder, request: SessionRequest, harness: str, task: int, project: str, redactor: Redactor
    ) -> None:
        """Open the file, and write the first entries of the session. Raise StorageError."""
        self._fd = open_to_append(folder, NAME)
        self._folder, self._redactor = folder, redactor
        self._parent: str | None = None
        about = {"harness": harness, "agent": request.agent, "task": task}
        name = request.resume or request.session
        if os.fstat(self._fd).st_size == 0:
            head = {"type": "session", "id": name, "version": VERSION, "timestamp": times.stamp(time.time())}
            self._put({**head, "cwd": request.folder, "project": project, **about})
        else:
            self._entry("session_info", session=name, resumed=bool(request.resume), **about)
        if request.model:
            self._entry("model_change", model=request.model)
        self._model = request.model
        self._used = [0, 0]
        self._entry("message", role="user", content=request.prompt)

    def add(self, output: Output) -> None:
        """Add the entry of an event of the harness, if it has one."""
        match output.kind:
            case "model" if output.text and output.text != self._model:
                self._model = output.text
                self._entry("model_change", model=output.text)
            case "text":
                self._entry("message", role="assistant", content=output.text)
            case "tool_start":
                call = {"type": "toolCall", "id": output.call, "name": output.text, "arguments": output.arguments or {}}
                self._entry("message", role="assistant", content=[call])
            case "tool_end":
                self._entry("message", role="tool_result", toolCallId=output.call, content=output.text)
            case "usage":
                self._used[0] += output.input
                self._used[1] += output.output
            case "error" | "done":
                used = dict(zip(("input", "output"), self._used, strict=True))
                self._entry("custom", name=output.kind, content=output.text, usage=used)

    def _entry(self, kind: str, **fields: object) -> None:
        id_ = secrets.token_hex(4)
        self._put({"type": kind, "id": id_, "parentId": self._parent, "timestamp": times.stamp(time.time()), **fields})
        self._parent = id_

    def _put(self, entry: dict[str, Any]) -> None:
        put_line(self._fd, self._folder, self._redactor.data(json.dumps(entry, ensure_ascii=True).encode()))

    def close(self) -> None:
        """Close the file."""
        close_fd(self._fd)
