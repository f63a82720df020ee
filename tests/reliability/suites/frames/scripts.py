"""Generate conversations, lists of lines, from a seed."""

from __future__ import annotations

import random
from typing import Any

from tests.reliability.suites.frames import corpus, mutations
from tests.reliability.suites.frames.mutations import mutated

Json = Any

PING = "the-last"


def conversation(rng: random.Random, frames: int, number: int) -> list[bytes]:
    """Return about `frames` lines for one connection of either era. `number` makes the ids unique."""
    modern = rng.random() < 0.35
    ids = _Ids(number)
    lines: list[bytes] = []
    if rng.random() < 0.2:  # before the line that decides the era
        lines += [_line(rng, ids, lines, modern=rng.random() < 0.5) for _ in range(rng.randrange(1, 6))]
    if not modern and rng.random() < 0.9:
        lines.append(mutations.text(corpus.handshake(ids.next(rng), rng)))
        lines += [mutations.text(corpus.initialized())] * (rng.random() < 0.8)
    while len(lines) < frames:
        lines.append(_line(rng, ids, lines, modern=modern))
    return lines


def ending(number: int) -> tuple[list[bytes], list[bytes]]:
    """Return (last lines, texts of their answers alone): when these have come, all earlier lines are answered, too.

    The lines are a ping, which is answered at once, and a call of each era; one call waits for the calls before it.
    """
    names = [f"{PING}-{number}-{what}" for what in ("at once", "in turn", "in turn, modern")]
    call = {"name": "the_last", "arguments": {}}
    requests = [("ping", None), ("tools/call", call), ("tools/call", {**call, "_meta": corpus.META})]
    lines = [
        mutations.text({"jsonrpc": "2.0", "id": name, "method": method, **({"params": params} if params else {})})
        for name, (method, params) in zip(names, requests, strict=True)
    ]
    return lines, [f'"{name}"'.encode() for name in names]


class _Ids:
    """Unique ids of requests, which also differ from all arguments of tools."""

    def __init__(self, number: int) -> None:
        self._next = 1_000_000 * (number + 1)
        self.recent: list[Json] = []

    def next(self, rng: random.Random) -> Json:
        self._next += 1
        spelled: tuple[Json, ...] = (self._next, self._next, -self._next, f"q{self._next}", str(self._next))
        odd: tuple[Json, ...] = (f"é\u2028\U0001f600{self._next}", f'\\"{self._next}', self._next * 10**300, "", 0)
        id = rng.choice(spelled if rng.random() < 0.95 else odd)
        self.recent = [*self.recent[-4:], id]
        return id


def _line(rng: random.Random, ids: _Ids, before: list[bytes], *, modern: bool) -> bytes:
    if rng.random() < 0.12:
        message = corpus.notification(rng, ids.recent)
    else:
        message = corpus.request(ids.next(rng), rng, modern=modern)
    return mutated(rng, message, before[-1] or b"{" if before else b"[1]")
