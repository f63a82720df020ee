"""`python -m tests.mutation [MODULE …]`: run the fixtures against every mutant of our tools and events.

The output has for each module the number of killed mutants, and each survivor that accepted.py does not explain, with
its place: a change that no fixture detects. Then the fixtures that no miniature made fail run against the mutants that
concern them, and those that still never fail are reported. Without the result of `make miniatures` all fixtures run.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

from nexus_mcp.conformance.fixture import Fixture
from nexus_mcp.conformance.loading import load
from tests.forks import forked
from tests.miniatures.matrix import RESULT
from tests.mutation.accepted import reason
from tests.mutation.attempt import Mutant, concerned, failing, mutants
from tests.mutation.modules import SERVED

_LIMIT = 600.0
ENDLESS = "(no end)"


def main(arguments: Sequence[str]) -> int:
    fixtures = load()
    started = time.monotonic()
    killers: Counter[str] = Counter()
    killed: list[Mutant] = []
    survivors: list[Mutant] = []
    for module in arguments or SERVED:
        of_it = concerned(module, fixtures)
        before = len(killed), len(survivors)
        for mutant, failed in forked(mutants(module), partial(_attempt, of_it, killers), _LIMIT):
            if failed is None or failed:
                killers.update([ENDLESS] if failed is None else failed)
                killed.append(mutant)
            else:
                survivors.append(mutant)
                if not reason(mutant.module, mutant.change, mutant.function):
                    print(f"  {mutant.place}  {mutant.change}", flush=True)
        counts = f"{len(killed) - before[0]:4} killed {len(survivors) - before[1]:4} survived"
        print(f"{module:24} {counts}  ({len(of_it)} fixtures)", flush=True)
    open_ = [mutant for mutant in survivors if not reason(mutant.module, mutant.change, mutant.function)]
    counts = f"{len(killed)} mutants killed, {len(survivors)} survived, {len(open_)} of them unexplained"
    print(f"\n{counts}, in {(time.monotonic() - started) / 60:.1f} min")
    if not arguments:
        _tell_idle(fixtures, killed, killers)
    return 0


def _attempt(fixtures: list[Fixture], killers: Counter[str], mutant: Mutant) -> list[str]:
    """Run the fixtures against the mutant: those that killed the most mutants first, of equal ones the shortest."""
    ordered = sorted(fixtures, key=lambda fixture: (-killers[fixture.test_id], len(fixture.steps)))
    return failing(mutant, ordered, first=True)


def _tell_idle(fixtures: list[Fixture], killed: list[Mutant], killers: Counter[str]) -> None:
    caught: dict[str, list[str]] = json.loads(RESULT.read_text())["caught"] if RESULT.exists() else {}
    busy = {*killers, *(test_id for ids in caught.values() for test_id in ids)}
    idle = {fixture.test_id: fixture for fixture in fixtures if fixture.test_id not in busy}
    for module in SERVED:
        of_it = concerned(module, list(idle.values()))
        mutated = [mutant for mutant in killed if mutant.module == module] if of_it else []
        for _, failed in forked(mutated, partial(failing, fixtures=of_it, first=False), _LIMIT):
            for test_id in failed or ():
                idle.pop(test_id, None)
    print(f"{len(idle)} fixtures that neither a miniature nor a mutation makes fail:")
    print("\n".join(f"  {test_id}" for test_id in sorted(idle)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
