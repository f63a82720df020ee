"""A crash or a disk error at every system call of a change: all of it or none of it, and the next call works."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import atomic
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import failing_at, killed
from tests.support import NAMES, READ_ONLY, SMALLEST

Files = dict[str, Any]
Call = tuple[str, dict[str, Any]]

OLD_CYCLE: dict[str, Any] = {
    "completed_at": "2020-01-01T00:00:00.000Z",
    "branch": "main",
    "plan": None,
    "tasks": [],
    "x": 1.50,
}
HISTORY = (
    '{"cycles": [ {"completed_at": "2020-01-01T00:00:00.000Z", "branch":"main","plan":null,"tasks":[],"x":1.50} ]}'
)
PLAN = {"topic": "Topic", "issues": ["One", "Two"], "research_summary": "known"}
CHANGES: dict[str, Call] = {
    **{name: (name, SMALLEST[name]) for name in NAMES if name not in READ_ONLY},
    "task_close": ("task_close", {}),
    "plan_start": ("plan_start", {"topic": "Next", "issues": ["Three"], "research_summary": ""}),
    "task_add": ("task_add", {"title": "More", "context": "because"}),
    "plan_decide": ("plan_decide", {"issue_id": 1, "decision": "yes"}),
    "artifact_write": ("artifact_write", {"filename": "a/b.md", "content": "new"}),
}
ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.EACCES)


def prepared(root: Path) -> App:
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    app = App(Workspace(str(root)))
    call(app, "plan_start", PLAN)
    call(app, "task_add", {"title": "Do", "context": "because"})
    (root / ".nexus" / "history.json").write_text(HISTORY)
    return app


def call(app: App, name: str, arguments: dict[str, Any]) -> Any:
    answer = app.call(name, arguments)
    answer.confirm_delivery()
    assert answer.result["isError"] is False, answer.result
    return answer.result["structuredContent"]


def files(root: Path) -> Files:
    """Return the parsed state files and the artifacts, on which a later call relies. Raises for a torn file."""
    nexus = root / ".nexus"
    found: Files = {"history": json.loads((nexus / "history.json").read_text())["cycles"]}
    for name in ("plan", "tasks"):
        path = nexus / "state" / f"{name}.json"
        found[name] = json.loads(path.read_text()) if path.exists() else None
    artifacts = nexus / "state" / "artifacts"
    written = [p for p in artifacts.rglob("*") if p.is_file() and not p.name.startswith(atomic.PREFIX)]
    found["artifacts"] = {str(p.relative_to(artifacts)): p.read_text() for p in written}
    return found


def untimed(value: Any) -> Any:
    """`value` without its timestamps, which differ from one run of a change to the next."""
    if isinstance(value, dict):
        return {k: untimed(v) for k, v in value.items() if k not in ("created_at", "completed_at", "cycle")}
    return [untimed(v) for v in value] if isinstance(value, list) else value


def unbranched(found: Files) -> Files:
    return {**found, "history": [{**cycle, "branch": None} for cycle in found["history"]]}


def outcomes(fast_path: Path, change: Call) -> tuple[Files, Files]:
    """The files before the change and after an undisturbed one."""
    root = fast_path / "undisturbed"
    root.mkdir()
    app = prepared(root)
    before = files(root)
    call(app, *change)
    return untimed(before), untimed(files(root))


def recovered(root: Path) -> Files:
    """The files once some other process has made a reading call."""
    call(App(Workspace(str(root))), "plan_status", {})
    call(App(Workspace(str(root))), "task_list", {})
    return untimed(files(root))  # type: ignore[no-any-return]


def disturbed(fast_path: Path, change: Call, run: Callable[[App, Path, int], bool]) -> int:
    """Run `run(app, root, n)` in a fresh project for n = 1, 2, … until it returns that the change was completed."""
    for number in range(1, 500):
        root = fast_path / str(number)
        root.mkdir()
        if run(prepared(root), root, number):
            return number
    raise AssertionError(f"{change} never went through")


@pytest.mark.parametrize("name", CHANGES)
def test_a_death_at_any_call_leaves_the_old_state_or_the_new(fast_path: Path, name: str) -> None:
    """Whatever the moment of a crash, the next process finds all of the change or none of it."""
    change = CHANGES[name]
    before, after = outcomes(fast_path, change)

    def die(app: App, root: Path, number: int) -> bool:
        answer = killed(number, lambda: app.call(*change))
        found = recovered(root)
        assert found in (before, after), f"torn by a death at call {number}"
        if answer is not None:
            assert found == after
        again = App(Workspace(str(root)))
        call(again, "task_add", {"title": "Later", "context": "works"})
        left = [p.name for p in root.rglob(f"{atomic.PREFIX}*") if p.parent.name in (".nexus", "state")]
        assert left == [], "the next change sweeps what the dead process left"
        return answer is not None

    assert disturbed(fast_path, change, die) > 8


def test_a_retried_close_is_answered_once_and_archived_once(fast_path: Path) -> None:
    """A client that repeats task_close after a crash gets the answer of the only cycle."""

    def die_and_retry(app: App, root: Path, number: int) -> bool:
        answer = killed(number, lambda: app.call("task_close", {}))
        if answer is not None:
            answer.drop_delivery()  # the process dies before the line is out
        retried = call(App(Workspace(str(root))), "task_close", {})
        cycles = files(root)["history"]
        assert len(cycles) == 2
        assert cycles[0] == OLD_CYCLE
        assert retried["cycle"] == cycles[1]["completed_at"]
        assert retried["archived"] == {"plan": True, "decisions": 0, "tasks": 1}
        assert retried["deleted"] == ["plan.json", "tasks.json"]
        # Answered once: the next one is a close of its own.
        assert call(App(Workspace(str(root))), "task_close", {})["archived"]["plan"] is False
        assert len(files(root)["history"]) == 3
        return answer is not None

    disturbed(fast_path, CHANGES["task_close"], die_and_retry)


def test_a_death_during_recovery_is_recovered_from(fast_path: Path) -> None:
    """Recovery may itself be cut short at any call and is completed by the next one."""
    before, after = outcomes(fast_path, CHANGES["task_close"])
    pairs = 0
    for first in range(1, 500):
        root = fast_path / f"first-{first}"
        root.mkdir()
        app = prepared(root)
        if killed(first, partial(app.call, "task_close", {})) is not None:
            break
        if not (root / ".nexus" / "state" / "txn.json").exists():
            continue
        for second in range(1, 500):
            if killed(second, partial(App(Workspace(str(root))).call, "plan_status", {})) is not None:
                break
            pairs += 1
        assert recovered(root) == after != before
    assert pairs > 50


@pytest.mark.parametrize("code", ERRORS, ids=lambda code: errno.errorcode[code])
@pytest.mark.parametrize("name", CHANGES)
def test_an_error_at_any_call_is_a_clean_refusal_or_committed(fast_path: Path, name: str, code: int) -> None:
    """After any refused system call, the message is true of the files, and the next call works."""
    change = CHANGES[name]
    before, after = outcomes(fast_path, change)

    if code == errno.EACCES:
        # A `.git` that may not be read counts as none, so the branch is not told apart here.
        before, after = unbranched(before), unbranched(after)

    def fail(app: App, root: Path, number: int) -> bool:
        with failing_at(number, code) as seen:
            answer = app.call(*change)
        text = answer.result["structuredContent"].get("error", "")
        found = unbranched(recovered(root)) if code == errno.EACCES else recovered(root)
        if not answer.result["isError"]:
            assert found == after
        elif "nothing was changed" in text:
            assert found == before, f"call {number} ({seen.names[-1]}): {text}"
        else:
            assert "recorded" in text or "did not confirm" in text, f"call {number}: {text}"
            assert found == after, f"call {number}: {text}"
        call(App(Workspace(str(root))), "task_add", {"title": "Later", "context": "works"})
        return len(seen.names) < number

    assert disturbed(fast_path, change, fail) > 8


def test_a_first_write_that_fails_leaves_no_file(fast_path: Path) -> None:
    """In a project without .nexus/, a first call that the disk refuses leaves nothing at all."""
    for number in range(1, 200):
        root = fast_path / str(number)
        root.mkdir()
        with failing_at(number, errno.ENOSPC) as seen:
            answer = App(Workspace(str(root))).call("plan_start", PLAN)
        if len(seen.names) < number:
            break
        if answer.result["isError"] and "nothing was changed" in answer.result["structuredContent"]["error"]:
            left = [str(path.relative_to(root)) for path in root.rglob("*")]
            if seen.names[number - 1] not in ("unlink", "rmdir"):
                assert left == [], f"call {number} ({seen.names[number - 1]}) left {left}"
    assert number > 8


def test_recovery_confirms_the_history_before_the_other_copies_go(fast_path: Path) -> None:
    """A rename of the history that was never synced is synced by the recovery, before tasks.json and journal go."""
    app = prepared(fast_path)
    with failing_at(10_000, errno.EIO) as undisturbed:
        app.call("task_close", {}).confirm_delivery()
    rename = undisturbed.names.index("exchange")
    sync = rename + undisturbed.names[rename:].index("fsync")
    root = fast_path / "again"
    root.mkdir()
    app = prepared(root)
    assert killed(sync + 1, lambda: app.call("task_close", {})) is None  # the sync that follows the exchange
    assert len(files(root)["history"]) == 2
    with failing_at(10_000, errno.EIO) as recovery:
        call(App(Workspace(str(root))), "plan_status", {})
    assert recovery.names.index("fsync") < recovery.names.index("unlink")


def test_a_full_disk_is_met_before_the_commit_point(fast_path: Path) -> None:
    """Every new byte of a close is on disk before the journal is, so no lack of space can leave it half done."""
    app = prepared(fast_path)
    with failing_at(10_000, errno.EIO) as seen:
        app.call("task_close", {}).confirm_delivery()
    commit = seen.names.index("replace")
    assert "write" in seen.names[:commit]
    assert seen.names[commit:].count("write") == 1, "the line of the operation log, which nobody waits for"
