"""An error during a call is reported as a fault of the target only if it is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.client import connection
from nexus_mcp.conformance.client.connection import Session
from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance.support import NASTY, act, nasty_fixture, talk


def _break(*_given: Any) -> None:
    raise RuntimeError("all is lost")


def test_fault_of_the_runner_is_not_blamed_on_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the runner while it checks a response is reported as a fault of the runner, not of the target."""
    monkeypatch.setattr(connection, "make_reply", _break)
    with pytest.raises(HarnessFault) as caught:
        run([nasty_fixture(act("wave"))], stdio(NASTY))
    said = "made: a fault of the runner, not of the target: RuntimeError: all is lost Please report it."
    assert str(caught.value) == said


def test_broken_connection_is_not_reported_as_failure_to_connect(tmp_path: Path) -> None:
    """An error after the connection was made is not reported as a failure to connect."""

    async def ask(session: Session) -> str:
        assert session.transport is not None
        session.transport.after_send = _break
        with pytest.raises(TargetFailure) as caught:
            await session.call("act", act("wave"))
        return str(caught.value)

    assert talk(tmp_path, ask) == "broke the connection: all is lost"


def test_text_answer_may_be_deeply_nested(tmp_path: Path) -> None:
    """An answer that is text only may be nested as deep as JSON is read."""

    async def ask(session: Session) -> tuple[str, bool]:
        answer = await session.call("act", act("nest"))
        return str(answer.payload)[:10], answer.text_differs

    assert talk(tmp_path, ask) == ("{'a': {'a'", False)
