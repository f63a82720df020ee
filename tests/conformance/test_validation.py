"""Answers are checked against the output schemas of a target; an unusable schema is no failure of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.conformance.client.connection import Session
from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.processes import helper
from nexus_mcp.conformance.processes.helper import Helpers
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance.support import NASTY, act, nasty_fixture, talk


def test_endless_pattern_in_a_schema_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output schema that takes too much CPU time is reported, with any call timeout, and the run continues."""
    monkeypatch.setattr(helper, "MOST_S", 0.5)

    async def ask(session: Session) -> tuple[str, str]:
        with pytest.raises(TargetFailure) as caught:
            await session.call("act", act("think"))
        return str(caught.value), (await session.call("act", act("break the schema"))).schema_fault

    said = "has an output schema for act that takes more than 0.5 s to check one answer"
    assert talk(tmp_path, ask) == (said, "$.did: 7 is not of type 'string'")


def test_ended_check_is_a_fault_of_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the runner cannot check an answer, it reports a fault of its own, never one of the target."""
    script = tmp_path / "worker.py"
    script.write_text("import sys; print(flush=True); sys.stdin.readline(); sys.exit(3)")
    monkeypatch.setattr(helper, "_schemas", Helpers(str(script)))
    with pytest.raises(HarnessFault) as caught:
        run([nasty_fixture(act("wave"))], stdio(NASTY))
    assert str(caught.value) == (
        "Whether an answer of act matches its output schema could not be checked: the process that checks it ended "
        "unexpectedly, with code 3. Run it again; if it happens again, please report it."
    )
