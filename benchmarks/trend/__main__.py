"""Compare ratios within one run with the recorded ones; exit with 1 when a row is above 1.3 × its record.

    python -m benchmarks.trend [--rounds N] [--rows hook,…] [--record]

The records are in benchmarks/results/trend.json, for each version of Python, because their ratios differ. For a version
without a record the exit code is 3. Rows that are not named keep their record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks import results
from benchmarks.report import columns
from benchmarks.trend.judge import LIMIT, Verdict, check, record
from benchmarks.trend.workloads import ROWS, measure

KEPT = results.FOLDER / "trend.json"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trend", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each row (default: 15)")
    parser.add_argument("--record", action="store_true", help="store the medians of three measurements as the record")
    parser.add_argument("--rows", default="", help="only these rows (default: all)")
    given = parser.parse_args(argv)
    wanted = frozenset(filter(None, given.rows.split(","))) or ROWS
    if unknown := wanted - ROWS:
        parser.error(f"there is no row {', '.join(sorted(unknown))}; there are {', '.join(sorted(ROWS))}")
    kept = results.read(KEPT) if KEPT.exists() else {}
    if given.record:
        others = kept.get(PYTHON, {}) if wanted < ROWS else {}
        kept[PYTHON] = dict(sorted({**others, **record(measure, wanted, given.rounds)}.items()))
        results.write(KEPT, dict(sorted(kept.items())))
        return 0
    if PYTHON not in kept:
        print(f"No ratios are recorded for Python {PYTHON}: python -m benchmarks.trend --record", file=sys.stderr)
        return 3
    verdicts = check(measure, kept[PYTHON], wanted, given.rounds)
    head = ("ratio to what does not change", "now", "recorded", "times", "")
    lines = [
        (one.row, f"{one.seen:.3f}", f"{one.recorded or 0:.3f}", f"{one.times:.2f}", remark(one)) for one in verdicts
    ]
    print(*columns([head, *lines]), sep="\n")
    if slower := [one.row for one in verdicts if one.slower]:
        print(
            f"More than {LIMIT} × the record, also when measured again: {', '.join(slower)}. "
            "Profile it. If the slowdown is necessary, run again with --record, and give the reason in the commit."
        )
    return int(bool(slower))


def remark(one: Verdict) -> str:
    return "never recorded" if one.recorded is None else "SLOWER" if one.slower else ""


if __name__ == "__main__":
    sys.exit(main())
