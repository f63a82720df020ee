"""Measured figures and their arithmetic. Nothing here measures or prints."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

OURS, NODE, BUN, SDK, PYTHON = "ours", "node", "bun", "ours --sdk", "python -c pass"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@dataclass
class Figures:
    """`values`: row → series → one value per round. `wrong` are wrong answers of our server, `notes` those of others.

    `rows` are the rows that are being measured now. `of` maps each text of `wrong` and `notes` to its rows.
    """

    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    begun: str = field(default_factory=_now)
    rows: Sequence[str] = ()
    of: dict[str, list[str]] = field(default_factory=dict)

    def add(self, row: str, series: str, value: float) -> None:
        self.values.setdefault(row, {}).setdefault(series, []).append(value)

    def expect(self, series: str, what: str, seen: object, expected: object) -> None:
        """Record an unexpected answer: in `wrong` for our server, in `notes` for any other."""
        if seen != expected:
            where, one, other = difference(seen, expected)
            text = f"{series}: {what}{where and ', '}{where}: {str(one)[:200]} instead of {str(other)[:200]}"
            self._tell(self.wrong if series in (OURS, SDK) else self.notes, text)

    def note(self, text: str) -> None:
        self._tell(self.notes, text)

    def _tell(self, kept: list[str], text: str) -> None:
        if text not in kept:
            kept.append(text)
        rows = self.of.setdefault(text, [])
        rows += [row for row in self.rows if row not in rows]

    def medians(self) -> dict[str, dict[str, float]]:
        return {row: {name: statistics.median(v) for name, v in of.items()} for row, of in self.values.items()}


def difference(seen: object, expected: object, where: str = "") -> tuple[str, object, object]:
    """Return (the first place where two values differ, the part of each there)."""
    if isinstance(seen, dict) and isinstance(expected, dict):
        for name in dict.fromkeys([*expected, *seen]):
            one, other = seen.get(name, "nothing"), expected.get(name, "nothing")
            if one != other:
                return difference(one, other, f"{where}.{name}" if where else str(name))
    if isinstance(seen, list) and isinstance(expected, list) and len(seen) == len(expected):
        for place, (one, other) in enumerate(zip(seen, expected, strict=True)):
            if one != other:
                return difference(one, other, f"{where}[{place}]")
    return where, seen, expected


def percentile(values: Sequence[float], share: float) -> float:
    """Return the percentile by nearest rank: the smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * round(share * 1000) // 1000) - 1)]


def ratio(ours: float, other: float) -> float:
    return ours / other if other else float("inf")


def met(value: float, limit: float, *, at_least: bool) -> bool:
    return value >= limit if at_least else value <= limit
