"""The options and servers that a scenario gets."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.figures import Figures
from benchmarks.peers.servers import Server


@dataclass(frozen=True)
class Bench:
    """The servers that are there, how often, and which parts of the table are wanted."""

    servers: list[Server]
    rounds: int
    parts: frozenset[str]
    figures: Figures
