"""`python -m tests.reliability [SUITE …]`: run the long form of the suites, print and store their figures.

A run that was stopped goes on where it was, when it is started again with the same seed and the same code.
Exit code 1 when something failed, 2 when a suite could not be run.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from functools import partial

from tests.reliability import figures, tools
from tests.reliability.runner import Progress, code, run
from tests.reliability.suite import Suite
from tests.reliability.suites import SUITES

FAILED, NOT_RUN = 1, 2


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)} (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="where the chance begins (default: 1)")
    parser.add_argument("--jobs", type=int, default=0, help="processes at once (default: what suits the suite)")
    parser.add_argument("--quick", action="store_true", help="the quick form, which `make test` runs; keeps no figures")
    parser.add_argument("--mutant", default="", help="plant this fault; keeps no figures")
    parser.add_argument("--fresh", action="store_true", help="begin anew where an earlier run was stopped")
    parser.add_argument("--code", action="store_true", help="print the digest of the code as it is, and do nothing")
    chosen = parser.parse_args(arguments)
    if chosen.code:
        print(code())
        return 0
    unknown = set(chosen.suites) - SUITES.keys()
    if unknown:
        parser.error(f"there is no suite {', '.join(sorted(unknown))}")
    codes = [_suite(SUITES[name], chosen) for name in chosen.suites or SUITES]
    return max(codes, default=0)


def _suite(suite: Suite, chosen: argparse.Namespace) -> int:
    keeps = not (chosen.quick or chosen.mutant)
    if keeps:
        tools.install(tools.wanted(suite))
        lacking = tools.missing(suite)
        if lacking:
            print(f"{suite.name}: NOT RUN, it needs {', '.join(lacking)}, which could not be installed here")
            return NOT_RUN
    print(f"{suite.name}: {suite.title}; seed {chosen.seed}", flush=True)
    if chosen.fresh:
        Progress(suite.name, chosen.seed, chosen.quick, "", 0).path.unlink(missing_ok=True)
    progress = run(
        suite,
        chosen.seed,
        quick=chosen.quick,
        mutant=chosen.mutant,
        resume=keeps,
        processes=chosen.jobs,
        say=partial(_show, sys.stderr.isatty()),
    )
    for failure in progress.tally.failures:
        print(f"  FAILED {failure}")
    if keeps and progress.tally.failures:
        print("  What failed is not tried again when this goes on; --fresh begins anew")
    done = ", ".join(f"{value:g} {name}" for name, value in {**progress.tally.counts, **progress.tally.peaks}.items())
    print(f"  {done}; {len(progress.tally.failures)} failures; {progress.seconds / 60:.1f} min", flush=True)
    if progress.tally.failures:
        return FAILED
    if keeps:
        if not figures.reached(suite, progress):
            print(f"  FAILED {suite.goal[1]} {suite.goal[0]} were to be done")
            return FAILED
        figures.keep(progress)
    return 0


def _show(live: bool, progress: Progress) -> None:
    if live or len(progress.done) % max(1, progress.pieces // 20) == 0:
        told = f"  {len(progress.done)} of {progress.pieces}, {len(progress.tally.failures)} failures"
        print(told, end="\r" if live else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # As Ctrl-C does: what was begun is ended, and its folders go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
