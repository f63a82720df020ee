"""`nexus-mcp undo [N]`: its arguments, its output and its exit codes."""

from __future__ import annotations

import errno
import json
import os
import signal
from unittest.mock import patch

import pytest

from nexus_mcp import schemas
from nexus_mcp.cli import main
from nexus_mcp.cli import undo as command
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.store import lock
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.lock import join_queue
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.cli.support import nexus
from tests.store.oplog_support import TASK, answered, entries, files
from tests.support import Project


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["undo", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def there(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project around the working directory, with an artifact that was overwritten and a task."""
    answered(project.root, "artifact_write", {"filename": "a.md", "content": "old"})
    answered(project.root, "artifact_write", {"filename": "a.md", "content": "new"})
    answered(project.root, "task_add", TASK)
    monkeypatch.chdir(project.root)
    return project


@pytest.mark.requirement("undo.command")
def test_undo_without_a_number_takes_back_the_last_change(capsys: pytest.CaptureFixture[str], there: Project) -> None:
    """Without a number it is the last change, and the answer names it and its file."""
    at = entries(there.root)[-1]["at"]
    assert run(capsys) == (
        0,
        f"Taken back:\n  {at}  task_add  adds task 1: {TASK['title']}  Client 1\n"
        ".nexus/state/tasks.json is gone: it was not there before.\n",
        "",
    )
    assert files(there.root) == {"artifacts/a.md": b"new"}


@pytest.mark.requirement("undo.command")
def test_undo_with_a_number_takes_back_as_many_changes(there: Project) -> None:
    """undo N takes back N changes, and the log entry names the command and the harness."""
    ran = nexus("undo", "2", "--harness-id", "codex", cwd=there.root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == ".nexus/state/artifacts/a.md is as it was before."
    assert files(there.root) == {"artifacts/a.md": b"old"}
    note = entries(there.root)[-1]
    assert (note["tool"], note["harness_id"], note["client"]) == ("undo", "codex", "command line")


@pytest.mark.requirement("undo.dry-run")
def test_dry_run_changes_nothing(capsys: pytest.CaptureFixture[str], there: Project) -> None:
    """--dry-run lists the changes to take back and changes nothing."""
    before = there.snapshot()
    code, out, err = run(capsys, "2", "--dry-run", "--project", str(there.root))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "These would be taken back:"
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["artifact_write", "task_add"]
    assert out.splitlines()[3:] == [
        ".nexus/state/tasks.json would be gone: it was not there before.",
        ".nexus/state/artifacts/a.md would be as it was before.",
    ]
    assert there.snapshot() == before


@pytest.mark.requirement("undo.command", "undo.refused")
def test_refused_undo_exits_with_1(capsys: pytest.CaptureFixture[str], there: Project) -> None:
    """A refusal is one line on stderr, exit code 1, and no file is touched."""
    before = there.snapshot()
    assert run(capsys, "4") == (
        1,
        "",
        "nexus-mcp: The operation log has 3 changes that can be taken back, and more were asked for; "
        "nothing was changed. nexus-mcp undo 3 takes all 3 back.\n",
    )
    there.put("state/tasks.json", b"their own text")
    before = there.snapshot()
    code, out, err = run(capsys)
    at = entries(there.root)[-1]["at"]
    assert (code, out) == (1, "")
    assert err == (
        f"nexus-mcp: .nexus/state/tasks.json is not what task_add of {at} left: something else changed it; "
        "nothing was changed. See nexus-mcp log. The present content stays.\n"
    )
    assert {**there.snapshot(), ".nexus/state/lock": b""} == {**before, ".nexus/state/lock": b""}


@pytest.mark.parametrize("word", ["0", "-1", "x", "1.0"])
def test_invalid_number_is_a_usage_error(capsys: pytest.CaptureFixture[str], there: Project, word: str) -> None:
    """A value that is no number from 1 is a usage error."""
    assert run(capsys, word) == (2, "", f"nexus-mcp: N needs a number from 1, not {word!r}.\n")


def test_second_number_is_refused(capsys: pytest.CaptureFixture[str], there: Project) -> None:
    """One number is all it takes."""
    code, _, err = run(capsys, "1", "2")
    assert (code, err) == (2, "nexus-mcp: nexus-mcp undo takes one N: '2' after '1' is too much.\n")


@pytest.mark.requirement("undo.command")
def test_unprintable_result_is_reported_on_stderr(capsys: pytest.CaptureFixture[str], there: Project) -> None:
    """If the result cannot be printed, stderr says that the undo was made nevertheless."""
    with patch.object(command, "_print_result", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
        code, _, err = run(capsys)
    assert code == 1
    assert command.NOT_PRINTED in err
    assert files(there.root) == {"artifacts/a.md": b"new"}


@pytest.mark.requirement("undo.command", "undo.all-or-nothing")
def test_ctrl_c_waits_until_the_undo_is_recorded(capsys: pytest.CaptureFixture[str], there: Project) -> None:
    """Ctrl-C while files are replaced waits until that is noted, and Python's own handler is back afterwards."""
    real, before = Folder.rename, signal.getsignal(signal.SIGINT)

    def rename(self: Folder, old: str, new: str) -> None:
        real(self, old, new)
        signal.raise_signal(signal.SIGINT)

    with patch.object(Folder, "rename", rename):
        code, out, _ = run(capsys, "2")
    assert (code, out.splitlines()[0]) == (0, "Taken back:")
    assert entries(there.root)[-1]["tool"] == "undo"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.requirement("undo.command")
@pytest.mark.parametrize("option", [[], ["--dry-run"]])
def test_interrupt_ends_the_wait_of_an_undo(
    capsys: pytest.CaptureFixture[str], there: Project, option: list[str]
) -> None:
    """Ctrl-C ends the wait for the lock; the message says that nothing was changed."""
    before = files(there.root)

    def then_queued(fd: int) -> object:
        signal.raise_signal(signal.SIGINT)
        return join_queue(fd)

    with Store(Workspace(str(there.root))).locked_state(), patch.object(lock, "join_queue", then_queued):
        assert run(capsys, *option) == (130, "", "nexus-mcp: Interrupted; nothing was changed.\n")
    assert files(there.root) == before


def test_ignored_sigint_ends_no_wait() -> None:
    """Where SIGINT is ignored, as by nohup, it ends no wait."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with defer_interrupt(lambda: pytest.fail("was interrupted")):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("words", [["--dry-run"], []], ids=["dry", "done"])
def test_json_has_the_changes_in_the_order_of_the_log(
    capsys: pytest.CaptureFixture[str], there: Project, words: list[str]
) -> None:
    """--json prints one line that keeps its schema: the changes, the newest last, and the files."""
    known = entries(there.root)
    code, out, err = run(capsys, "2", "--json", *words)
    view = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert schemas.faults(schemas.load("views/undo"), view) == []
    assert (view["dry_run"], view["undone"]) == (bool(words), known[-2:])
    assert {one["name"]: one["is_there"] for one in view["files"]} == {"artifacts/a.md": True, "tasks.json": False}
    assert (files(there.root) == {"artifacts/a.md": b"old"}) is not bool(words)
