"""Change several files at once: all of them or none, also across a crash.

The commit point is the moment when the journal, `state/txn.json`, is on disk. From then on the change is certain: this
process applies the journal at once, or the next lock holder rolls it forward. The journal holds the new cycle with its
final time, if there is one, and the entry of the operation log, if it could be made. For each file it holds a digest of
the bytes before and after, and the new bytes. Applying a journal twice does no harm.

Version 1 has a cycle and session files. Version 2 has neither cycle nor answer, and may have artifacts. Version 3 has
the record of an idempotency key, with or without a cycle, and no answer. A journal gets the lowest version that can
describe its change, so that an older nexus-mcp can complete the closes of a newer one.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress

from nexus_mcp import log
from nexus_mcp.errors import JournalError, NewerJournal, NexusError, NotAppliedYet, StateError, StorageError
from nexus_mcp.state import oplog, shapes
from nexus_mcp.store import atomic, conflicts, history, paths
from nexus_mcp.store.codec import JOURNAL_DEPTH, decode, encode_utf8
from nexus_mcp.store.folder import reason
from nexus_mcp.store.replacement import ChangedMeanwhile, Replacement, read, retry
from nexus_mcp.workspace import DEFAULT_HARNESS_ID

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from nexus_mcp.state.oplog import Entry
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.append import Growth
    from nexus_mcp.store.replacement import Original

    Prepared = Mapping[str, tuple[str, Original | None]]
    """The path of a file -> (the temporary file that holds its new bytes, the file as the change read it)."""

NAME = "txn.json"
RECEIPT_PREFIX = "closed-"
SHOWN = f".nexus/state/{NAME}"
VERSION = 1
VERSION_WITHOUT_CYCLE = 2
VERSION_WITH_RECORD = 3
HISTORY, SHOWN_HISTORY, HISTORY_LIMIT = history.NAME, history.SHOWN, history.LIMIT
SESSION_LIMIT = 64 << 20
_LONGEST_ID = 32  # part of file names, together with an artifact's name of up to 200 bytes
DAMAGED_ADVICE = (
    "Some of the change may have been made, and the rest (a cycle, the files of an undo) may be lost. Check that "
    "history.json, plan.json and tasks.json are as they should be; then move this file away yourself."
)


def record(
    cycle: dict[str, Any] | None,
    files: dict[str, tuple[bytes | None, bytes | None]],
    answer: dict[str, Any] | None,
    log_entry: oplog.Entry | None = None,
) -> dict[str, Any]:
    """Return a journal. `files` maps the path of each file to its bytes before and after (None: absent).

    `answer` is stored for a client that retries after a crash; None if it is not needed. The journal has the id of
    `log_entry`, which is added to the operation log after the change is applied. Without a `log_entry` the journal has
    a random id, and the function `log_entry` later makes an entry from the known facts.
    """
    version = VERSION_WITHOUT_CYCLE if cycle is None else VERSION
    return {
        "version": VERSION_WITH_RECORD if any(map(paths.is_record, files)) else version,
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


def read_pending(state: Folder) -> dict[str, Any] | None:
    """Return the journal in `state`, None if there is none. Raise JournalError if this version cannot complete it,
    PathRefused, StorageError.
    """
    try:
        data = state.read(NAME, HISTORY_LIMIT)
        if data is None:
            return None
        journal = decode(data, SHOWN, JOURNAL_DEPTH)
    except StateError as error:
        raise _damage_error(error.problem, error.where) from error
    if is_ours(journal):
        return journal  # type: ignore[no-any-return]
    version = journal.get("version") if isinstance(journal, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION_WITH_RECORD:
        problem = "holds an unfinished change in a version that this nexus-mcp does not know"
        raise NewerJournal(SHOWN, problem, next_step="Complete it with the newer nexus-mcp that began it.")
    raise _damage_error("is not a journal, or was changed after it was written")


def _damage_error(problem: str, where: str = "") -> JournalError:
    problem = f"should hold a pending change, but {problem}"
    return JournalError(SHOWN, problem, where=where, next_step=DAMAGED_ADVICE)


def is_id(value: Any) -> bool:
    """Return whether `value` may be the id of a journal. It becomes part of file names."""
    return isinstance(value, str) and value.isascii() and value.isalnum() and len(value) <= _LONGEST_ID


def is_ours(journal: Any) -> bool:
    """Return whether a parsed value is a journal that this version can complete."""
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
        # Otherwise content that the disk has corrupted would be written.
        and all(f["after"] == digest(content_of(f)) for f in files)
        and (_has_cycle(journal) or _has_none(journal) or _has_record(journal))
    )


def _has_cycle(journal: dict[str, Any]) -> bool:
    return (
        journal.get("version") == VERSION
        and shapes.is_cycle(journal.get("cycle"))
        and all(file["name"] in paths.SESSION for file in journal["files"])
    )


def _has_none(journal: dict[str, Any]) -> bool:
    return (
        journal.get("version") == VERSION_WITHOUT_CYCLE
        and journal.get("cycle", ...) is None
        and journal["answer"] is None
        and oplog.is_entry(journal.get("log"))
        and all(paths.is_place(file["name"]) for file in journal["files"])
    )


def _has_record(journal: dict[str, Any]) -> bool:
    cycle, names = journal.get("cycle", ...), [file["name"] for file in journal["files"]]
    others = [name for name in names if not paths.is_record(name)]
    return (
        journal.get("version") == VERSION_WITH_RECORD
        and journal["answer"] is None
        and len(names) - len(others) == 1
        and all(map(paths.is_place, others))
        and (oplog.is_entry(journal.get("log")) if cycle is None else shapes.is_cycle(cycle))
    )


def log_entry(journal: dict[str, Any]) -> oplog.Entry:
    """Return the operation log entry of a journal. For a journal without a valid one, such as a journal of an older
    nexus-mcp, make an entry without the old content of the files.
    """
    carried = journal.get("log")
    if oplog.is_entry(carried):
        return carried
    changed = [file for file in journal["files"] if not paths.is_record(file["name"])]
    files = [oplog.file_after(f["name"], content_of(f)) for f in changed]
    at = journal["cycle"]["completed_at"]
    return oplog.entry(journal["id"], at, oplog.By(oplog.UNKNOWN, DEFAULT_HARNESS_ID, ""), files, cycle=at)


def receipt_name(id_: str) -> str:
    """Return the file name of the receipt (close_receipt.py) of the close whose journal has the id `id_`."""
    return f"{RECEIPT_PREFIX}{id_}.json"


def content_of(file: dict[str, Any]) -> bytes | None:
    """Return the new content of a file of a journal, None if the change removes the file."""
    return None if file["content"] is None else encode_utf8(file["content"])


def digest(data: bytes | None) -> str | None:
    """Return `sha256:` and the hexadecimal digest of `data`; None if `data` is None."""
    if data is None:
        return None
    import hashlib

    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def apply(nexus: Folder, state: Folder, change: dict[str, Any], growth: Growth | None, prepared: Prepared) -> list[str]:
    """Add the cycle of the journal `change`, and write its files. Return the names of copies of files that other
    programs saved meanwhile.

    `growth` is the history with the cycle, as it was prepared under the same lock; None without a cycle. After a crash
    `growth` is None too, and `prepared` is empty. The journal itself stays. Raise OSError, SyncFailed or a NexusError;
    then the journal can be applied again later.
    """
    if change["cycle"] is not None:
        _apply_cycle(nexus, state, change["cycle"], growth, prepared.get(HISTORY, ("", None))[0])
    kept: list[str] = []
    for file in change["files"]:
        with ExitStack() as stack:
            # A missing folder is created for new content, not for a removal.
            gone = file["content"] is None
            place = paths.find(stack, state, file["name"])
            folder, name = place if gone or place[0] else paths.make(stack, state, file["name"], [])
            if folder is not None:
                if folder is not state and not prepared:
                    conflicts.sweep(folder)  # temporary files of a dead process
                kept += _apply_prepared(folder, name, file, change["id"], prepared.get(file["name"]))
                if folder is not state:
                    atomic.confirm(folder)
    atomic.confirm(state)
    return kept


def _apply_prepared(
    folder: Folder, name: str, file: dict[str, Any], id_: str, prepared: tuple[str, Original | None] | None
) -> list[str]:
    """Install the prepared file; without one, or if that raises ChangedMeanwhile, call `_apply_file` through `retry`.
    Return the name of the copy of another program's save, as a list; [] without a copy. Raise ChangedMeanwhile if the
    last try fails, too.
    """
    if prepared is not None and prepared[1] is not None:
        try:
            replacement = Replacement(folder, name, prepared[1], id_)
            replacement.install(prepared[0], content_of(file))
            return [replacement.copy] * bool(replacement.copy)
        except ChangedMeanwhile:
            pass
    return retry(lambda: _apply_file(folder, name, file, id_))


def _apply_file(folder: Folder, name: str, file: dict[str, Any], id_: str) -> list[str]:
    found = read(folder, name, SESSION_LIMIT)
    seen = digest(found.content())
    if seen == file["after"]:
        return []
    if found.data is not None and seen != file["before"]:
        found.disown()  # a program without our lock changed the file: keep its save under another name
    content = content_of(file)
    replacement = Replacement(folder, name, found, id_)
    replacement.install("" if content is None else replacement.prepare(content), content)
    return [replacement.copy] * bool(replacement.copy)


def _apply_cycle(nexus: Folder, state: Folder, cycle: dict[str, Any], growth: Growth | None, temporary: str) -> None:
    if growth is not None and temporary:
        if growth.is_current() and _is_installed(growth, temporary):
            return
        nexus.unlink(temporary)  # git, for example, has written another history: add the cycle to that one
    retry(lambda: _append(nexus, state, cycle))


def _is_installed(growth: Growth, temporary: str) -> bool:
    try:
        growth.install(temporary)
    except ChangedMeanwhile:
        return False
    return True


def _append(nexus: Folder, state: Folder, cycle: dict[str, Any]) -> None:
    from nexus_mcp.store.history.append import Growth
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.history.memory import Memory

    with Archive(nexus, state, Memory()) as past:
        if past.has(cycle):
            # The rename of history.json may not be on disk yet, and the plan and the tasks are deleted next.
            atomic.confirm(nexus)
            return
        shapes.check_writable(past.version, SHOWN_HISTORY)
        growth = Growth(past, cycle)
        growth.install(growth.prepare())


_DISK_ADVICE = "Check the free space and the permissions of .nexus, then call again."


class JournalGone(NotAppliedYet):
    """The commit point was passed, a later step failed, and the journal was removed: no call can complete the
    change.
    """

    LOOK = (
        "Check the state before you repeat the call: history_search shows whether the cycle was added, plan_status and "
        "task_list show what is open. Find out what removes files below .nexus (git clean, a script)."
    )

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.fault = self.message = (
            f"The change was recorded in {path}, but something removed that file before the change was complete: "
            f"{reason}. Some of the change may be made, the rest may be lost."
        )
        self.next_step = self.LOOK


def roll_forward(nexus: Folder, state: Folder) -> Entry | None:
    """Complete the change in the journal, if there is one. Needs the lock. Raise JournalError, PathRefused,
    StorageError.

    The completed change belongs to an earlier call, not to the caller. For a change without a cycle, return its entry
    of the operation log, which shows whether the change was an undo; else None.
    """
    entry = read_pending(state)
    if entry is None:
        return None
    from nexus_mcp.store import oplog

    left = _find_removable(nexus, state)
    try:
        _confirm_journal(state)
        # The process that made the change may have added the entry before it died.
        finish(nexus, state, entry, lambda: oplog.skip_if_logged(state, log_entry(entry)))
    except NotAppliedYet as error:
        cause = error.__cause__
        if isinstance(error, JournalGone):
            raise JournalError(
                SHOWN,
                f"held an earlier change that could not be completed ({error.reason}), and was removed",
                next_step=error.LOOK,
            ) from error
        raise JournalError(
            SHOWN,
            f"holds an earlier change that could not be completed ({error.reason})",
            next_step=cause.next_step if isinstance(cause, NexusError) else _DISK_ADVICE,
        ) from error
    for folder, name in left:
        with suppress(OSError):  # a temporary file of a dead process is harmless
            folder.unlink(name)
    return entry["log"] if entry["cycle"] is None else None


def _find_removable(*folders: Folder) -> list[tuple[Folder, str]]:
    """Return (folder, name) of each removable temporary file. Call this before the recovery writes: is_removable
    compares a temporary file also with the file that it was to replace.

    A file that another program saved is kept as a copy. Never raises: the next sweep checks the rest.
    """
    found = []
    try:
        for folder in folders:
            for name in folder.names():
                if name.startswith(atomic.PREFIX) and conflicts.is_removable(folder, name):
                    found.append((folder, name))
    except StorageError as error:
        log.warning(error.fault)
    return found


def _confirm_journal(state: Folder) -> None:
    """Sync the journal's name, because the process that wrote the journal may have died before the sync. Otherwise a
    power cut could keep a part of the change, but not the journal.

    Raise NotAppliedYet.
    """
    try:
        atomic.confirm(state)
    except atomic.SyncFailed as error:
        raise NotAppliedYet(SHOWN, reason(error.cause)) from error


def finish(
    nexus: Folder,
    state: Folder,
    entry: dict[str, Any],
    make_entry: Callable[[], Entry | None],
    *,
    growth: Growth | None = None,
    prepared: Prepared | None = None,
) -> None:
    """Apply the journal `entry`, which is on disk, then remove it, or rename it to the receipt of its answer.

    The entry that `make_entry` returns goes into the operation log while the journal is still there: if this process
    dies before that, the next lock holder adds the entry. If `make_entry` returns None, no entry is added. `growth` and
    `prepared` as for `apply`. Raise NotAppliedYet.
    """
    from nexus_mcp.store import oplog

    is_applied = False
    try:
        kept = apply(nexus, state, entry, growth, prepared or {})
        is_applied = True
        note = oplog.note if entry["cycle"] is None else oplog.note_cycle
        note(state, make_entry, kept)
        if entry["answer"] is None:
            atomic.remove(state, NAME)
        else:
            _keep_answer(state, entry["id"])
    except atomic.SyncFailed as error:
        raise _unfinished_error(state, is_applied, reason(error.cause)) from error
    except OSError as error:
        raise _unfinished_error(state, is_applied, reason(error)) from error
    except (ImportError, MemoryError) as error:  # a module that is loaded only now, or a lack of memory or descriptors
        raise _unfinished_error(state, is_applied, str(error) or type(error).__name__) from error
    except NexusError as error:
        raise _unfinished_error(state, is_applied, error.fault) from error


def _unfinished_error(state: Folder, is_applied: bool, problem: str) -> NotAppliedYet:  # noqa: FBT001
    """Return the error for an incomplete change: JournalGone if the journal was removed before the change was applied,
    or its folder at any time; else NotAppliedYet.
    """
    try:
        there = state.is_current() and (is_applied or state.look(NAME) is not None)
    except StorageError:  # unknown: assume that the journal is there
        there = True
    return (NotAppliedYet if there else JournalGone)(SHOWN, problem)


def _keep_answer(state: Folder, id_: str) -> None:
    """Rename the journal to the receipt of its answer. A removed journal is no error, because the change was applied
    before; a removed folder is one. Raise OSError, SyncFailed.
    """
    try:
        state.rename(NAME, receipt_name(id_))
    except FileNotFoundError:
        if not state.is_current():
            raise
        log.warning(f"{SHOWN} was removed by another program; the change it held was carried out before")
    atomic.confirm(state)
