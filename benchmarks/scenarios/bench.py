"""The options and servers that a scenario gets."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.figures import Figures
from benchmarks.peers.servers import Server


@dataclass(frozen=True)
class Bench:
    """The available servers, the number of rounds, and the wanted parts of the table."""

    servers: list[Server]
    rounds: int
    parts: frozenset[str]
    figures: Figures
