"""A state machine against the model of the contract in tests/model, with crashes at random points.

machine.py has the events, world.py the project and its possible states, possible_state.py one such state, and
outcomes.py the states that a crash or an error may leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.reliability import long
from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.model import histories
from tests.reliability.suites.model.fixed_sequences import TALES, tell

_LAST_STEPS, _LENGTH = 40, 240
_SHORT = 10  # maximum steps of a short tale


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return the pieces: the fixed tales, then random examples, with their number and their number of steps."""
    pieces, examples, steps = (4, 8, 30) if quick else (80, 40, 50)
    sampled: list[dict[str, Any]] = [
        {"examples": examples, "steps": steps, "quick": quick, "number": number} for number in range(pieces)
    ]
    for piece in sampled[1::2]:
        piece["long"] = long.STOPPED
    of_histories = ({"tale": name, "long": long.STOPPED} for name in histories.TALES)
    # Slow pieces come last, so that a planted fault is detected sooner.
    short, lengthy = ([{"tale": name} for name in TALES if (len(TALES[name]) > _SHORT) is so] for so in (False, True))
    return [*short, *of_histories, *lengthy, *sampled]


def work(piece: Piece) -> Tally:
    """Run the machine; report the last steps of an example that fails."""
    if "tale" in piece.item:
        return tell(piece.item["tale"], piece.folder)
    from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
    from hypothesis.stateful import run_state_machine_as_test

    from tests.reliability.suites.model.machine import Machine

    figures: Counter[str] = Counter()
    told: list[str] = []
    fresh = type("Machine", (Machine,), {"folder": piece.folder, "figures": figures, "told": told})
    tally = Tally()
    try:
        run_state_machine_as_test(
            seed(piece.rng.getrandbits(64))(fresh),
            settings=settings(
                max_examples=piece.item["examples"],
                stateful_step_count=piece.item["steps"],
                database=None,
                deadline=None,
                derandomize=False,
                print_blob=False,
                report_multiple_bugs=False,
                verbosity=Verbosity.quiet,
                phases=[Phase.generate] if piece.item["quick"] else [Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            ),
        )
    except Exception as error:  # noqa: BLE001 - the failure lists the steps before any exception
        steps = [f"{step:.{_LENGTH}}" for step in told[-_LAST_STEPS:]]
        tally.failures.append(f"{type(error).__name__}: {error!s:.1500}; after {len(told)} steps, the last: {steps}")
    tally.counts.update(figures)
    return tally


SUITE = Suite(
    name="model",
    title="any sequence of calls, crashes, errors and foreign edits agrees with the model of the contract",
    goal=("steps", 150_000),
    plan=plan,
    work=work,
    seconds=600.0,  # Hypothesis may take minutes to shrink an example
    mutants=(
        "no-journal",
        "wrong-order",
        "no-recovery",
        "unlink-before-archive",
        "ids-reused",
        "undo-anyway",
        "overwrites-foreign",
        "answered-twice",
        "known-by-size",
        "always-settled",
        "apart-presumed",
        "prefix-believed",
        "index-unchecked",
        "texts-unchecked",
        "remembered-for-ever",
        "has-by-time",
        "copied-blindly",
        "noted-early",
    ),
)
