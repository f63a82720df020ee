"""The ways in which programs save a file. Each adds its token to the content that it finds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Step = Callable[[], None]
TOKEN = "save-%06d"


def added(path: Path, token: str) -> bytes:
    """Return the present content of the file with the token added, as an editor would that has just loaded it."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        text = ""
    if path.suffix != ".json":
        return f"{text}{token}\n".encode()
    value: dict[str, Any] = json.loads(text or _EMPTY[path.name])
    value[_ROWS[path.name]].append(_row(path.name, token, len(value[_ROWS[path.name]]) + 100))
    return json.dumps(value).encode()


def in_place(path: Path, token: str) -> list[Step]:
    """Truncate and write at once."""
    return [lambda: _write(path, added(path, token))]


def in_halves(path: Path, token: str) -> list[Step]:
    """Truncate at the first place, and write at the second one."""
    held: list[tuple[int, bytes]] = []

    def begin() -> None:
        data = added(path, token)
        held.append((os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), data))

    def end() -> None:
        fd, data = held.pop()
        os.write(fd, data)
        os.close(fd)

    return [begin, end]


def by_rename(path: Path, token: str) -> list[Step]:
    """Write another file and rename it."""

    def save() -> None:
        aside = _workspace(path) / "edited"
        _write(aside, added(path, token))
        os.replace(aside, path)

    return [save]


def by_backup(path: Path, token: str) -> list[Step]:
    """Move the old file away, then make a new one."""

    def save() -> None:
        data = added(path, token)
        if path.exists():
            os.replace(path, _workspace(path) / "backup")
        _write(path, data)

    return [save]


def dated_back(path: Path, token: str) -> list[Step]:
    """Replace the last token by another one of the same size in place, and restore the file's time."""

    def save() -> None:
        if not path.exists():
            _write(path, added(path, token))
            return
        data, seen = path.read_bytes(), path.stat()
        at = data.find(b"save-")
        data = added(path, token) if at < 0 else data[:at] + token.encode() + data[at + len(token) :]
        with path.open("r+b", buffering=0) as file:
            file.write(data)
            file.truncate(len(data))
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    return [save]


def removed(path: Path, token: str) -> list[Step]:
    """Remove the file, as `git clean` does: nothing is saved."""

    def remove() -> None:
        path.unlink(missing_ok=True)

    return [remove]


WAYS: dict[str, Callable[[Path, str], list[Step]]] = {
    way.__name__: way for way in (in_place, in_halves, by_rename, by_backup, dated_back, removed)
}
_ROWS = {"tasks.json": "tasks", "plan.json": "issues", "history.json": "cycles"}
_TIME = "2025-01-01T00:00:00.000Z"
_EMPTY = {
    "tasks.json": '{"goal": "", "decisions": [], "tasks": []}',
    "plan.json": json.dumps({"id": 7, "topic": "Edited", "issues": [], "created_at": _TIME}),
    "history.json": '{"cycles": []}',
}


def _row(name: str, token: str, number: int) -> dict[str, Any]:
    if name == "history.json":
        return {"completed_at": _TIME, "branch": token, "plan": None, "tasks": []}
    if name == "plan.json":
        return {"id": number, "title": token, "status": "pending"}
    return {"id": number, "title": token, "context": "c", "status": "pending", "deps": [], "created_at": _TIME}


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _workspace(path: Path) -> Path:
    """Return the project of the file, in which an editor puts its own temporary files."""
    return next(above.parent for above in path.parents if above.name == ".nexus")
