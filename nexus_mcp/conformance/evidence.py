"""Cut evidence before it is stored: a target may send any amount, and reports must stay readable.

A cut value has a note: a text ends in "… (5,000,000 characters in all)", an array has a last item
"… (9 items in all)", an object a last key "…". A result counts how much was left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.limits import FIXTURE_EVIDENCE, ITEM, REMAINDER
from nexus_mcp.conformance.result import MISSING, Assertion, Cut, Exchange

if TYPE_CHECKING:
    from nexus_mcp.conformance.failures import Reply
    from nexus_mcp.conformance.result import FixtureResult

MANY = 32
"""Calls and events of a fixture that are recorded with up to ITEM characters; later ones have up to REMAINDER."""
DEEPEST = 60
"""Levels of a value that are shown; deeper values are replaced by NOT_SHOWN."""
LARGEST_BITS = 4096
"""Bits of the largest integer that is shown; Python refuses to convert really large ones to text."""
NOT_SHOWN = "(nested too deeply to be shown)"
_LEAST = 16
MESSAGE = 2000
"""Characters of a message, a reason or the path of a parent node in a record."""


@dataclass
class Space:
    """The space for values: `left` characters of JSON. `characters` and `items` count what was cut off."""

    left: int
    characters: int = 0
    items: int = 0

    @property
    def cut(self) -> Cut:
        """Return how much was left out."""
        return Cut(self.characters, self.items)


def record_assertion(
    kind: str,
    message: str,
    step: str,
    *,
    file: str = "",
    path: str = "",
    expected: Any = None,
    seen: Any = None,
    parent: str = "",
) -> Assertion:
    """Return the record of an assertion, which passed when `message` is ""."""
    space = Space(ITEM)
    values = cut_to(expected, space), cut_to(seen, space)
    shown = message if len(message) <= MESSAGE else f"{message[:MESSAGE]}…"
    return Assertion(kind, not message, shown, step, file, path, *values, parent[:MESSAGE], space.cut)


def record_exchange(
    step: str, request: str, params: dict[str, Any], reply: Reply | None = None, *, failure: str = "", earlier: int = 0
) -> Exchange:
    """Return the record of a request and its response, or its `failure`. `earlier` counts the records before it."""
    space = Space(ITEM if earlier < MANY else REMAINDER)
    sent = cut_to(params, space)
    if reply is None:
        return Exchange(step, request, sent, error=failure[:MESSAGE], cut=space.cut)
    error = reply.protocol_error or (reply.text if reply.payload is None else "")
    answer = cut_to(reply.payload, space)
    error = cut_text_to(error, space) if error else ""
    return Exchange(step, request, sent, answer, reply.is_failure, error, reply.seconds, cut=space.cut)


def cut_value(value: Any, limit: int = ITEM) -> Any:
    """Return the value cut to about `limit` characters of JSON.

    The result holds only values that JSON can represent; MISSING stays MISSING.
    """
    return cut_to(value, Space(limit))


def cut_to(value: Any, space: Space, levels: int = DEEPEST) -> Any:
    """Return the value cut to `space`, and subtract the characters that it uses from `space`."""
    if value is MISSING:
        return value
    if isinstance(value, str):
        return cut_text_to(value, space)
    if isinstance(value, (dict, list, tuple)):
        if not levels:
            space.left -= len(NOT_SHOWN)
            return NOT_SHOWN
        return _members(value, space, levels) if isinstance(value, dict) else _items(value, space, levels)
    scalar = _scalar(value)
    space.left -= len(str(scalar)) + 2
    return scalar


def cut_text_to(text: str, space: Space) -> str:
    """Return the text cut to `space`, and subtract the characters that it uses from `space`."""
    room = max(_LEAST, space.left)
    beginning = text[:room]
    if not beginning.isprintable() or not beginning.isascii():
        # The escape of one character has up to twelve characters.
        room = max(_LEAST, room * len(beginning) // max(1, _printed_length(beginning)))
        beginning = beginning[:room]
    space.left -= _printed_length(beginning) + 4
    if len(beginning) == len(text):
        return text
    space.characters += len(text) - len(beginning)
    space.left -= 30
    return f"{beginning}… ({len(text):,} characters in all)"


def cut_result(result: FixtureResult, run: Space) -> FixtureResult:
    """Return the result with its evidence cut to the bound of a fixture and to the space left in the run.

    Failed assertions use the space first, then requests and responses, files, stderr, and last the assertions that
    passed.
    """
    space = Space(min(FIXTURE_EVIDENCE, max(run.left, 0)))
    before = space.left
    failed = {index: _assertion(one, space) for index, one in enumerate(result.assertions) if not one.passed}
    exchanges = tuple(_exchange(one, space) for one in result.exchanges)
    files = {_share_text(path, space): _share_text(text, space) for path, text in result.files.items()}
    stderr = _share_text(result.stderr, space)
    assertions = tuple(failed.get(index) or _assertion(one, space) for index, one in enumerate(result.assertions))
    run.left -= before - space.left
    earlier = [one.cut for kind in (result.assertions, result.exchanges) for one in kind] + [result.cut]
    return replace(
        result,
        assertions=assertions,
        exchanges=exchanges,
        files=files,
        stderr=stderr,
        reason=result.reason[:MESSAGE],
        cut=Cut(
            space.characters + sum(cut.characters for cut in earlier), space.items + sum(cut.items for cut in earlier)
        ),
    )


def _share(value: Any, space: Space) -> Any:
    """Return one item of the evidence, cut to the space left, but not below REMAINDER and not above ITEM characters."""
    own = Space(max(REMAINDER, min(ITEM, space.left)))
    limit = own.left
    value = cut_to(value, own)
    space.left -= limit - own.left
    space.characters += own.characters
    space.items += own.items
    return value


def _share_text(text: str, space: Space) -> str:
    return str(_share(text, space))


def _assertion(one: Assertion, space: Space) -> Assertion:
    return replace(
        one, message=_share_text(one.message, space), expected=_share(one.expected, space), seen=_share(one.seen, space)
    )


def _exchange(one: Exchange, space: Space) -> Exchange:
    return replace(
        one, params=_share(one.params, space), answer=_share(one.answer, space), error=_share_text(one.error, space)
    )


def _members(value: dict[str, Any], space: Space, levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, member in value.items():
        if space.left <= 0:
            space.items += len(value) - len(found)
            found["…"] = f"({len(value):,} members in all)"
            break
        found[cut_text_to(str(name), space)] = cut_to(member, space, levels - 1)
    space.left -= 2
    return found


def _items(value: list[Any] | tuple[Any, ...], space: Space, levels: int) -> list[Any]:
    found: list[Any] = []
    for item in value:
        if space.left <= 0:
            space.items += len(value) - len(found)
            found.append(f"… ({len(value):,} items in all)")
            break
        found.append(cut_to(item, space, levels - 1))
    space.left -= 2
    return found


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        bits = value.bit_length()
        return value if bits <= LARGEST_BITS else f"(a number of {bits} bits)"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)[:MESSAGE]


def _printed_length(text: str) -> int:
    """Return about how many characters the text takes in a report, where unprintable characters are escaped."""
    if text.isprintable():
        return len(text)
    return sum(1 if char.isprintable() else 6 for char in text)
