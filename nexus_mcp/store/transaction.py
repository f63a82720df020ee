"""Collect the reads and writes of one change under the lock; commit.py carries it out.

A change of one file is written without the journal. A change of several files, a change with a cycle or the record of
an idempotency key, and an undo are written through the journal.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.state import shapes, times
from nexus_mcp.store import journal, paths
from nexus_mcp.store.codec import Invalid, decode
from nexus_mcp.store.paths import PLAN, TASKS
from nexus_mcp.store.replacement import read
from nexus_mcp.store.session import KINDS

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Self

    from nexus_mcp.state.oplog import By, Entry, Line, Marks
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.append import Growth
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.history.memory import Memory
    from nexus_mcp.store.replacement import Original
    from nexus_mcp.store.session import Document, SessionCache


class Transaction:
    """The files as a change reads them, and the writes that it requests. Nothing is written here.

    `plan`, `tasks` and `history` are read and checked at first use, and raise StateError if they are malformed. For the
    operation log: `by` is the caller, `what` may be set to a few words about the change, `undoes` to the ids of the
    changes that it takes back; `completed` is the result of roll_forward. `originals` holds the files as they were
    read. `record` is the file that records an idempotency key: its path, its bytes before and after; None without a
    key. Use a transaction in `with`, which closes the history and, after an error, the originals.
    """

    def __init__(
        self,
        nexus: Folder | None,
        state: Folder | None,
        by: By,
        *,
        now: Callable[[], float],
        session: SessionCache,
        memory: Memory,
        recovered: Callable[[Archive], dict[str, Any] | None] | None = None,
        completed: Entry | None = None,
    ) -> None:
        self._nexus = nexus
        self._state = state
        self._session = session
        self._memory = memory
        self._now = now
        self._stamp = ""
        self._documents: dict[str, Document | None] = {}
        self._history: Archive | None = None
        self._recovered = recovered
        self.completed = completed
        self.originals: dict[str, Original] = {}
        self.writes: dict[str, tuple[bytes | None, bytes | None]] = {}
        self.marks: dict[str, Marks] = {}
        self.cycle: dict[str, Any] | None = None
        self.by = by
        self.what = ""
        self.undoes: list[str] | None = None
        self.record: tuple[str, bytes | None, bytes] | None = None

    @property
    def plan(self) -> dict[str, Any] | None:
        """Return plan.json, None if there is no plan."""
        return self._value(PLAN)

    @property
    def tasks(self) -> dict[str, Any] | None:
        """Return tasks.json, None if absent."""
        return self._value(TASKS)

    @property
    def files(self) -> dict[str, tuple[bytes | None, bytes | None]]:
        """Return path -> (old bytes, new bytes) of the files to be written: `writes`, and the record of a key."""
        if self.record is None:
            return self.writes
        name, before, after = self.record
        return {**self.writes, name: (before, after)}

    @property
    def history(self) -> Archive:
        """Return history.json; an absent one has no cycles."""
        if self._history is None:
            self._history = read_history(self._nexus, self._state, self._memory)
        return self._history

    def growth(self) -> Growth:
        """Return the history with the new cycle. Raise OSError."""
        from nexus_mcp.store.history.append import Growth

        assert self.cycle is not None
        return Growth(self.history, self.cycle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._history is not None:
            self._history.close()
        for original in self.originals.values() if error else ():
            original.close()

    def recovered_answer(self) -> dict[str, Any] | None:
        """Return the answer of a close whose client did not get it because of a crash, None if there is none.

        This process then holds the receipt, so that no other process returns this answer, too. Raise StateError if the
        history is malformed, PathRefused, StorageError.
        """
        history = self.history  # raises for a malformed history, even without a receipt
        return None if self._recovered is None else self._recovered(history)

    def stamp(self) -> str:
        """Return the time of this change, as the contract writes it."""
        if not self._stamp:
            self._stamp = times.stamp(self._now())
        return self._stamp

    def seconds(self) -> float:
        """Return the time now, in seconds since 1970."""
        return self._now()

    def put_artifact(self, name: str, data: bytes) -> None:
        """Request the content `data` for the artifact at the path `name`, whose folders may be missing. Raise the
        errors of reading the present file.
        """
        self.writes[name] = (self.current(name), data)

    def put(self, name: str, value: dict[str, Any], part: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Request `value` for the file `name`, where `fields` of a `part` (shapes.PLAN, ISSUE, TASK) are new.

        Return the value as the file will hold it, with its fields in the order of the schema.

        New data must fit the closed schema. Data of another harness may have more fields, but must have the fields that
        every reader needs. Raise NewerVersion; ValueError if the new data does not fit; StateError if the file would
        grow beyond the limit of readers, or hold a number with too many digits.
        """
        shown = f".nexus/state/{name}"
        before = self._document(name)
        shapes.check_change(value_of(before), shown, fields, part)
        try:
            after = self._session.compose(name, value)
        except Invalid as error:
            raise StateError(shown, "would hold a number with more digits than can be read back") from error
        if len(after.data) > journal.SESSION_LIMIT:
            raise StateError(
                shown,
                f"would grow beyond {journal.SESSION_LIMIT >> 20} MiB",
                next_step="Close this cycle with task_close and go on in a new one.",
            )
        self.writes[name] = (None if before is None else before.data, after.data)
        self.marks[name] = (None if before is None else before.mark), after.mark
        return after.value

    def log(self) -> list[Line]:
        """Return the operation log. Raise StateError, PathRefused, StorageError if it cannot be read."""

        from nexus_mcp.store import oplog  # imported late: start-up does not need it

        return oplog.read(self._state)

    def current(self, name: str) -> bytes | None:
        """Return the bytes of the file at the path `name` (paths.py), unchecked; None if absent."""
        return self._current(name)[0]

    def _current(self, name: str) -> tuple[bytes | None, bool]:
        """Return (the file's bytes, None if absent; whether its folder exists). The file is read once: a later call
        returns the same bytes, even if another program saved the file meanwhile.
        """
        if name not in self.originals:
            if self._state is None:
                return None, False
            with ExitStack() as stack:
                folder, last = (self._state, name) if name in KINDS else paths.find(stack, self._state, name)
                if folder is None:
                    return None, False
                self.originals[name] = read(folder, last, journal.SESSION_LIMIT)
        data = self.originals[name].data
        return (None if data is ... else data), True  # session files and artifacts are read whole

    def restore(self, name: str, data: bytes | None) -> None:
        """Request the old content `data` for the file at the path `name`, or its removal if `data` is None.

        Raise NewerVersion, StateError if the old or the present content is malformed, and StorageError if `data` is not
        None and the folder is missing.
        """
        shown = f".nexus/state/{name}"
        if name in KINDS:
            value = self._value(name)
            if value is not None:
                shapes.check_writable(value, shown)
            if data is not None:
                shapes.check_writable(shapes.check(decode(data, shown), KINDS[name].schema, shown), shown)
        before, has_folder = self._current(name)
        if data is not None and not has_folder:
            # The folder existed when the file was last written. It is not created again: the same undo may restore a
            # file with the name of the folder.
            raise StorageError(shown, "write", "its folder is gone")
        self.marks.pop(name, None)
        self.writes[name] = (before, data)

    def delete(self, name: str) -> bool:
        """Request the removal of plan.json or tasks.json; return whether it exists. Raise NewerVersion, and the errors
        of reading the file.
        """
        value = self._value(name)
        if value is None:
            return False
        shapes.check_writable(value, f".nexus/state/{name}")
        self.marks.pop(name, None)
        self.writes[name] = (self._current(name)[0], None)
        return True

    def append(self, cycle: dict[str, Any]) -> None:
        """Request a new cycle in history.json. Raise NewerVersion, ValueError if the cycle breaks its schema, and the
        errors of `read_history`.
        """
        shapes.check_writable(self.history.version, journal.SHOWN_HISTORY)
        envelope = {**cycle, "plan": None, "tasks": []}
        shapes.check_new(envelope, shapes.part(shapes.CYCLE), "cycle")
        self.cycle = {
            **cycle,
            "plan": shapes.order(cycle["plan"], shapes.part(shapes.PLAN)),
            "tasks": [shapes.order(task, shapes.part(shapes.TASK)) for task in cycle["tasks"]],
        }

    def entry(self) -> Entry:
        """Return the entry of the change for the operation log."""
        from nexus_mcp.state import oplog  # imported late: start-up does not need it

        cycle = None if self.cycle is None else self.cycle["completed_at"]
        about = (os.urandom(8).hex(), self.stamp(), self.by, self.writes, self.marks)
        return oplog.entry_of(*about, what=self.what, cycle=cycle, undoes=self.undoes)

    def _value(self, name: str) -> dict[str, Any] | None:
        return value_of(self._document(name))

    def _document(self, name: str) -> Document | None:
        if name not in self._documents:
            document = self._documents[name] = self._session.parse(name, self.current(name))
            if document is not None and document.mark is not None:
                self.originals[name].checksum = document.mark["crc32"]
        return self._documents[name]


def value_of(document: Document | None) -> dict[str, Any] | None:
    """Return the value of the document; None without a document."""
    return None if document is None else document.value


def read_history(nexus: Folder | None, state: Folder | None, memory: Memory) -> Archive:
    """Return the present history.json; the caller closes it. Raise StateError, PathRefused, StorageError."""
    from nexus_mcp.store.history.archive import Archive  # imported late: start-up does not need it

    return Archive(nexus, state, memory)
