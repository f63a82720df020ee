"""The tables of the candidates, from stored results. All functions are pure."""

from __future__ import annotations

from typing import Any

from benchmarks.report import number


def search_lines(kept: dict[str, Any]) -> list[tuple[str, ...]]:
    head = (
        "candidate",
        "cycles",
        "made in (ms)",
        "on disk (MB)",
        *(f"{term} (ms)" for term in kept["searches"][0]["ms"]),
    )
    return [
        head,
        *(
            (
                row["candidate"],
                str(row["cycles"]),
                number(row["build_ms"]),
                number(row["disk_mb"]),
                *map(number, row["ms"].values()),
            )
            for row in kept["searches"]
        ),
    ]


def build_lines(kept: dict[str, Any]) -> list[tuple[str, ...]]:
    head = ("from the file to lowered texts", "cycles", "ms")
    return [head, *((row["parser"], str(row["cycles"]), number(row["ms"])) for row in kept["builds"])]
