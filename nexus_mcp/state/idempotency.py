"""Compare a call that has an idempotency key with the records of earlier calls: the rules, without files.

A client sends `nexus-mcp/idempotencyKey` in `_meta` of tools/call (docs/http.md). Neither keys nor arguments are
stored: their digests are enough to compare them.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from nexus_mcp.errors import UNCHANGED, NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Record = dict[str, Any]
    """The record of a call: `key`, `holder` and `call` as in KeyedCall, the time `at`, and the `answer`."""

META_NAME = "nexus-mcp/idempotencyKey"
MOST_CHARACTERS = 255
KEPT_S = 24 * 60 * 60
_FIELDS = (("key", str), ("holder", str), ("call", str), ("at", str), ("answer", dict))
_SHORT = 16


class KeyedCall(NamedTuple):
    """A call with a key, as digests: of the key and its holder, of the holder, of the tool and its arguments."""

    key: str
    holder: str
    call: str


def keyed_call(key: Any, holder: str, tool: str, arguments: dict[str, Any]) -> KeyedCall:
    """Return the KeyedCall of a call. Two holders may use the same key. Raise NexusError for a value that is no key."""
    if not isinstance(key, str) or not 0 < len(key) <= MOST_CHARACTERS or _has_surrogates(key):
        raise NexusError(
            f"{META_NAME} in _meta is not usable: a key is text of 1 to {MOST_CHARACTERS} characters",
            effect=UNCHANGED,
            next_step="Send another key, such as a random UUID, or none.",
        )
    # The holder's own digest has a fixed length, so no two pairs of holder and key are the same text.
    owner = _digest(holder)
    return KeyedCall(_digest(owner + key), owner[:_SHORT], _digest(json.dumps([tool, arguments], sort_keys=True)))


def is_record(value: Any) -> bool:
    """Return whether `value`, read from a file, is a record."""
    return isinstance(value, dict) and all(isinstance(value.get(name), kind) for name, kind in _FIELDS)


def record_of(call: KeyedCall, at: str, answer: dict[str, Any]) -> Record:
    """Return the record of a call that was made at the time `at`."""
    return {"key": call.key, "holder": call.holder, "call": call.call, "at": at, "answer": answer}


def kept_since(records: Sequence[Record], oldest: str) -> list[Record]:
    """Return the records since the time `oldest`, including those with a time in the future: the clock may have been
    set back.
    """
    return [record for record in records if record["at"] >= oldest]


def not_after(records: Sequence[Record], now: str) -> list[Record]:
    """Return the records, with the time `now` for those in the future: otherwise a record that was made while the clock
    was a year ahead would be kept for a year.
    """
    return [record if record["at"] <= now else {**record, "at": now} for record in records]


def answer_in(records: Sequence[Record], call: KeyedCall) -> dict[str, Any] | None:
    """Return the stored answer for the key, None if the key is new. Raise NexusError if another call used the key."""
    for record in records:
        if record["key"] == call.key:
            if record["call"] != call.call:
                raise NexusError(
                    f"{META_NAME} was used within the last 24 hours for a call with another tool or other arguments",
                    effect=UNCHANGED,
                    next_step="Use a new key for each new call, and repeat a call with unchanged arguments.",
                )
            answer: dict[str, Any] = record["answer"]
            return answer
    return None


def _has_surrogates(key: str) -> bool:
    return any("\ud800" <= one <= "\udfff" for one in key)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
