"""The quick form of each suite passes, and detects its planted faults."""

from __future__ import annotations

import pytest

from tests.reliability.mutants import MUTANTS, planted
from tests.reliability.quick import quick
from tests.reliability.runner import STUMBLED
from tests.reliability.suites import SUITES

SEED = 1
PAIRS = [(suite.name, mutant) for suite in SUITES.values() for mutant in suite.mutants]


@pytest.mark.parametrize("name", SUITES)
def test_quick_form_finds_no_violation(name: str) -> None:
    """The quick form of the suite finds no violation of its rules."""
    tally = quick(name, SEED)
    assert tally.failures == []
    assert tally.counts[SUITES[name].goal[0]] > 0


@pytest.mark.parametrize(("name", "mutant"), PAIRS, ids=[f"{name}-{mutant}" for name, mutant in PAIRS])
def test_planted_fault_is_detected(name: str, mutant: str) -> None:
    """The suite detects a fault planted into the server. A failure of the suite itself does not count."""
    failures: list[str] = []
    for seed in range(SEED, SEED + 3):  # on a busy machine two processes may once fail to meet
        failures = [failure for failure in quick(name, seed, mutant).failures if STUMBLED not in failure]
        if failures:
            break
    assert failures


@pytest.mark.parametrize("name", MUTANTS)
def test_fault_changes_an_existing_place(name: str) -> None:
    """Each fault changes an existing place in the code; otherwise the quick forms could not detect it."""
    with planted(name):
        pass


def test_every_mutant_is_used() -> None:
    """Each planted fault belongs to a suite, and each suite has one."""
    assert {mutant for _, mutant in PAIRS} == MUTANTS.keys()
    assert {name for name, _ in PAIRS} == SUITES.keys()
