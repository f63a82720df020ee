"""Make and apply deltas that turn the new bytes of a file back into the old ones: small for a small change."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONTINUES = range(0x80, 0xC0)  # bytes within a character of UTF-8
_MOST = 1 << 16  # bytes that are compared at a time


def make(before: bytes, after: bytes, ends: tuple[int, int] | None = None) -> dict[str, Any] | None:
    """{prefix, suffix, text} with which `apply` turns `after` into `before`; None when `before` is no text in UTF-8.

    `prefix` and `suffix` count the bytes that both have at their beginning and at their end. `ends` are so many of them
    as are known beforehand, of a text.
    """
    if ends is None and not is_text(before):
        return None  # what lies between the common ends might be text all the same
    first, last = ends or (0, 0)
    prefix = common_prefix(before, after, first, min(len(before), len(after)) - last)
    suffix = common_suffix(before, after, last, min(len(before), len(after)) - prefix)
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


# On slices, each twice as long as the one before: those are compared at the speed of memory, single bytes are not. Of
# the first slices that differ, read as one number, the highest bit that does tells where.
def common_prefix(one: bytes, other: bytes, low: int, high: int) -> int:
    """How many bytes both have at their beginning: `low` of them or more, as is known, and `high` at most."""
    step = 256
    while low < high:
        end = min(low + step, high)
        here, there = one[low:end], other[low:end]
        if here != there:
            return end - _up_to_highest(int.from_bytes(here, "big") ^ int.from_bytes(there, "big"))
        low = end
        step = min(2 * step, _MOST)
    return low


def common_suffix(one: bytes, other: bytes, low: int, high: int) -> int:
    """How many bytes both have at their end: `low` of them or more, as is known, and `high` at most."""
    step = 256
    while low < high:
        end = min(low + step, high)
        here, there = one[len(one) - end : len(one) - low], other[len(other) - end : len(other) - low]
        if here != there:
            return end - _up_to_highest(int.from_bytes(here, "little") ^ int.from_bytes(there, "little"))
        low = end
        step = min(2 * step, _MOST)
    return low


def _up_to_highest(bits: int) -> int:
    """In how many bytes a number lies."""
    return (bits.bit_length() + 7) // 8
