"""The runner finds processes that hid their origin, and leaves foreign processes alone."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.conformance.processes import killing, starting
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.stopping import handle_signals
from nexus_mcp.conformance.target import stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance.support import NASTY, act, gone, nasty_fixture, outcome

SLEEPER = [sys.executable, "-c", "import signal; signal.pause()"]


def test_daemon_of_a_server_is_killed() -> None:
    """A process that left its server's parent, session and environment is reported and killed; our own processes are
    not.
    """
    before = subprocess.Popen(SLEEPER, start_new_session=True)
    fixture = nasty_fixture(act("daemon"))
    (result,) = run([fixture], stdio(NASTY, TargetOptions(end_timeout=0.3)), jobs=1).results
    pid = result.exchanges[0].answer["pid"]
    name = Path(sys.executable).name
    message = f"the target ended, but processes that it started still run: {name} [{pid}]"
    assert (outcome(result), gone(pid)) == (("failed", [("process", "", message)]), True)
    assert before.poll() is None
    before.kill()
    before.wait()


def test_child_of_the_runner_is_no_orphan() -> None:
    """A child that other code of this process starts during a run is no orphan."""
    with killing.adopt_orphans():
        child = subprocess.Popen(SLEEPER)
        assert killing.find_orphans(child.pid) == set()
    assert child.poll() is None
    child.kill()
    child.wait()


def test_lack_of_descriptors_is_not_blamed_on_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that can start nothing more is no fault of the target."""

    def full(*_words: object, **_how: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", full)
    with pytest.raises(HarnessFault) as caught:
        starting.start(["anything"])
    assert (
        str(caught.value) == "No more processes can be started here: Too many open files. Run fewer fixtures at once."
    )


@pytest.mark.parametrize(("files", "lanes", "fixtures"), [(128, 1, 4), (1024, 8, 12), (50, 4, 1), (-1, 1, 1 << 30)])
def test_limit_of_open_files_bounds_parallel_fixtures(
    monkeypatch: pytest.MonkeyPatch, files: int, lanes: int, fixtures: int
) -> None:
    """The limit of open files bounds how many fixtures run at once."""
    monkeypatch.setattr("resource.getrlimit", lambda _which: (files, files))
    assert starting.max_parallel_fixtures(lanes) == fixtures


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_signal_in_a_callback_is_not_lost(number: signal.Signals, raised: type[BaseException]) -> None:
    """A signal that arrives in a callback raises later, and is not lost when a cancellation is caught."""

    async def stubborn() -> str:
        signal.raise_signal(number)
        return "went on"

    with handle_signals() as ending, pytest.raises(raised):
        ending.run(stubborn())
