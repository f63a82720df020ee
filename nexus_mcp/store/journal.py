"""Changes of several files at once: all of them or none, also across a crash.

`state/txn.json` is the commit point. Once it is there the change happens: it is applied at once, or rolled forward by
whoever takes the lock next. It holds the new cycle with its time fixed and, for each file, a digest of the bytes before
and after and the bytes themselves, and what the operation log will say. Applying it twice does no harm.

Version 1 has a cycle and session files; version 2 has neither cycle nor answer, and perhaps artifacts. Each journal is
of the first version that can hold it, so that an older nexus-mcp can complete the closes of a newer one.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import JournalError, NewerJournal, StateError
from nexus_mcp.state import oplog, shapes
from nexus_mcp.store import history, places
from nexus_mcp.store.codec import JOURNAL_DEPTH, decode, encode
from nexus_mcp.workspace import DEFAULT_HARNESS_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

NAME = "txn.json"
SHOWN = f".nexus/state/{NAME}"
VERSION = 1
VERSION_WITHOUT_CYCLE = 2
HISTORY, SHOWN_HISTORY, HISTORY_LIMIT = history.NAME, history.SHOWN, history.LIMIT
SESSION_LIMIT = 64 << 20
_LONGEST_ID = 32  # it becomes part of file names, beside an artifact's of up to 200 bytes
DAMAGED_ADVICE = (
    "Some of the change may have been made, and what is missing of it (a cycle, the files of an undo) may be lost. See "
    "whether history.json, plan.json and tasks.json are as they should be; then move this file away yourself."
)


def record(
    cycle: dict[str, Any] | None,
    files: dict[str, tuple[bytes | None, bytes | None]],
    answer: dict[str, Any] | None,
    log_entry: oplog.Entry | None = None,
) -> dict[str, Any]:
    """A journal. `files` maps the path of each file to its bytes before and after (None: absent).

    `answer` is kept for a caller that comes back after a crash; None when the call's answer is not to be kept. The
    journal has the id of `log_entry`, which goes into the operation log once it was applied; one without it gets what
    can be told, as those of an older nexus-mcp do.
    """
    return {
        "version": VERSION_WITHOUT_CYCLE if cycle is None else VERSION,
        "id": log_entry["id"] if log_entry else os.urandom(8).hex(),
        "cycle": cycle,
        "files": [
            {
                "name": name,
                "before": digest(before),
                "after": digest(after),
                "content": None if after is None else after.decode(),
            }
            for name, (before, after) in files.items()
        ],
        "answer": answer,
        **({"log": log_entry} if log_entry else {}),
    }


def pending(state: Folder) -> dict[str, Any] | None:
    """The journal that waits in `state`, None when there is none. Raises JournalError when we cannot complete it."""
    try:
        data = state.read(NAME, HISTORY_LIMIT)
        if data is None:
            return None
        journal = decode(data, SHOWN, JOURNAL_DEPTH)
    except StateError as error:
        raise _damaged(error.problem, error.where) from error
    if is_ours(journal):
        return journal  # type: ignore[no-any-return]
    version = journal.get("version") if isinstance(journal, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION_WITHOUT_CYCLE:
        problem = "holds a change that was begun and is of a version that this nexus-mcp does not know"
        raise NewerJournal(SHOWN, problem, next_step="Complete it with the newer nexus-mcp that began it.")
    raise _damaged("is not a journal, or not what it was written as")


def _damaged(problem: str, where: str = "") -> JournalError:
    problem = f"is to hold a change that was begun, and {problem}"
    return JournalError(SHOWN, problem, where=where, next_step=DAMAGED_ADVICE)


def is_id(value: Any) -> bool:
    """Whether `value` may be the id of a journal. It becomes part of file names."""
    return isinstance(value, str) and value.isascii() and value.isalnum() and len(value) <= _LONGEST_ID


def is_ours(journal: Any) -> bool:
    """Whether a parsed value is a journal that we can complete."""
    if not isinstance(journal, dict) or isinstance(journal.get("version"), bool):
        return False
    files = journal.get("files")
    return (
        is_id(journal.get("id"))
        and "answer" in journal
        and isinstance(journal["answer"], (dict, type(None)))
        and isinstance(files, list)
        and all(isinstance(f, dict) and isinstance(f.get("name"), str) for f in files)
        and all({"before", "after", "content"} <= f.keys() for f in files)
        and all(isinstance(f["content"], (str, type(None))) for f in files)
        # What a disk has spoilt within a content would otherwise be written as it is.
        and all(f["after"] == digest(content_of(f)) for f in files)
        and (_has_cycle(journal) or _has_none(journal))
    )


def _has_cycle(journal: dict[str, Any]) -> bool:
    return (
        journal.get("version") == VERSION
        and shapes.is_cycle(journal.get("cycle"))
        and all(file["name"] in places.SESSION for file in journal["files"])
    )


def _has_none(journal: dict[str, Any]) -> bool:
    return (
        journal.get("version") == VERSION_WITHOUT_CYCLE
        and journal.get("cycle", ...) is None
        and journal["answer"] is None
        and oplog.is_entry(journal.get("log"))
        and all(places.is_place(file["name"]) for file in journal["files"])
    )


def log_entry(journal: dict[str, Any]) -> oplog.Entry:
    """What the operation log says of a journal that was read from disk; little where an older nexus-mcp wrote it."""
    carried = journal.get("log")
    if oplog.is_entry(carried):
        return carried
    files = [oplog.left(f["name"], content_of(f)) for f in journal["files"]]
    at = journal["cycle"]["completed_at"]
    return oplog.entry(journal["id"], at, oplog.By(oplog.UNKNOWN, DEFAULT_HARNESS_ID, ""), files, cycle=at)


def content_of(file: dict[str, Any]) -> bytes | None:
    """What a file of a journal is to hold, None for no file."""
    return None if file["content"] is None else _bytes(file["content"])


def _bytes(content: str) -> bytes:
    return content.encode("utf-8", "backslashreplace")


def encoded(journal: dict[str, Any]) -> bytes:
    """The journal's own bytes."""
    return encode(journal)


def digest(data: bytes | None) -> str | None:
    """`sha256:` and the hexadecimal digest of `data`; None for None."""
    if data is None:
        return None
    import hashlib

    return f"sha256:{hashlib.sha256(data).hexdigest()}"
