"""Store the records of calls with an idempotency key in `.nexus/state/idempotency/`, in the same journal as the write.

So after a crash, either both the write and its record exist or neither of them. The digest of the key and its holder
selects one of FILES files: a call reads and writes one short file, and drops the expired records in it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from nexus_mcp.errors import UNCHANGED, NexusError, StateError
from nexus_mcp.state import idempotency as rules
from nexus_mcp.state import times
from nexus_mcp.store import paths
from nexus_mcp.store.codec import JOURNAL_DEPTH, compact, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.state.idempotency import KeyedCall, Record
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.transaction import Transaction

FILES = 64
LIMIT = 1 << 20
"""The maximum size of one file in bytes. One holder of keys, such as a token, may use half of it, so that
other holders have room, too.
"""
_VERSION = 1
_BEGIN, _BETWEEN, _END = f'{{"version":{_VERSION},"calls":[\n', ",\n", "\n]}\n"
_ADVICE = "Call again without a key, or later."


def read(change: Transaction, call: KeyedCall) -> list[Record]:
    """Return the records, without expired ones, of the file that the key selects; [] if the file is missing. Raise
    StateError, PathRefused, StorageError if it cannot be read.
    """
    name = _name(call)
    data = change.current(name)
    return [] if data is None else _current(data, f".nexus/state/{name}", change.seconds())


def keep(change: Transaction, call: KeyedCall, earlier: list[Record], answer: dict[str, Any]) -> None:
    """Add a record of the call to the `earlier` ones, to be written with the change. Raise NexusError if there is no
    room for it.
    """
    now = change.stamp()
    records = [*rules.not_after(earlier, now), rules.record_of(call, now, answer)]
    lines = [compact(record) for record in records]
    own = sum(len(line.encode()) for line, one in zip(lines, records, strict=True) if one["holder"] == call.holder)
    data = f"{_BEGIN}{_BETWEEN.join(lines)}{_END}".encode()
    if own > LIMIT // 2 or len(data) > LIMIT:
        is_large = len(lines[-1].encode()) > LIMIT // 2
        problem = (
            f"the answer is larger than {LIMIT >> 11} KiB"
            if is_large
            else "too many calls of the last 24 hours have a key"
        )
        raise NexusError(
            f"{rules.META_NAME} cannot be kept: {problem}",
            effect=UNCHANGED,
            next_step="Call again without a key." if is_large else _ADVICE,
        )
    change.record = (_name(call), change.current(_name(call)), data)


def remove_expired(state: Folder, now: float) -> None:
    """Check one random file, and remove it if all its records have expired. The caller holds the lock. Never raise."""
    with suppress(OSError, NexusError):
        folder = state.child(paths.IDEMPOTENCY)
        if folder is not None:
            with folder:
                name = _file_name(os.urandom(1)[0])
                info = folder.look(name)
                if info is None or info.st_mtime > now - rules.KEPT_S:
                    return
                data = folder.read(name, LIMIT)
                if data is not None and not _current(data, folder.show(name), now):
                    folder.unlink(name)


def _current(data: bytes, shown: str, now: float) -> list[Record]:
    """Return the records of a file that have not expired. Raise StateError."""
    value = decode(data, shown, JOURNAL_DEPTH) if len(data) <= LIMIT else None
    calls = value.get("calls") if isinstance(value, dict) and value.get("version") == _VERSION else None
    if not isinstance(calls, list) or not all(map(rules.is_record, calls)):
        raise StateError(
            shown,
            "should hold the idempotency keys of earlier calls, but does not",
            next_step="Call without a key, or move the file away yourself: the keys in it are forgotten then.",
        )
    return rules.kept_since(calls, times.stamp(now - rules.KEPT_S))


def _name(call: KeyedCall) -> str:
    return f"{paths.IDEMPOTENCY}/{_file_name(int(call.key[:2], 16))}"


def _file_name(number: int) -> str:
    return f"{number % FILES:02x}.json"
