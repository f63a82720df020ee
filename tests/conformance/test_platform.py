"""Systems with less than Linux: the runner uses a substitute, or refuses at once."""

from __future__ import annotations

import importlib.util
import os
import signal
from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.conformance.client.connection import Session
from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.processes import process
from nexus_mcp.conformance.result import FixtureResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import stdio
from tests.conformance.support import NASTY, act, gone, nasty_fixture, outcome, talk


@pytest.fixture(params=[("waitid",), ("waitid", "pidfd_open")], ids=["no waitid", "no pidfd_open either"])
def poorer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a system that reports the end of a process only by reaping it: macOS before Python 3.13."""
    for name in request.param:
        monkeypatch.delattr(os, name, raising=False)


def done(*command: str, do: str = "wave") -> FixtureResult:
    """Run a fixture of one call; return its result."""
    (result,) = run([nasty_fixture(act(do))], stdio((*NASTY, *command), TargetOptions(end_timeout=0.3))).results
    return result


@pytest.mark.usefixtures("poorer")
def test_every_kind_of_end_is_reported_without_waitid() -> None:
    """If only reaping reports an end, a requested end, an early exit and no end are still distinguished."""
    stays = "the target did not end within 0.3 s after its stdin was closed"
    assert outcome(done()) == ("passed", [])
    assert outcome(done(do="die")) == ("failed", [("process", "", "the target exited with code 3")])
    assert outcome(done("stay")) == ("failed", [("process", "", stays)])


@pytest.mark.usefixtures("poorer")
def test_signal_is_reported_without_waitid(tmp_path: Path) -> None:
    """If only reaping reports an end, the signal is still reported, and the process is reaped."""

    async def ask(session: Session) -> str:
        assert session.process is not None
        os.kill(session.process.pid, signal.SIGSEGV)
        with pytest.raises(TargetFailure) as caught:
            await session.call("act", act("wave"))
        assert gone(session.process.pid)
        return str(caught.value)

    assert talk(tmp_path, ask) == "was ended by SIGSEGV"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["conformance", "run"], "conformance run"),
        (["conformance", "compare", "--server", "a", "--server", "b"], "conformance compare"),
        (["demo"], "demo"),
    ],
)
def test_unsupported_system_is_reported_before_the_run(
    words: list[str], what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a system that cannot start and watch servers, one line names the missing function before the run begins."""
    find = importlib.util.find_spec
    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.delattr(signal, "pthread_sigmask")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: (name != "resource" and find(name, *more)) or None
    )
    monkeypatch.setattr(process, "start", None)
    assert main(words) == 2
    assert capsys.readouterr() == (
        "",
        f"nexus-mcp: {what} cannot run on this system: Python has no os.O_DIRECTORY, signal.pthread_sigmask, "
        "the module resource here. Run it on Linux or macOS, or in WSL.\n",
    )
