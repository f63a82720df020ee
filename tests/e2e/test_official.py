"""The official conformance suite of MCP, its release 0.1.16, over HTTP."""

from __future__ import annotations

from tests.e2e.conftest import PROGRAMS
from tests.e2e.scratch import Scratch
from tests.official.judging import compare, judge, served

ID = "official"


def test_each_scenario_passes_or_has_its_reason(scratch: Scratch) -> None:
    """Each scenario of the suite passes, or each of its failed checks has a reason in expected.json that holds."""
    with served(scratch) as url:
        verdict = judge(PROGRAMS[ID], scratch, url)
    assert compare(verdict, "0.1.16") == []
