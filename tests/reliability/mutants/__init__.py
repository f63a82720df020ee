"""Faults planted into our own code, to see that a suite of the proof notices them. MUTANTS is their table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tests.reliability.mutants import (
    answering,
    bounding,
    caching,
    confirming,
    escaping,
    misreading,
    overwriting,
    refusing,
    remembering,
    sequences,
    serving,
    sessions,
    storing,
)
from tests.reliability.mutants.definition import Mutant

_TABLES = (
    storing.MUTANTS,
    confirming.MUTANTS,
    serving.MUTANTS,
    refusing.MUTANTS,
    misreading.MUTANTS,
    answering.MUTANTS,
    escaping.MUTANTS,
    sequences.MUTANTS,
    caching.MUTANTS,
    remembering.MUTANTS,
    bounding.MUTANTS,
    sessions.MUTANTS,
    overwriting.MUTANTS,
)
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for table in _TABLES for mutant in table}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The fault `name` while the block lasts; none for "". Raises KeyError for an unknown name."""
    if not name:
        yield
        return
    target, attribute, replacement = MUTANTS[name].patch()
    with patch.object(target, attribute, replacement):
        yield
