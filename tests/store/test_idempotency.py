"""A call with an idempotency key is carried out once, and a repeated one gets the first answer."""

from __future__ import annotations

import errno
import json
import stat
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.state.idempotency import KEPT_S, META_NAME
from nexus_mcp.store import idempotency, journal
from nexus_mcp.store.store import Store, undo
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import failing_at, killed
from tests.store.oplog_support import BY
from tests.store.test_crashes import CHANGES, ERRORS, files, prepared
from tests.support import NAMES, READ_ONLY, SMALLEST

Json = Any
TASK = {"title": "Once", "context": "because"}
OTHERS = {"task_add": {**TASK, "risk": "none"}, "task_close": {}, "plan_start": CHANGES["plan_start"][1]}


def app_of(root: Path, **more: Any) -> App:
    return App(Workspace(str(root)), **more)


def keyed(app: App, tool: str, arguments: Json, key: Json = "key", holder: str = "") -> Json:
    answer = app.call(tool, arguments, meta={META_NAME: key}, holder=holder)
    answer.confirm_delivery()
    return answer.result


def error_of(result: Json) -> str:
    assert result["isError"], result
    text: str = result["structuredContent"]["error"]
    return text


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def tasks_of(root: Path) -> list[str]:
    return [task["title"] for task in json.loads((root / ".nexus/state/tasks.json").read_text())["tasks"]]


@pytest.mark.parametrize("tool", CHANGES)
def test_repeated_call_gets_the_first_answer_and_writes_nothing(tmp_path: Path, tool: str) -> None:
    """The whole result is the same, also from another server, and no file of the project changes."""
    app = prepared(tmp_path)
    name, arguments = CHANGES[tool]
    first = keyed(app, name, arguments)
    assert first["isError"] is False
    before = everything(tmp_path)
    assert keyed(app, name, arguments) == first
    assert keyed(app_of(tmp_path), name, dict(reversed(arguments.items()))) == first
    assert everything(tmp_path) == before


@pytest.mark.parametrize("tool", [name for name in NAMES if name not in READ_ONLY])
def test_key_changes_neither_answer_nor_files(tmp_path: Path, tool: str) -> None:
    """A call with a key returns and writes the same as a call without a key, except for the record of the key."""
    results, states = list[str](), list[Json]()
    for meta in ({}, {META_NAME: "key"}):
        root = tmp_path / str(len(results))
        root.mkdir()
        app = app_of(root, now=lambda: 1_700_000_000.0)
        for setup in ("plan_start", "task_add"):
            app.call(setup, SMALLEST[setup])
        results.append(json.dumps(app.call(tool, SMALLEST[tool], meta=meta).result).replace(str(root), ""))
        stored = everything(root / ".nexus")
        states.append({name: data for name, data in stored.items() if name.partition("/")[0] != "state"})
        states[-1].update({name: stored.get(f"state/{name}") for name in ("plan.json", "tasks.json")})
    assert results[0] == results[1]
    assert states[0] == states[1]


@pytest.mark.parametrize("tool", OTHERS)
def test_key_of_another_call_is_an_error(tmp_path: Path, tool: str) -> None:
    """Other arguments, or another tool, change nothing; the first call can still be repeated."""
    app = prepared(tmp_path)
    first = keyed(app, "task_add", TASK)
    before = everything(tmp_path)
    assert "another tool or other arguments; nothing was changed" in error_of(keyed(app, tool, OTHERS[tool]))
    assert everything(tmp_path) == before
    assert keyed(app, "task_add", TASK) == first


def test_key_belongs_to_its_holder_and_project(tmp_path: Path) -> None:
    """Two tokens, or two projects, may use one key for different calls."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    for root, holder, title in ((one, "a", "A"), (one, "b", "B"), (other, "a", "C")):
        for _ in range(2):
            result = keyed(app_of(root), "task_add", {**TASK, "title": title}, holder=holder)
            assert result["structuredContent"]["task"]["title"] == title
    assert (tasks_of(one), tasks_of(other)) == (["A", "B"], ["C"])


def test_refused_call_keeps_nothing(tmp_path: Path) -> None:
    """A call that failed can be repeated with its key once its reason is gone."""
    app = app_of(tmp_path)
    arguments = {"id": 1, "status": "completed"}
    assert error_of(keyed(app, "task_update", arguments)) == "tasks.json not found"
    assert not (tmp_path / ".nexus").exists()
    app.call("task_add", TASK)
    assert keyed(app, "task_update", arguments)["isError"] is False


def test_read_only_tools_ignore_the_key(tmp_path: Path) -> None:
    """They answer with the present state for every key, even for a malformed one."""
    app = prepared(tmp_path)
    for tool in sorted(READ_ONLY):
        for key in ("key", 5, "x" * 300):
            assert keyed(app, tool, {}, key) == app.call(tool, {}).result
    assert not (tmp_path / ".nexus/state/idempotency").exists()


@pytest.mark.parametrize("key", ["", "x" * 256, 5, None, True, ["x"], {"x": 1}, "a\ud800"])
def test_malformed_key_is_refused(tmp_path: Path, key: Json) -> None:
    """A key is text of 1 to 255 characters; any other value is an error that changes nothing."""
    told = error_of(keyed(app_of(tmp_path), "task_add", TASK, key))
    assert "is not usable: a key is text of 1 to 255 characters; nothing was changed" in told
    assert not (tmp_path / ".nexus").exists()


@pytest.mark.parametrize("key", ["x" * 255, "\0", "é" * 255, "../../x", " "])
def test_any_text_is_a_key(tmp_path: Path, key: str) -> None:
    """A key of any 255 characters works: it is neither stored nor part of a file name."""
    app = app_of(tmp_path)
    assert keyed(app, "task_add", TASK, key) == keyed(app, "task_add", TASK, key)
    stored = everything(tmp_path)
    assert not [name for name, data in stored.items() if len(key) > 5 and key.encode() in data + name.encode()]


def test_concurrent_calls_with_one_key_are_carried_out_once(tmp_path: Path) -> None:
    """Eight threads with a server each send one call at the same moment: one task, and eight equal answers."""
    prepared(tmp_path)
    gate, results = threading.Barrier(8), list[Json]()

    def run() -> None:
        app = app_of(tmp_path)
        gate.wait()
        results.append(keyed(app, "task_add", TASK))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [results[0]] * 8
    assert tasks_of(tmp_path).count("Once") == 1


@pytest.mark.parametrize("tool", ["task_add", "task_close", "artifact_write", "plan_start"])
def test_call_that_dies_anywhere_is_carried_out_once(tmp_path: Path, tool: str) -> None:
    """A process that dies at any system call leaves both the write and its key, or none: a retry makes it once."""
    name, arguments = CHANGES[tool]
    number, is_done = 0, False
    while not is_done:
        number += 1
        root = tmp_path / str(number)
        root.mkdir()
        prepared(root)
        is_done = killed(number, partial(keyed, app_of(root), name, arguments)) is not None
        again = keyed(app_of(root), name, arguments)
        assert again["isError"] is False, (number, again)
        assert keyed(app_of(root), name, arguments) == again
        assert _times(files(root), tool) == 1, number
        assert not list((root / ".nexus/state/idempotency").glob(".nexus-tmp-*"))
    assert number > 30


def _times(found: Json, tool: str) -> int:
    """Return how many times the change was made."""
    if tool == "task_add":
        return sum(task["title"] == "More" for task in found["tasks"]["tasks"])
    if tool == "artifact_write":
        return sum(text == "new" for text in found["artifacts"].values())
    cycles = [cycle for cycle in found["history"] if cycle["plan"] is not None]
    return len(cycles) if tool == "task_close" else len(cycles) * (found["plan"]["topic"] == "Next")


@pytest.mark.parametrize("code", ERRORS[:2], ids=lambda code: errno.errorcode[code])
def test_disk_error_anywhere_keeps_the_promise(tmp_path: Path, code: int) -> None:
    """After any failed system call the error is true about the change, and a retry makes exactly one change."""
    number, is_reached = 0, True
    while is_reached:
        number += 1
        root = tmp_path / str(number)
        root.mkdir()
        app = prepared(root)
        with failing_at(number, code) as calls:
            result = keyed(app, "task_add", TASK)
        is_reached = len(calls.names) >= number
        if result["isError"] and "nothing was changed" in error_of(result):
            assert not (root / ".nexus/state" / journal.NAME).exists()
        again = keyed(app_of(root), "task_add", TASK)
        assert again["isError"] is False, (number, again)
        assert tasks_of(root).count("Once") == 1
    assert number > 20


def test_keyed_close_needs_no_receipt_and_takes_none(tmp_path: Path) -> None:
    """The key answers the retry: no receipt is left, and a close with another key archives a cycle of its own."""
    app = prepared(tmp_path)
    app.call("task_close", {}).drop_delivery()
    closed = app.call("task_close", {}, meta={META_NAME: "a"})
    closed.drop_delivery()
    assert closed.result["structuredContent"]["total_cycles"] == 3
    assert keyed(app, "task_close", {}, "b")["structuredContent"]["total_cycles"] == 4
    assert keyed(app, "task_close", {}, "a") == closed.result
    assert not list((tmp_path / ".nexus/state").glob("closed-*"))


def test_key_is_forgotten_after_a_day(tmp_path: Path) -> None:
    """Within 24 hours the answer is the first one; after them the call is carried out again. A clock that was set back
    forgets no key.
    """
    at = [1_700_000_000.0]
    app = app_of(tmp_path, now=lambda: at[0])
    first = keyed(app, "task_add", TASK)
    for moved in (KEPT_S - 1, -5 * KEPT_S):
        at[0] = 1_700_000_000.0 + moved
        assert keyed(app, "task_add", TASK) == first
    at[0] = 1_700_000_001.0 + KEPT_S
    assert keyed(app, "task_add", TASK)["structuredContent"]["task"]["id"] == 2
    (path,) = (tmp_path / ".nexus/state/idempotency").iterdir()
    assert len(json.loads(path.read_text())["calls"]) == 1


def test_key_of_the_future_is_kept_a_day_from_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that was a year ahead must not keep the room of its keys for a year: the next key in their file gives
    them its time.
    """
    monkeypatch.setattr(idempotency, "FILES", 1)
    at = [1_700_000_000.0 + 365 * KEPT_S]
    app = app_of(tmp_path, now=lambda: at[0])
    first = keyed(app, "task_add", TASK, "early")
    at[0] = 1_700_000_000.0
    keyed(app, "task_add", TASK, "late")
    assert keyed(app, "task_add", TASK, "early") == first
    at[0] += KEPT_S + 1
    keyed(app, "task_add", TASK, "last")
    calls = json.loads((tmp_path / ".nexus/state/idempotency/00.json").read_text())["calls"]
    assert len(calls) == 1


def test_file_with_old_keys_only_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later call with a key removes a file whose keys are all old; it leaves one that it cannot read."""
    monkeypatch.setattr(idempotency, "FILES", 1)
    keyed(app_of(tmp_path), "task_add", TASK)
    folder = tmp_path / ".nexus/state/idempotency"
    with Store(Workspace(str(tmp_path))).locked_state() as (state, _):
        idempotency.remove_expired(state, 1_700_000_000.0)
        assert (folder / "00.json").exists()
        idempotency.remove_expired(state, 4_000_000_000.0)
        assert not (folder / "00.json").exists()
        (folder / "00.json").write_bytes(b"{")
        idempotency.remove_expired(state, 4_000_000_000.0)
        assert (folder / "00.json").read_bytes() == b"{"


def test_keys_are_bounded_for_each_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder fills half of a file; then its new keys are refused, and those of another holder are not."""
    monkeypatch.setattr(idempotency, "FILES", 1)
    monkeypatch.setattr(idempotency, "LIMIT", 4096)
    app = app_of(tmp_path)
    results = [keyed(app, "task_add", TASK, f"k{number}", "a") for number in range(10)]
    done = [result for result in results if not result["isError"]]
    assert 2 < len(done) < 10
    assert "too many calls of the last 24 hours have a key; nothing was changed" in error_of(results[-1])
    assert keyed(app, "task_add", TASK, "k0", "a") == done[0]
    assert keyed(app, "task_add", TASK, "k0", "b")["isError"] is False
    assert app.call("task_add", TASK).result["isError"] is False
    assert len(tasks_of(tmp_path)) == len(done) + 2
    assert (tmp_path / ".nexus/state/idempotency/00.json").stat().st_size <= 4096


def test_answer_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """A key whose answer would be larger than 512 KiB is refused; without it the call is carried out."""
    app = app_of(tmp_path)
    large = {"title": "Large", "context": "x" * (idempotency.LIMIT // 2)}
    assert "the answer is larger than 512 KiB; nothing was changed" in error_of(keyed(app, "task_add", large))
    assert not (tmp_path / ".nexus").exists()
    assert app.call("task_add", large).result["isError"] is False


DAMAGED = {
    "torn": b'{"version":1,"calls":[\n{"key":"',
    "empty": b"",
    "an array": b"[]",
    "a newer version": b'{"version":2,"calls":[]}',
    "a foreign record": b'{"version":1,"calls":[{"key":"x"}]}',
    "a repeated key": b'{"version":1,"calls":[],"calls":[]}',
    "too large": b'{"version":1,"calls":[]}' + b" " * idempotency.LIMIT,
}


@pytest.mark.parametrize("what", DAMAGED)
def test_unreadable_keys_are_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Only calls with a key are refused, the error names the file, and its bytes do not change."""
    monkeypatch.setattr(idempotency, "FILES", 1)
    app = prepared(tmp_path)
    folder = tmp_path / ".nexus/state/idempotency"
    folder.mkdir()
    (folder / "00.json").write_bytes(DAMAGED[what])
    before = everything(tmp_path)
    told = error_of(keyed(app, "task_add", TASK))
    assert ".nexus/state/idempotency/00.json" in told
    assert "nothing was changed" in told
    assert everything(tmp_path) == before
    assert app.call("task_add", TASK).result["isError"] is False
    assert (folder / "00.json").read_bytes() == DAMAGED[what]


@pytest.mark.parametrize("place", ["idempotency", "idempotency/00.json"])
def test_link_among_the_keys_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """A link in a cloned project cannot lead a write out of the project."""
    monkeypatch.setattr(idempotency, "FILES", 1)
    app = prepared(tmp_path)
    outside = tmp_path.parent / f"{tmp_path.name} outside"
    outside.mkdir()
    (outside / "00.json").write_bytes(b'{"version":1,"calls":[]}')
    link = tmp_path / ".nexus/state" / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if place == "idempotency" else outside / "00.json")
    assert "nothing was changed" in error_of(keyed(app, "task_add", TASK))
    assert everything(outside) == {"00.json": b'{"version":1,"calls":[]}'}
    assert len(tasks_of(tmp_path)) == 1


def test_records_are_private(tmp_path: Path) -> None:
    """A record has text of other files: only its owner can read it, whatever the umask and the folder allow."""
    (tmp_path / ".nexus/state").mkdir(parents=True)
    keyed(app_of(tmp_path), "task_add", TASK)
    (path,) = (tmp_path / ".nexus/state/idempotency").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_call_with_a_key_can_be_taken_back(tmp_path: Path) -> None:
    """Undo restores the files and leaves the keys: a late retry of the call does not make the change again."""
    app = prepared(tmp_path)
    before = files(tmp_path)
    first = keyed(app, "task_add", TASK)
    undo(Store(Workspace(str(tmp_path))), BY, 1)
    assert files(tmp_path) == before
    assert keyed(app, "task_add", TASK) == first
    assert files(tmp_path) == before


def test_artifact_in_the_way_of_a_folder_is_refused_before_the_commit(tmp_path: Path) -> None:
    """No journal is left that could never be completed, and no folder that the call made."""
    app = prepared(tmp_path)
    app.call("artifact_write", {"filename": "a", "content": "file"})
    before = everything(tmp_path)
    error_of(keyed(app, "artifact_write", {"filename": "a/b", "content": "x"}))
    assert everything(tmp_path) == before
    (tmp_path / ".nexus/state/artifacts/b/c").mkdir(parents=True)
    error_of(keyed(app, "artifact_write", {"filename": "b/c", "content": "x"}))
    assert everything(tmp_path) == before


def test_older_version_leaves_such_a_journal_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal with a key has a version of its own: an older nexus-mcp does not complete it without the key."""
    app = prepared(tmp_path)
    state = tmp_path / ".nexus/state"
    number = 0
    while not (state / journal.NAME).exists():
        number += 1
        killed(number, partial(keyed, app, "task_add", TASK, f"k{number}"))
    assert json.loads((state / journal.NAME).read_text())["version"] == 3
    monkeypatch.setattr(journal, "VERSION_WITH_RECORD", 2)
    assert "a version that this nexus-mcp does not know" in error_of(app_of(tmp_path).call("task_add", TASK).result)
