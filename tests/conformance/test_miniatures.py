"""Each miniature is caught by the fixtures that are noted for it, and a correct server passes them all."""

from __future__ import annotations

import json

import pytest

from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.result import PASSED
from tests.miniatures.base import PROCESS
from tests.miniatures.matrix import CAUGHT_BY
from tests.miniatures.running import caught, concerned, judged
from tests.miniatures.table import MINIATURES

NOTED: dict[str, list[str]] = json.loads(CAUGHT_BY.read_text(encoding="utf-8"))
FIXTURES = {fixture.test_id: fixture for fixture in load()}


def test_every_miniature_is_noted() -> None:
    """caught_by.json names each miniature, in the table's order, and fixtures that ask what is wrong with it."""
    assert list(NOTED) == list(MINIATURES)
    for name, ids in NOTED.items():
        assert ids
        assert [FIXTURES[i] for i in ids] == concerned(MINIATURES[name], [FIXTURES[i] for i in ids]), name


@pytest.mark.parametrize("name", MINIATURES)
def test_it_is_caught(name: str) -> None:
    """Every fixture that is noted for a miniature fails because of it."""
    missed = set(NOTED[name])
    # Where the fixture kills, or lets several write at once, a busy machine may bring them past each other once.
    for _ in range(3 if MINIATURES[name].needs == PROCESS else 1):
        missed -= set(caught(MINIATURES[name], [FIXTURES[test_id] for test_id in sorted(missed)]))
        if not missed:
            break
    assert missed == set()


def test_the_correct_server_passes() -> None:
    """The server that the miniatures deviate from passes every fixture that catches one."""
    ids = {test_id for noted in NOTED.values() for test_id in noted}
    in_memory = [FIXTURES[test_id] for test_id in sorted(ids) if not FIXTURES[test_id].needs_process]
    result = judged(None, in_memory, jobs=0)
    assert {one.test_id: one.status for one in result.results} == {fixture.test_id: PASSED for fixture in in_memory}
