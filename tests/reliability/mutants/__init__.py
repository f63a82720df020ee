"""Faults planted in our own code, to check that a suite detects them. MUTANTS is their table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from tests.reliability.mutants import (
    answers,
    artifact_paths,
    bounds,
    cache,
    concurrency,
    foreign_saves,
    http,
    recovery_syncs,
    runs,
    sequences,
    session_cache,
    sessions,
    state_files,
    system_errors,
    writes,
)
from tests.reliability.mutants.definition import Mutant

_TABLES = (
    writes.MUTANTS,
    recovery_syncs.MUTANTS,
    concurrency.MUTANTS,
    system_errors.MUTANTS,
    state_files.MUTANTS,
    answers.MUTANTS,
    artifact_paths.MUTANTS,
    sequences.MUTANTS,
    cache.MUTANTS,
    session_cache.MUTANTS,
    bounds.MUTANTS,
    sessions.MUTANTS,
    foreign_saves.MUTANTS,
    runs.MUTANTS,
    http.MUTANTS,
)
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for table in _TABLES for mutant in table}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Plant the fault `name` while the block runs; none for "". Raise KeyError for an unknown name."""
    if not name:
        yield
        return
    mutant = MUTANTS[name]
    with ExitStack() as planted_here:
        for make in filter(None, (mutant.patch, mutant.also)):
            planted_here.enter_context(patch.object(*make()))
        yield
