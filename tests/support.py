"""Helpers of the contract tests: a project on disk, a fixed clock, a client that checks every answer.

The names of the tools come from the table TOOLS; the client drives any object with the `call` of
`nexus_mcp.server.app.App`.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nexus_mcp.tools import TOOLS

if TYPE_CHECKING:
    from nexus_mcp.server.app import Answer, App

Json = Any  # a JSON value; tests compare whole values

LOCK = ".nexus/state/lock"
OPLOG = ".nexus/state/oplog.jsonl"
NAMES = tuple(tool.name for tool in TOOLS)
# An order in which the smallest call of each tool succeeds: after the close nothing can be changed.
IN_ORDER = (*(name for name in NAMES if name != "task_close"), "task_close")
READ_ONLY = {tool.name for tool in TOOLS if tool.read_only}


def _smallest(schema: dict[str, Json]) -> Json:
    """Return a value that the schema of a parameter allows."""
    plain = {"string": "text", "integer": 1, "array": [], "object": {}, "boolean": True}
    return schema["enum"][0] if "enum" in schema else plain[schema["type"]]


# Tool → the arguments of its smallest call: derived from its schema, except for calls that need a certain value.
SMALLEST: dict[str, dict[str, Json]] = {
    **{tool.name: {name: _smallest(tool.parameters[name]) for name in tool.required} for tool in TOOLS},
    "plan_start": {"topic": "Topic", "issues": ["First"], "research_summary": "Known"},
    "plan_update": {"action": "add", "title": "Another"},
    "task_update": {"id": 1, "status": "completed"},
    "artifact_write": {"filename": "note.md", "content": "text"},
}


def compact(value: Json) -> str:
    """Return the text form of an answer: no spaces, non-ASCII unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pretty(value: Json) -> bytes:
    """Return the bytes of a state file: indented by two spaces, non-ASCII unescaped, one newline at the end."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


class Clock:
    """A clock in milliseconds since 1970 that only the test moves. Steps of 1/8 s are exact as floats."""

    def __init__(self, ms: int = 1_767_323_045_250) -> None:
        self.ms = ms

    def __call__(self) -> float:
        return self.ms / 1000

    def advance(self, ms: int = 125) -> None:
        self.ms += ms

    def stamp(self, offset: int = 0) -> str:
        return stamp(self.ms + offset)


def stamp(ms: int) -> str:
    """Return the contract's timestamp for a time in milliseconds."""
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


class Project:
    """A project folder under the test's own directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.nexus = root / ".nexus"
        self.state = self.nexus / "state"

    def put(self, path: str, content: bytes | str | Json) -> Path:
        """Write `path` below .nexus: bytes and text unchanged, any other value as a state file."""
        target = self.nexus / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogatepass")
        target.write_bytes(content if isinstance(content, bytes) else pretty(content))
        return target

    def get(self, path: str) -> bytes:
        return (self.nexus / path).read_bytes()

    def json(self, path: str) -> Json:
        return json.loads(self.get(path).decode("utf-8-sig"))

    def snapshot(self) -> dict[str, bytes | str]:
        """Return path below the root → bytes, link target or kind. No link is followed, and no FIFO opened."""
        seen: dict[str, bytes | str] = {}
        for folder, folders, files in os.walk(self.root):
            for name in (*folders, *files):
                full = Path(folder, name)
                mode = full.lstat().st_mode
                if stat.S_ISREG(mode):
                    content: bytes | str = full.read_bytes()
                elif stat.S_ISLNK(mode):
                    content = f"-> {os.readlink(full)}"
                else:
                    content = "folder" if stat.S_ISDIR(mode) else "other"
                seen[full.relative_to(self.root).as_posix()] = content
        return seen


def without_lock(files: dict[str, bytes | str]) -> dict[str, bytes | str]:
    """Return the snapshot without the lock file, whose content no rule covers."""
    return {path: content for path, content in files.items() if path != LOCK}


def without_own(files: dict[str, bytes | str]) -> dict[str, bytes | str]:
    """Return the snapshot without the files that only this server uses: the lock and the operation log."""
    return {path: content for path, content in files.items() if path not in (LOCK, OPLOG)}


class Client:
    """A client that calls tools, and checks in each answer the rules for all answers.

    `client("plan_status")` returns the structured content of a success, `client.error("plan_status")` the message of a
    failure. A failed call or a reading tool that changes a byte fails the test.
    """

    def __init__(self, app: App, project: Project, check: Callable[[str, Json], None] | None = None) -> None:
        self.app = app
        self.project = project
        self._check = check

    def __call__(self, tool: str, /, **arguments: Json) -> Json:
        return self.send(tool, arguments)

    def send(self, tool: str, arguments: dict[str, Json] | None, *, deliver: bool = True) -> Json:
        """Call a tool, assert success and return the structured content. `deliver=False`: the answer is lost."""
        before = self.project.snapshot()
        answer = self.app.call(tool, arguments)
        content = unpack(answer)
        assert answer.result["isError"] is False, content
        if deliver:
            answer.confirm_delivery()
        else:
            answer.drop_delivery()
        if tool in READ_ONLY:
            assert self.project.snapshot() == before, f"{tool} changed a file"
        if self._check is not None:
            self._check(tool, content)
        return content

    def error(self, tool: str, /, **arguments: Json) -> str:
        return self.refused(tool, arguments)

    def refused(self, tool: str, arguments: dict[str, Json] | None) -> str:
        """Call a tool, assert a refusal that changed nothing, and return its message."""
        before = without_lock(self.project.snapshot())
        answer = self.app.call(tool, arguments)
        content = unpack(answer)
        assert answer.result["isError"] is True, content
        assert set(content) == {"error"}, content
        message = content["error"]
        assert isinstance(message, str)
        assert message.strip()
        answer.confirm_delivery()
        after = without_lock(self.project.snapshot())
        assert after == before, f"a refused {tool} changed files: {changed(before, after)}"
        return message


def changed(before: dict[str, bytes | str], after: dict[str, bytes | str]) -> list[str]:
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def unpack(answer: Answer) -> Json:
    """Return the structured content of an answer, after checking that the text block equals it."""
    result = answer.result
    assert set(result) == {"content", "structuredContent", "isError"}
    content = result["structuredContent"]
    assert isinstance(content, dict)
    text = compact(content)
    assert result["content"] == [{"type": "text", "text": text}]
    text.encode()  # a lone surrogate never leaves the server
    return content


def issue(number: float, title: str, status: str = "pending", **more: Json) -> Json:
    return {"id": number, "title": title, "status": status, **more}


def task(
    number: float, title: str = "Do it", *, status: str = "pending", created_at: str = stamp(0), **more: Json
) -> Json:
    """A task as the file holds it, keys in schema order."""
    middle = {key: more.pop(key) for key in ("approach", "acceptance", "risk") if key in more}
    deps = more.pop("deps", [])
    rest = {
        key: more.pop(key) for key in ("plan_issue", "owner", "owner_agent_id", "owner_reuse_policy") if key in more
    }
    head = {"id": number, "title": title, "context": more.pop("context", "Because")}
    return {**head, **middle, "status": status, "deps": deps, **rest, "created_at": created_at, **more}


def plan(number: float = 1, topic: str = "Topic", issues: Json = None, **more: Json) -> Json:
    """Return a plan file, keys in schema order, with a research summary unless that is None."""
    summary = more.pop("research_summary", "Known")
    created_at = more.pop("created_at", stamp(0))
    found = [issue(1, "First")] if issues is None else issues
    middle = {} if summary is None else {"research_summary": summary}
    return {"id": number, "topic": topic, "issues": found, **middle, "created_at": created_at, **more}


def tasks(*items: Json, goal: str = "", decisions: Json = None) -> Json:
    return {"goal": goal, "decisions": decisions or [], "tasks": list(items)}


def cycle(plan_value: Json = None, *items: Json, at: str = stamp(0), branch: str = "main") -> Json:
    """A cycle as this project writes it."""
    return {"schema_version": "0.5", "completed_at": at, "branch": branch, "plan": plan_value, "tasks": list(items)}
