"""Changes of several files at once: all of them or none, also across a crash.

`state/txn.json` is the commit point. Once it is there the change happens: it is applied at once, or rolled forward by
whoever takes the lock next. It holds the new cycle with its time fixed and, for each session file, a digest of the
bytes before and after and the bytes themselves. Applying it twice does no harm.
"""

from __future__ import annotations

import os

from nexus_mcp import log
from nexus_mcp.errors import JournalError, StateError
from nexus_mcp.state import shapes
from nexus_mcp.store import atomic
from nexus_mcp.store.codec import JOURNAL_DEPTH, decode, encode
from nexus_mcp.store.history_file import HistoryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nexus_mcp.store.folder import Folder

NAME = "txn.json"
SHOWN = f".nexus/state/{NAME}"
VERSION = 1
HISTORY = "history.json"
SHOWN_HISTORY = ".nexus/history.json"
SESSION_LIMIT = 64 << 20
HISTORY_LIMIT = 512 << 20


def record(
    cycle: dict[str, Any], files: dict[str, tuple[bytes | None, bytes | None]], answer: dict[str, Any] | None
) -> dict[str, Any]:
    """A journal. `files` maps each session file's name to its bytes before and after (None: absent).

    `answer` is kept for a caller that comes back after a crash; None when the call's answer is not to be kept.
    """
    return {
        "version": VERSION,
        "id": os.urandom(8).hex(),
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
    }


def pending(state: Folder) -> dict[str, Any] | None:
    """The journal that waits in `state`, None when there is none. Raises JournalError when we cannot complete it."""
    data = state.read(NAME, HISTORY_LIMIT)
    if data is None:
        return None
    try:
        journal = decode(data, SHOWN, JOURNAL_DEPTH)
    except StateError as error:
        raise _foreign(error.problem, error.where) from error
    if is_ours(journal):
        return journal  # type: ignore[no-any-return]
    version = journal.get("version") if isinstance(journal, dict) else None
    known = version == VERSION or version is None
    raise _foreign("is not a journal" if known else "is of a version that this nexus-mcp does not know")


def _foreign(problem: str, where: str = "") -> JournalError:
    return JournalError(
        SHOWN,
        f"holds a change that was begun and {problem}",
        where=where,
        next_step="Complete it with the nexus-mcp that began it (perhaps a newer one), then call again.",
    )


def is_ours(journal: Any) -> bool:
    """Whether a parsed value is a journal of this version."""
    if not isinstance(journal, dict) or isinstance(journal.get("version"), bool) or journal.get("version") != VERSION:
        return False
    files = journal.get("files")
    return (
        isinstance(journal.get("id"), str)
        and journal["id"].isalnum()
        and shapes.is_cycle(journal.get("cycle"))
        and "answer" in journal
        and isinstance(journal["answer"], (dict, type(None)))
        and isinstance(files, list)
        and all(isinstance(f, dict) and f.get("name") in ("plan.json", "tasks.json") for f in files)
        and all({"before", "after", "content"} <= f.keys() for f in files)
        and all(isinstance(f["content"], (str, type(None))) for f in files)
    )


def apply(
    nexus: Folder,
    state: Folder,
    journal: dict[str, Any],
    history: HistoryFile | None,
    prepared: Mapping[str, str],
) -> None:
    """Bring the files to where `journal` says, from wherever a crash (or git) left them.

    `history` is the file as it is now, when the caller has just read it under the lock. `prepared` are temporary files
    that hold the new bytes already, by the name they are for. The journal itself stays. Raises OSError, Unsynced or a
    NexusError; then it can be applied again later.
    """
    if history is None:
        history = HistoryFile(nexus.read(HISTORY, HISTORY_LIMIT))
    if history.has(journal["cycle"]):
        # Perhaps by a rename that was never confirmed: the only other copies go in the next step.
        atomic.confirm(nexus)
    else:
        shapes.check_writable(history.members, SHOWN_HISTORY)
        temporary = prepared.get(HISTORY) or atomic.prepare(
            nexus, history.with_cycle(journal["cycle"]), nexus.permissions(HISTORY)
        )
        atomic.install(nexus, temporary, HISTORY)
    for entry in journal["files"]:
        _apply_file(state, entry, journal["id"], prepared.get(entry["name"]))
    atomic.confirm(state)


def _apply_file(state: Folder, entry: dict[str, Any], journal_id: str, temporary: str | None) -> None:
    name = entry["name"]
    found = state.read(name, SESSION_LIMIT)
    seen = digest(found)
    if seen == entry["after"]:
        return
    if found is not None and seen != entry["before"]:
        # Somebody without our lock changed it in between. Both are kept: theirs under another name.
        _set_aside(state, f"conflict-{journal_id}-{name}", found)
    if entry["content"] is None:
        state.unlink(name)
    elif temporary is not None:
        atomic.install(state, temporary, name)
    else:
        atomic.replace(state, name, [entry["content"].encode("utf-8", "backslashreplace")])


def _set_aside(state: Folder, name: str, data: bytes) -> None:
    kept = state.read(name, SESSION_LIMIT)
    number = 1
    while kept is not None and kept != data:
        number += 1
        stem = name.removesuffix(".json").rsplit(".", 1)[0]
        name = f"{stem}.{number}.json"
        kept = state.read(name, SESSION_LIMIT)
    if kept is None:
        atomic.replace(state, name, [data])
    log.warning(f"{state.show(name)} keeps what another program wrote during a change that was interrupted")


def encoded(journal: dict[str, Any]) -> bytes:
    """The journal's own bytes."""
    return encode(journal)


def digest(data: bytes | None) -> str | None:
    """`sha256:` and the hexadecimal digest of `data`; None for None."""
    if data is None:
        return None
    import hashlib

    return f"sha256:{hashlib.sha256(data).hexdigest()}"
