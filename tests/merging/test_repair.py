"""A repair on disk keeps the old file, touches nothing else, and a crash leaves the old or the new file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from nexus_mcp.errors import LockTimeout, NexusError, PathRefused, StateError
from nexus_mcp.merging import repair as merging_repair
from nexus_mcp.merging import repair as module
from nexus_mcp.merging.diagnosis import Conflict, DamagedFile, Diagnosis, Healthy, Hopeless, diagnose
from nexus_mcp.merging.repair import examine, is_backup, repair
from nexus_mcp.server.app import App
from nexus_mcp.store import lock
from nexus_mcp.store.access import Access
from nexus_mcp.store.folder import Folder
from tests.merging.support import OURS, numbered, titles
from tests.store.crash_points import failing_at, killed
from tests.support import SMALLEST, Client, Project, without_lock

ONE, TWO = OURS([numbered(1), numbered(2)]), OURS([numbered(1), numbered(3)])
BOTH = OURS([numbered(1), numbered(2), numbered(3)])
MARKED = b"<<<<<<< HEAD\n" + ONE + b"=======\n" + TWO + b">>>>>>> other\n"
CUT = ONE[:-30]
HISTORY = ".nexus/history.json"
BACKUP = ".nexus/history.backup.json"


def test_conflict_is_repaired_to_the_union_of_its_sides(project: Project) -> None:
    """A conflict becomes the union of its sides, and the file as it was lies beside; no other file is touched.

    Where it makes the folder of the lock, `.gitignore` comes with it, so that git does not track the lock.
    """
    project.put("history.json", MARKED)
    project.put("state/tasks.json", MARKED)
    (project.nexus / "history.json").chmod(0o640)
    before = project.snapshot()
    done = repair(str(project.root))
    assert isinstance(done.diagnosis, Conflict)
    assert (done.diagnosis.ours, done.diagnosis.theirs, done.diagnosis.cycles) == (2, 2, 3)
    assert (done.backup, done.interrupted) == (BACKUP, False)
    assert without_lock(project.snapshot()) == {
        **before,
        HISTORY: BOTH,
        BACKUP: MARKED,
        ".nexus/.gitignore": b"state/\n",
    }
    assert (project.nexus / "history.json").stat().st_mode & 0o777 == 0o640


def test_damage_is_repaired_only_when_agreed(project: Project) -> None:
    """A damaged history is repaired only with --yes, which drops the unreadable parts."""
    project.put("history.json", CUT)
    before = project.snapshot()
    done = repair(str(project.root))
    assert isinstance(done.diagnosis, DamagedFile)
    assert (done.backup, done.diagnosis.cycles, project.snapshot()) == ("", 1, before)
    agreed = repair(str(project.root), damage=True)
    assert (agreed.backup, titles(project.get("history.json"))) == (BACKUP, [1])
    assert project.get("history.backup.json") == CUT


@pytest.mark.parametrize("data", [None, ONE, b"", b"\0" * 9, b"[]", ONE + MARKED[:-20], MARKED.replace(b'"a', b"", 1)])
@pytest.mark.parametrize("call", [examine, lambda root: repair(root, damage=True)], ids=["examine", "repair"])
def test_whole_missing_or_irreparable_history_stays_unchanged(
    project: Project, data: bytes | None, call: object
) -> None:
    """A whole, a missing and an irreparable history stay unchanged, and no lock file is created."""
    if data is not None:
        project.put("history.json", data)
    before = project.snapshot()
    assert callable(call)
    done = call(str(project.root))
    assert isinstance(done.diagnosis, Healthy if data in (None, ONE) else Hopeless | Conflict)
    if not isinstance(done.diagnosis, Conflict):
        assert (done.backup, project.snapshot()) == ("", before)


@pytest.mark.parametrize("data", [MARKED, CUT])
def test_preview_of_a_repair_changes_nothing(project: Project, data: bytes) -> None:
    """A dry run describes the repair without taking the lock or changing a file."""
    project.put("history.json", data)
    before = project.snapshot()
    assert examine(str(project.root)).diagnosis.cycles in (1, 3)  # type: ignore[union-attr]
    assert project.snapshot() == before


def test_backups_never_replace_another(project: Project) -> None:
    """Each backup has a name of its own; one with the same bytes is not made twice."""
    torn = [MARKED, CUT, MARKED, CUT + b"\0"]
    names = []
    for data in torn:
        project.put("history.json", data)
        names.append(repair(str(project.root), damage=True).backup)
    kept = [BACKUP, ".nexus/history.backup.2.json", BACKUP, ".nexus/history.backup.3.json"]
    assert names == kept
    assert [(project.root / name).read_bytes() for name in kept] == torn
    assert all(is_backup(os.path.basename(name)) for name in names)
    assert not any(map(is_backup, ("history.json", "history.backup.01.json", "history.backup.x.json", "a.backup.json")))


def test_an_interrupted_close_waits(call: Client, app: App, project: Project) -> None:
    """A pending change in the journal does not prevent a repair, and the next call completes it."""
    call("task_add", title="Work 9", context="Because")
    waiting, step = project.state / "txn.json", 0
    while not waiting.exists():
        step += 1
        assert killed(step, lambda: app.call("task_close", {})) is None
    recorded = waiting.read_bytes()
    project.put("history.json", MARKED)
    assert "history repair" in call.error("plan_start", **SMALLEST["plan_start"])
    done = repair(str(project.root))
    assert (done.interrupted, waiting.read_bytes()) == (True, recorded)
    app.call("plan_status", {})
    assert titles(project.get("history.json")) == [1, 2, 3, 9]
    assert not waiting.exists()


@pytest.fixture
def nothing_in_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the calls of git, because their system calls are not the ones to fail."""
    monkeypatch.setattr(module, "unmerged_sides", lambda _: None)


@pytest.mark.usefixtures("nothing_in_git")
def test_repair_killed_at_any_step_can_be_repeated(project: Project) -> None:
    """Killed at any step, the history is the old one or repaired with the backup beside it; a second repair
    repairs it.
    """
    root = str(project.root)
    steps = 0
    while True:
        steps += 1
        for left in project.nexus.glob("history.*"):
            left.unlink()
        project.put("history.json", MARKED)
        done = killed(steps, lambda: repair(root))
        now = project.get("history.json")
        assert now in (MARKED, BOTH)
        if now == BOTH:
            assert project.get("history.backup.json") == MARKED
        if done is not None:
            break
        repair(root)
        assert (project.get("history.json"), project.get("history.backup.json")) == (BOTH, MARKED)
        assert len([name for name in os.listdir(project.nexus) if is_backup(name)]) == 1
    assert steps > 15


@pytest.mark.usefixtures("nothing_in_git")
def test_failed_repair_leaves_a_whole_history(project: Project) -> None:
    """A full disk at any step gives one of our errors, with the old history, or the repaired one and its backup."""
    root = str(project.root)
    for step in range(1, 100):
        for left in project.nexus.glob("history.*"):
            left.unlink()
        project.put("history.json", MARKED)
        told = ""
        with failing_at(step, 28) as calls:
            try:
                repair(root)
            except NexusError as error:
                told = str(error)
        if told:
            assert (BACKUP in told) or not (project.nexus / "history.backup.json").exists()
        now = project.get("history.json")
        assert now in (MARKED, BOTH)
        assert now == MARKED or project.get("history.backup.json") == MARKED
        if len(calls.names) < step:
            return
    raise AssertionError("no end")


def test_save_during_a_repair_is_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another program changed since it was read is not replaced."""
    project.put("history.json", MARKED)
    keep = merging_repair.write_backup

    def late(nexus: Folder, data: bytes, check: Callable[[], None]) -> str:
        project.put("history.json", ONE)
        return keep(nexus, data, check)

    monkeypatch.setattr(merging_repair, "write_backup", late)
    with pytest.raises(StateError, match="was changed meanwhile; nothing was changed"):
        repair(str(project.root))
    assert project.get("history.json") == ONE


def test_repair_waits_for_the_lock(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the lock nothing is repaired; its own repair is seen afterwards."""
    project.put("history.json", MARKED)
    root = str(project.root)
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.0)
    with Access(root, 0.0).writer_lock(), pytest.raises(LockTimeout):
        repair(root)
    assert project.get("history.json") == MARKED
    seen = module._examine(root)
    project.put("history.json", BOTH)
    monkeypatch.setattr(module, "_examine", lambda *_: seen)
    assert isinstance(repair(root).diagnosis, Healthy)
    assert [name for name in os.listdir(project.nexus) if is_backup(name)] == []


def test_a_file_is_diagnosed_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the lock an unchanged file is not diagnosed again, because other processes wait."""
    project.put("history.json", MARKED)
    calls = []

    def counted(data: bytes | None, *asking: Any) -> Diagnosis:
        calls.append(data)
        return diagnose(data, *asking)

    monkeypatch.setattr(module, "diagnose", counted)
    assert repair(str(project.root)).backup == BACKUP
    assert calls == [MARKED]


@pytest.mark.parametrize("name", ["history.json", "history.backup.json", ""])
def test_links_in_place_of_history_or_backup_are_refused(project: Project, name: str) -> None:
    """A link in the place of the history, its backup or the folder is not followed."""
    outside = project.root / "outside"
    if name:
        project.put("history.json", MARKED)
        outside.write_bytes(MARKED)
        (project.nexus / name).unlink(missing_ok=True)
        (project.nexus / name).symlink_to(outside)
    else:
        outside.mkdir()
        (outside / "history.json").write_bytes(MARKED)
        project.nexus.symlink_to(outside)
    before = project.snapshot()
    with pytest.raises(PathRefused, match="symbolic link"):
        repair(str(project.root))
    assert project.snapshot() == before
