"""Cut evidence before it is kept: what a target sent may be of any size, and a report of it has to stay readable.

A value that is cut says so where it was cut: a text ends in "… (5,000,000 characters in all)", an array has such an
item at its end, an object such a member. A result counts what was left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.limits import FIXTURE_EVIDENCE, ITEM, REMAINDER
from nexus_mcp.conformance.result import MISSING, Assertion, Cut, Exchange

if TYPE_CHECKING:
    from nexus_mcp.conformance.reply import Reply
    from nexus_mcp.conformance.result import FixtureResult

MANY = 32
"""Calls and events of a fixture that are kept in full; of later ones only the beginning is."""
DEEPEST = 60
"""Levels of a value that are shown; what lies deeper is named, not shown."""
LARGEST_BITS = 4096
"""Bits of a whole number that is shown; Python refuses to spell the really large ones."""
NOT_SHOWN = "(nested too deeply to be shown)"
_LEAST = 16
MESSAGE = 2000
"""Characters of a message, a path or a name in a record."""


@dataclass
class Space:
    """How many characters are left for values, as JSON; `cut` counts what did not fit."""

    left: int
    characters: int = 0
    items: int = 0

    @property
    def cut(self) -> Cut:
        """What was left out."""
        return Cut(self.characters, self.items)


def assertion(
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
    """Record an assertion, which holds when there is no message."""
    space = Space(ITEM)
    values = fit(expected, space), fit(seen, space)
    said = message if len(message) <= MESSAGE else f"{message[:MESSAGE]}…"
    return Assertion(kind, not message, said, step, file, path, *values, parent[:MESSAGE], space.cut)


def exchange(
    step: str,
    asked: str,
    params: dict[str, Any],
    reply: Reply | None = None,
    *,
    trouble: str = "",
    earlier: int = 0,
) -> Exchange:
    """Record what was asked and what came back; `earlier` such records are kept already."""
    space = Space(ITEM if earlier < MANY else REMAINDER)
    sent = fit(params, space)
    if reply is None:
        return Exchange(step, asked, sent, error=trouble[:MESSAGE], cut=space.cut)
    error = reply.protocol_error or (reply.text if reply.payload is None else "")
    answer = fit(reply.payload, space)
    said = fit_text(error, space) if error else ""
    return Exchange(step, asked, sent, answer, reply.failed, said, reply.seconds, cut=space.cut)


def fitted(value: Any, limit: int = ITEM) -> Any:
    """Return the value cut to about `limit` characters of JSON. It has only what JSON can spell; MISSING stays."""
    return fit(value, Space(limit))


def fit(value: Any, space: Space, levels: int = DEEPEST) -> Any:
    """Return the value cut to the space that is left, which it then takes."""
    if value is MISSING:
        return value
    if isinstance(value, str):
        return fit_text(value, space)
    if isinstance(value, (dict, list, tuple)):
        if not levels:
            space.left -= len(NOT_SHOWN)
            return NOT_SHOWN
        return _members(value, space, levels) if isinstance(value, dict) else _items(value, space, levels)
    scalar = _scalar(value)
    space.left -= len(str(scalar)) + 2
    return scalar


def fit_text(text: str, space: Space) -> str:
    """Return the text cut to the space that is left, which it then takes."""
    room = max(_LEAST, space.left)
    kept = text[:room]
    if not kept.isprintable() or not kept.isascii():
        # Escaped, a character takes up to twelve.
        room = max(_LEAST, room * len(kept) // max(1, _spelled(kept)))
        kept = kept[:room]
    space.left -= _spelled(kept) + 4
    if len(kept) == len(text):
        return text
    space.characters += len(text) - len(kept)
    space.left -= 30
    return f"{kept}… ({len(text):,} characters in all)"


def keep(result: FixtureResult, run: Space) -> FixtureResult:
    """Return the result with its evidence cut to what a fixture may keep, and to the space left in the run.

    What failed comes first: its assertions, what was asked and answered, files and stderr, then what holds.
    """
    space = Space(min(FIXTURE_EVIDENCE, max(run.left, 0)))
    before = space.left
    failed = {index: _assertion(one, space) for index, one in enumerate(result.assertions) if not one.passed}
    exchanges = tuple(_exchange(one, space) for one in result.exchanges)
    files = {_share_text(path, space): _share_text(text, space) for path, text in result.files.items()}
    stderr = _share_text(result.stderr, space)
    assertions = tuple(failed.get(index) or _assertion(one, space) for index, one in enumerate(result.assertions))
    run.left -= before - space.left
    earlier = sum((one.cut for kind in (result.assertions, result.exchanges) for one in kind), Cut())
    return replace(
        result,
        assertions=assertions,
        exchanges=exchanges,
        files=files,
        stderr=stderr,
        reason=result.reason[:MESSAGE],
        cut=result.cut + earlier + space.cut,
    )


def _share(value: Any, space: Space) -> Any:
    """Cut one item of the evidence: to what is left, but never to nothing."""
    own = Space(max(REMAINDER, min(ITEM, space.left)))
    limit = own.left
    value = fit(value, own)
    space.left -= limit - own.left
    space.characters += own.characters
    space.items += own.items
    return value


def _share_text(text: str, space: Space) -> str:
    return str(_share(text, space))


def _assertion(one: Assertion, space: Space) -> Assertion:
    return replace(
        one,
        message=_share_text(one.message, space),
        expected=_share(one.expected, space),
        seen=_share(one.seen, space),
    )


def _exchange(one: Exchange, space: Space) -> Exchange:
    return replace(
        one,
        params=_share(one.params, space),
        answer=_share(one.answer, space),
        error=_share_text(one.error, space),
    )


def _members(value: dict[str, Any], space: Space, levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, member in value.items():
        if space.left <= 0:
            space.items += len(value) - len(found)
            found["…"] = f"({len(value):,} members in all)"
            break
        found[fit_text(str(name), space)] = fit(member, space, levels - 1)
    space.left -= 2
    return found


def _items(value: list[Any] | tuple[Any, ...], space: Space, levels: int) -> list[Any]:
    found: list[Any] = []
    for item in value:
        if space.left <= 0:
            space.items += len(value) - len(found)
            found.append(f"… ({len(value):,} items in all)")
            break
        found.append(fit(item, space, levels - 1))
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


def _spelled(text: str) -> int:
    """How many characters the text takes in a report, nearly: what is not printable is escaped."""
    if text.isprintable():
        return len(text)
    return sum(1 if char.isprintable() else 6 for char in text)
