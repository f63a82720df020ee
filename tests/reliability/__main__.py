"""`python -m tests.reliability [SUITE …]`: run the long form of the suites, print and store their figures.

A stopped run continues from its checkpoint when it is started again with the same seed and the same code. The exit
code is 1 when something failed, 2 when a suite could not run.
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
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices (default: 1)")
    parser.add_argument("--jobs", type=int, default=0, help="number of processes (default: set by the suite)")
    parser.add_argument("--quick", action="store_true", help="run the quick form of `make test`; store no figures")
    parser.add_argument("--mutant", default="", help="plant this fault; store no figures")
    parser.add_argument("--fresh", action="store_true", help="ignore the checkpoint of a stopped run")
    parser.add_argument("--code", action="store_true", help="print the digest of the present code, and run nothing")
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
        print("  A continued run does not repeat the failed pieces; --fresh repeats all pieces")
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
    # Exit as after Ctrl-C: that ends the child processes and removes their folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
