"""Measure ways to search a long history, for docs/performance-details.md: `python -m benchmarks.candidates`.

With --keep the results are stored in results/candidates.json. Every candidate has to find the same number of cycles. If
one does not, the exit code is 1, and nothing is stored.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.candidates import flat, fts
from benchmarks.candidates.tables import build_lines, search_lines
from benchmarks.candidates.texts import PARSERS, lowered
from benchmarks.data.history import RARE_CYCLES, history
from benchmarks.data.project import PLACE
from benchmarks.data.words import RARE
from benchmarks.disk import timed
from benchmarks.report import columns

SIZES = (10_000, 50_000)
# A word of a few cycles, one of nearly all, and two characters that only the rare word has.
TERMS = {"rare": RARE.lower(), "common": "journal", "two characters": RARE.lower()[3:5]}
SCANS: dict[str, Callable[[Path, str], int]] = {
    "flat file, by parts": flat.by_parts,
    "flat file, mmap": flat.by_mmap,
    "flat file, pattern": flat.by_pattern,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.candidates", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement (default: 5)")
    parser.add_argument("--keep", action="store_true", help="store the result for docs/performance-details.md")
    given = parser.parse_args()
    rounds = given.rounds
    PLACE.mkdir(parents=True, exist_ok=True)
    searches: list[dict[str, Any]] = []
    builds: list[dict[str, Any]] = []
    for size in SIZES:
        builds += parsed(size, rounds)
        with tempfile.TemporaryDirectory(dir=PLACE) as folder:
            searches += measured(size, rounds, Path(folder))
    for lines in (search_lines({"searches": searches}), build_lines({"builds": builds})):
        print(*columns(lines), "", sep="\n")
    wrong = [row for row in searches if row["found"] != first_of(row["cycles"], searches)]
    wrong += [row for row in searches if row["found"]["rare"] != RARE_CYCLES]
    for row in wrong:
        print(f"WRONG: {row['candidate']} finds {row['found']} at {row['cycles']} cycles")
    if given.keep and not wrong:
        results.write(results.CANDIDATES, {"machine": results.machine(), "searches": searches, "builds": builds})
    return int(bool(wrong))


def first_of(cycles: int, searches: list[dict[str, Any]]) -> Any:
    """Return the numbers that the first candidate found in a history of this length."""
    return next(row["found"] for row in searches if row["cycles"] == cycles)


def parsed(size: int, rounds: int) -> list[dict[str, Any]]:
    """Return the milliseconds from the file to lowered texts, for each parser."""
    times: dict[str, list[float]] = {name: [] for name in PARSERS}
    for _ in range(min(rounds, 3)):
        for name, taken in times.items():
            taken.append(timed(partial(lowered, history(size), name)))
    return [{"cycles": size, "parser": name, "ms": round(statistics.median(v), 1)} for name, v in times.items()]


def measured(size: int, rounds: int, folder: Path) -> list[dict[str, Any]]:
    texts = lowered(history(size), "json")
    database, lines = folder / "index.db", folder / "texts"
    built = timed(partial(fts.build, database, texts))
    written = timed(partial(flat.build, lines, texts))
    del texts
    counts: dict[str, tuple[float, Path, Callable[[str], int]]] = {
        "FTS5, trigrams": (built, database, fts.Fts(database).count),
        **{name: (written, lines, partial(scan, lines)) for name, scan in SCANS.items()},
    }
    times: dict[str, dict[str, list[float]]] = {name: {term: [] for term in TERMS} for name in counts}
    for _ in range(rounds):
        for name, (_, _, count) in counts.items():
            for term, text in TERMS.items():
                times[name][term].append(timed(partial(count, text)))
    return [
        {
            "cycles": size,
            "candidate": name,
            "build_ms": round(build, 1),
            "disk_mb": round(path.stat().st_size / 1e6, 1),
            "ms": {term: round(statistics.median(values), 2) for term, values in times[name].items()},
            "found": {term: count(text) for term, text in TERMS.items()},
        }
        for name, (build, path, count) in counts.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
