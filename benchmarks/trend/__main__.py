"""python -m benchmarks.trend [--rounds N] [--record]: exit code 1 when a row is above 1.3 × its record.

What was recorded stands in benchmarks/results/trend.json, for each version of Python: their ratios differ. For a
version that was never recorded nothing can be said, and the exit code is 3.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import results
from benchmarks.report import columns
from benchmarks.trend.judge import LIMIT, Verdict, check, ratios
from benchmarks.trend.workloads import ROWS, measure

KEPT = results.FOLDER / "trend.json"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trend")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--record", action="store_true", help="these are the ratios from now on")
    given = parser.parse_args()
    kept = results.read(KEPT) if KEPT.exists() else {}
    if given.record:
        seen = ratios(measure(ROWS, given.rounds))
        kept[PYTHON] = {row: round(seen[row], 4) for row in sorted(seen)}
        results.write(KEPT, dict(sorted(kept.items())))
        return 0
    if PYTHON not in kept:
        print(f"No ratios are recorded for Python {PYTHON}: python -m benchmarks.trend --record", file=sys.stderr)
        return 3
    verdicts = check(measure, kept[PYTHON], ROWS, given.rounds)
    head = ("ratio to what does not change", "now", "recorded", "times", "")
    lines = [
        (one.row, f"{one.seen:.3f}", f"{one.recorded or 0:.3f}", f"{one.times:.2f}", remark(one)) for one in verdicts
    ]
    print(*columns([head, *lines]), sep="\n")
    if slower := [one.row for one in verdicts if one.slower]:
        print(
            f"More than {LIMIT} × of what was recorded, also when measured again: {', '.join(slower)}. "
            "Profile it; where it has to be so, record it anew with --record and say why in the commit."
        )
    return int(bool(slower))


def remark(one: Verdict) -> str:
    return "never recorded" if one.recorded is None else "SLOWER" if one.slower else ""


if __name__ == "__main__":
    sys.exit(main())
