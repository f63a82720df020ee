"""Files of a target that cannot be deleted: nothing else is touched, and the run reports them and fails."""

from __future__ import annotations

import errno
import json
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nexus_mcp.conformance import stopping
from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.report.json_report import to_json
from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.conformance.report.texts import format_leftovers
from nexus_mcp.conformance.result import Leftover, RunResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.stopping import Ending, Halt, RunHalted, block_signals, handle_signals, run_under_signals
from nexus_mcp.conformance.target import stdio
from nexus_mcp.conformance.trial import emptying, snapshot, workspace_root
from nexus_mcp.conformance.trial.emptying import MOUNTED, empty_folder, remove_at
from nexus_mcp.errors import HarnessFault
from tests.conformance.runs import GOOD
from tests.conformance.support import NASTY, act, nasty_fixture, outcome

STATE = act("mkdir", path=".nexus/state")
IMMUTABLE = "it may be immutable: check with lsattr"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which a run makes its own folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def refusing(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Make the system refuse to delete entries with the name `name`."""

    def refused(work: Callable[..., None]) -> Callable[..., None]:
        def refuse(path: Any, **more: Any) -> None:
            if os.path.basename(os.fspath(path)) == name:
                raise OSError(number, os.strerror(number), path)
            work(path, **more)

        return refuse

    for call in ("unlink", "rmdir"):
        monkeypatch.setattr(os, call, refused(getattr(os, call)))


def mounted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make every folder with the name `name` look like the root of another mount, as a bind mount does."""

    def mount_of(fd: int) -> tuple[str, int]:
        return "mount", int(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")) == name)

    for module in (emptying, snapshot):
        monkeypatch.setattr(module, "mount_of", mount_of)


def judged(*attacks: dict[str, Any]) -> RunResult:
    return run([nasty_fixture(*attacks)], stdio(NASTY, TargetOptions(end_timeout=1)), jobs=1)


@pytest.mark.parametrize(
    ("number", "reason"), [(errno.EPERM, IMMUTABLE), (errno.EBUSY, MOUNTED), (errno.EIO, "Input/output error")]
)
def test_immutable_file_fails_its_fixture(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    """A file that cannot be deleted fails its fixture; the run names folder and reason, and is not good."""
    refusing(monkeypatch, "stuck", number)
    found = judged(STATE, act("write", path=".nexus/state/stuck", text="x"), act("write", path=".nexus/b", text="x"))
    (folder,) = temporary.iterdir()
    (left,) = found.left
    assert (left.path.startswith(str(folder)), left.path.endswith("/project/.nexus/state/stuck")) == (True, True)
    assert left.reason == reason
    (failure,) = found.results[0].failures
    assert failure.message.startswith("the target left files that cannot be deleted: ")
    assert failure.message.endswith(f"/stuck: {reason}")
    assert found.good is False
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["stuck"]


def test_every_report_names_files_left_behind() -> None:
    """Every report names the files left behind, with advice that deletes nothing by itself."""
    found = RunResult(**{**vars(GOOD), "left": (Leftover("/tmp/x\x1b", "why"),)})
    lines = format_leftovers(found.left)
    assert lines[:2] == ["Left behind, because it could not be deleted:", "  /tmp/x\\u001b: why"]
    assert "rm " not in lines[-1]
    assert json.loads(to_json(found))["left_behind"] == [{"path": "/tmp/x\x1b", "reason": "why"}]
    page, suites = to_html(found), ElementTree.fromstring(to_junit(found))
    assert ("/tmp/x\\u001b: why" in page, suites.get("failures")) == (True, "1")
    assert len(suites.findall(".//testcase/failure")) == 1
    assert format_leftovers(GOOD.left) == []


def test_a_mount_is_never_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mount below a folder is reported and left alone, although neither a link nor a device number reveals it."""
    doomed = tmp_path / "doomed"
    (doomed / "a" / "elsewhere" / "precious").mkdir(parents=True)
    (doomed / "a" / "elsewhere" / "precious" / "file").write_text("mine")
    (doomed / "b").mkdir()
    (doomed / "file").write_text("")
    mounted(monkeypatch, "elsewhere")
    fd = os.open(doomed, os.O_RDONLY)
    assert empty_folder(fd, "X") == [Leftover("X/a/elsewhere", MOUNTED)]
    inside = os.open("a", os.O_RDONLY, dir_fd=fd)
    with pytest.raises(OSError, match=MOUNTED):
        remove_at(inside, "elsewhere")
    os.close(inside)
    os.close(fd)
    assert (doomed / "a" / "elsewhere" / "precious" / "file").read_text() == "mine"
    assert sorted(path.name for path in doomed.iterdir()) == ["a"]


def test_mount_in_a_project_fails_its_fixture_and_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that mounts a file system in its project fails; the run leaves the mount and reports it."""
    mounted(monkeypatch, "elsewhere")
    found = judged(STATE, act("mkdir", path=".nexus/elsewhere/deep"))
    assert next(message for _, _, message in outcome(found.results[0])[1]) == (
        "the target mounted a file system at .nexus/elsewhere"
    )
    assert [left.path.rpartition("/project/")[2] for left in found.left] == [".nexus/elsewhere"]
    assert list(temporary.rglob("deep")) != []


def test_folders_of_one_mount_are_recognized() -> None:
    """Folders of one mount are recognized as such, and /proc as another mount."""
    fds = [os.open(path, os.O_RDONLY) for path in ("/", "/proc")]
    one, other = map(emptying.mount_of, fds)
    again = emptying.mount_of(fds[0])
    for fd in fds:
        os.close(fd)
    assert (one == again, one == other) == (True, False)


def test_folder_with_many_entries_is_emptied_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is emptied some entries at a time, past those that cannot be deleted."""
    monkeypatch.setattr(emptying, "_AT_ONCE", 10)
    refusing(monkeypatch, "stuck", errno.EPERM)
    doomed = tmp_path / "doomed"
    doomed.mkdir()
    for number in range(95):
        (doomed / f"{number}").write_text("")
        (doomed / f"d{number}" / "e").mkdir(parents=True)
    (doomed / "stuck").write_text("")
    fd = os.open(doomed, os.O_RDONLY)
    assert empty_folder(fd, "X") == [Leftover("X/stuck", IMMUTABLE)]
    os.close(fd)
    assert [path.name for path in doomed.iterdir()] == ["stuck"]


def test_served_folder_that_stays_full_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the folder of a server over HTTP cannot be emptied, the fault names the remaining files and the reason."""
    refusing(monkeypatch, "stuck", errno.EPERM)
    served = tmp_path / "served"
    served.mkdir()
    made = workspace_root.WorkspaceRoot(str(served))
    sandbox = made.sandbox()
    (served / "stuck").write_text("")
    with pytest.raises(HarnessFault, match=r"stuck remains: .*/stuck: it may be immutable"):
        sandbox.clear()
    made.remove()


def test_work_stops_at_its_deadline_or_on_request() -> None:
    """Work in a thread stops at its deadline, on request, and when a signal shortens its time."""

    def endless() -> None:
        while True:
            stopping.check()

    asked, late = Halt(600), Halt(0.01)
    asked.stop()
    for halt in (asked, late):
        with stopping.set_halt(halt), pytest.raises(RunHalted):
            endless()
    stopping.check()  # outside of such work check() does nothing


def test_cleaning_obeys_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal during the clean-up shortens its time, and ends the run afterwards."""
    monkeypatch.setattr(stopping, "GRACE_S", 0.05)
    begun = threading.Event()

    def endless() -> None:
        begun.set()
        while True:
            stopping.check()

    def alarm() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGTERM)

    def clean() -> None:
        with handle_signals() as ending, block_signals():
            threading.Thread(target=alarm, daemon=True).start()
            assert run_under_signals(endless, ending) is None

    with pytest.raises(SystemExit) as caught:
        clean()
    assert caught.value.code == 143


def test_blocked_run_is_ended_by_the_last_resort(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """If the main thread hangs, the last resort prints which files may be left behind, and ends the process."""
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    ending = Ending()
    ending.last_resort = lambda: "The folder /x may be left behind."
    ending.number = signal.SIGTERM
    ending._end_at_once()
    assert ended == [143]
    assert "The folder /x may be left behind." in capfd.readouterr().err
