"""Search an order of the calls that explains all answers, with each call between its begin and its end.

The algorithm is that of Wing and Gong, with Lowe's cache of tried states.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.reliability.suites.linearizable.history import Op

S = TypeVar("S", bound=Hashable)
MOST = 300_000  # maximum states to try, which takes seconds; suites must record shorter histories


@dataclass(frozen=True)
class Verdict:
    """`order` explains all answers or, when `is_linearizable` is False, as many of them as possible.

    `tried` is the number of states that were tried.
    """

    is_linearizable: bool
    order: tuple[Op, ...]
    tried: int


class Undecided(Exception):
    """The history has too many possible orders."""


def check(ops: Sequence[Op], initial: S, step: Callable[[S, Op], Iterable[S]], most: int = MOST) -> Verdict:
    """Decide whether the history is linearizable. `step(state, op)` returns the states in which `op` may leave `state`.

    An op without an answer may be left out. Raise Undecided.
    """
    ops = sorted(ops, key=lambda op: op.began)
    answered = sum(1 << number for number, op in enumerate(ops) if op.answer is not None)
    seen: set[tuple[int, S]] = set()
    path: list[int] = []
    longest: list[int] = []
    stack: list[Iterator[tuple[int, S]]] = []

    def moves(done: int, state: S) -> Iterator[tuple[int, S]]:
        for number in _next(ops, done):
            for after in step(state, ops[number]):
                yield number, after

    def verdict(is_linearizable: bool, order: list[int]) -> Verdict:
        return Verdict(is_linearizable, tuple(ops[number] for number in order), len(seen))

    if not answered:
        return verdict(True, [])
    stack.append(moves(0, initial))
    while stack:
        move = next(stack[-1], None)
        if move is None:
            stack.pop()
            if path:
                path.pop()
            continue
        number, state = move
        done = sum(1 << earlier for earlier in path) | 1 << number
        if (done, state) in seen:
            continue
        if len(seen) >= most:
            raise Undecided(f"after {most} states")
        seen.add((done, state))
        path.append(number)
        if done & answered == answered:
            return verdict(True, path)
        if len(path) > len(longest):
            longest = list(path)
        stack.append(moves(done, state))
    return verdict(False, longest)


def _next(ops: Sequence[Op], done: int) -> list[int]:
    """Return the ops that may come next: those that began before any other open op ended. The earliest end is first."""
    left = [number for number in range(len(ops)) if not done >> number & 1]
    limit = min(ops[number].ended for number in left)
    return sorted((number for number in left if ops[number].began <= limit), key=lambda number: ops[number].ended)
