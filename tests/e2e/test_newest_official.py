"""The newest release of the official conformance suite of MCP, over HTTP, in each revision that it knows."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import PROGRAMS
from tests.e2e.scratch import Scratch
from tests.official.judging import compare, judge, served

ID = "newest-official"


@pytest.mark.parametrize("revision", ["", "2025-11-25", "2025-06-18"])
def test_each_scenario_passes_or_has_its_reason(scratch: Scratch, revision: str) -> None:
    """Without a revision the suite runs all scenarios, extensions too, each in the newest revision that it is for."""
    with served(scratch) as url:
        verdict = judge(PROGRAMS[ID], scratch, url, *(("--spec-version", revision) if revision else ()))
    assert compare(verdict, f"newest, {revision}" if revision else "newest") == []


def test_server_without_sessions(scratch: Scratch) -> None:
    """With --stateless the scenarios of an earlier revision pass, except those about sessions."""
    with served(scratch, "--stateless") as url:
        verdict = judge(PROGRAMS[ID], scratch, url, "--spec-version", "2025-11-25")
    assert compare(verdict, "newest, 2025-11-25, stateless", is_stateless=True) == []
