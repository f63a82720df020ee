"""Make and apply deltas that turn the new bytes of a file back into the old ones: small for a small change."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

_CONTINUES = range(0x80, 0xC0)  # bytes within a character of UTF-8
_MOST = 1 << 16  # bytes that are compared at a time


def make(before: bytes, after: bytes, *, is_known_text: bool = False) -> dict[str, Any] | None:
    """{prefix, suffix, text} with which `apply` turns `after` into `before`; None when `before` is no text in UTF-8.

    `prefix` and `suffix` count the bytes that both have at their beginning and at their end.
    With `is_known_text` the caller has decoded `before`.
    """
    if not (is_known_text or is_text(before)):
        return None  # what lies between the common ends might be text all the same
    most = min(len(before), len(after))
    prefix = _common(before, after, most, "big")
    suffix = _common(before, after, most - prefix, "little")
    while prefix and before[prefix : prefix + 1] and before[prefix] in _CONTINUES:
        prefix -= 1
    while suffix and before[len(before) - suffix] in _CONTINUES:
        suffix -= 1
    return {"prefix": prefix, "suffix": suffix, "text": before[prefix : len(before) - suffix].decode("utf-8")}


def is_text(data: bytes) -> bool:
    """Whether it is UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def apply(after: bytes, delta: dict[str, Any]) -> bytes:
    """The bytes from before. `delta` may come from a file, so the caller checks the outcome."""
    prefix, suffix = int(delta["prefix"]), int(delta["suffix"])
    text = str(delta["text"]).encode("utf-8", "replace")
    return after[:prefix] + text + after[max(0, len(after) - suffix) :]


def _common(one: bytes, other: bytes, most: int, order: Literal["big", "little"]) -> int:
    """How many bytes, `most` at most, both have in common: at their beginning ("big") or at their end ("little").

    Slices, each twice as long as the one before, are compared at the speed of memory; single bytes are not. Of the
    first slices that differ, read as one number in this `order`, the highest bit that does tells where.
    """
    low, step = 0, 256
    while low < most:
        end = min(low + step, most)
        here, there = (
            (text[low:end] if order == "big" else text[len(text) - end : len(text) - low]) for text in (one, other)
        )
        if here != there:
            differing = int.from_bytes(here, order) ^ int.from_bytes(there, order)
            return end - (differing.bit_length() + 7) // 8
        low = end
        step = min(2 * step, _MOST)
    return low
