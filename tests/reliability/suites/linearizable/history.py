"""A recorded history: the calls of several processes, their answers, and the times of both on one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.reliability.suite import Json

# Fields that differ between the model and the server, and that no other call depends on.
_NOT_COMPARED = frozenset({"created_at", "context", "deps", "message", "research_summary"})
NEVER = 1 << 63


@dataclass(frozen=True)
class Op:
    """One call of a process. It took effect at one moment between `began` and `ended` (ns).

    Without an `answer` the process was killed before it answered: the call took effect at any time after `began`, or
    never. `is_last`: it was the last call of a process that was killed.
    """

    process: int
    tool: str
    arguments: dict[str, Json]
    began: int
    ended: int = NEVER
    answer: Json = None
    is_last: bool = False


class Death(NamedTuple):
    """The death of a killed process, between `earliest` and `gone` (ns)."""

    earliest: int
    gone: int


@dataclass
class History:
    """All calls, the deaths by process, and the `completed_at` of the cycles that exist at the end."""

    ops: list[Op] = field(default_factory=list)
    deaths: dict[int, Death] = field(default_factory=dict)
    stamps: tuple[str, ...] = ()


def compared(value: Json) -> Json:
    """Return the part of an answer that is compared with the model."""
    if isinstance(value, dict):
        return {key: compared(inner) for key, inner in value.items() if key not in _NOT_COMPARED}
    return [compared(inner) for inner in value] if isinstance(value, list) else value


def told(ops: Sequence[Op]) -> str:
    """Return the calls as text, each with its process and its times in microseconds after the first begin."""
    start = min((op.began for op in ops), default=0)
    lines = []
    for op in ops:
        ended = "killed" if op.answer is None else f"{(op.ended - start) // 1000}"
        asked = ", ".join(str(value) for value in op.arguments.values())
        lines.append(f"P{op.process} {(op.began - start) // 1000}-{ended} {op.tool}({asked}) {op.answer or ''}")
    return " | ".join(lines)
