"""Run the quick form of a suite in a process of its own, and print the tally as JSON.

A suite forks for each piece and again for each server of a piece. A fork of the pytest process, with ten thousand
tests in memory, takes twice the CPU time of a fork of this process.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests import conftest
from tests.forked_commands import warm
from tests.reliability.noticed_by import NOTICED_BY
from tests.reliability.runner import load, run
from tests.reliability.suite import Tally
from tests.reliability.suites import SUITES

_SECONDS = 900.0
load()  # tests.forked_commands imports this once, and forks for each run


def quick(suite: str, seed: int, mutant: str = "") -> Tally:
    """Return the tally of the quick form; with a planted fault, up to the first failure."""
    words = (suite, str(seed), mutant, str(conftest.REAL_HOME))
    ran = warm(__name__, words, preload=(__name__,), cwd=None, env=os.environ, limit=_SECONDS)
    assert ran.code == 0, ran.err
    return Tally.from_json(json.loads(ran.out))


def main() -> int:
    suite, seed, mutant, home = sys.argv[1:]
    conftest.watch(Path(home))
    first = NOTICED_BY.get(suite, {}).get(mutant, 0)
    done = run(
        SUITES[suite], int(seed), quick=True, mutant=mutant, processes=1, until_failure=bool(mutant), first=first
    )
    print(json.dumps(done.tally.as_json()))
    return 0
