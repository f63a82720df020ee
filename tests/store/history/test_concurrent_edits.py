"""A program without our lock writes the history during a close: its change is not lost."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.errors import StorageError
from nexus_mcp.server.app import App
from nexus_mcp.store import atomic, journal
from nexus_mcp.store.history.append import Growth
from nexus_mcp.store.replacement import Replacement
from nexus_mcp.workspace import Workspace
from tests.store.history.generated import CYCLE, OLD, Site, ours_of

THEIRS = {**CYCLE, "branch": "theirs"}


@pytest.mark.parametrize("before", [None, [CYCLE]])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_history_written_after_the_commit_point_keeps_both(
    fast_path: Path, before: list[object] | None, in_place: bool
) -> None:
    """The close is committed by then: its cycle is added to the end of the newly written history."""
    path = fast_path / ".nexus" / "history.json"
    app = App(Workspace(str(fast_path)))
    app.call("task_add", {"title": "t", "context": "c"}, "").confirm_delivery()
    if before is not None:
        path.write_bytes(ours_of([CYCLE]))
        os.utime(path, OLD)
    real = journal.apply

    def apply(*arguments: object) -> None:
        data = ours_of([*[CYCLE] * (before is not None), THEIRS])
        if in_place:
            path.write_bytes(data)
        else:
            new = path.with_name("new")
            new.write_bytes(data)
            new.replace(path)
        real(*arguments)  # type: ignore[arg-type]

    with patch.object(journal, "apply", apply):
        answer = app.call("task_close", {}, "")
    assert not answer.result["isError"]
    answer.confirm_delivery()
    branches = [cycle["branch"] for cycle in json.loads(path.read_bytes())["cycles"]]
    assert branches[:-1] == ["b"] * (before is not None) + ["theirs"]
    assert sorted(os.listdir(path.parent)) == [".gitignore", "history.json", "state"]
    assert json.loads(path.read_bytes())["cycles"][-1]["tasks"][0]["title"] == "t"


def test_a_history_that_is_changed_while_it_is_copied_is_not_replaced(fast_path: Path) -> None:
    """The change of a program without our lock stays, and the caller gets an error."""
    site = Site(fast_path, ours_of([CYCLE]))
    for change in (
        lambda: site.put(ours_of([CYCLE, CYCLE])),
        lambda: site.path.write_bytes(ours_of([])),
        site.path.unlink,
    ):
        site.put(ours_of([CYCLE]))
        with site.archive() as archive:
            growth = Growth(archive, CYCLE)
            change()
            assert archive.nexus is not None
            with pytest.raises((OSError, StorageError), match=r"keeps changing it|meanwhile|shorter"):
                atomic.prepare(archive.nexus, growth.parts())
        assert os.listdir(site.path.parent) in (["history.json", "state"], ["state", "history.json"], ["state"])


def test_a_history_whose_old_time_was_put_back_is_not_replaced(fast_path: Path) -> None:
    """As rsync and cp do that: size and time of the last write are as before, the time of the last change is not."""
    site = Site(fast_path, ours_of([CYCLE]))
    with site.archive() as archive:
        growth = Growth(archive, CYCLE)
        assert archive.nexus is not None
        assert archive.index.identity is not None
        assert growth.is_current()
        archive.index.identity = (*archive.index.identity[:4], archive.index.identity[4] - 1)
        assert not growth.is_current()
        with pytest.raises(StorageError, match="another program keeps changing it; nothing was changed"):
            atomic.prepare(archive.nexus, growth.parts())


def test_pipe_in_place_of_the_history_is_not_waited_for(fast_path: Path) -> None:
    """Another program creates one after the read: the checks before and after the change end."""
    site = Site(fast_path, ours_of([CYCLE]))
    site.path.chmod(0o600)
    with site.archive() as archive:
        growth = Growth(archive, CYCLE)
        assert archive.nexus is not None
        atomic.prepare(archive.nexus, growth.parts())
        site.path.unlink()
        os.mkfifo(site.path)
        for look in (growth.is_current, growth.add_to_index):
            looking = threading.Thread(target=look, daemon=True)
            looking.start()
            looking.join(60)
            assert not looking.is_alive()
        assert not growth.is_current()


def test_an_end_changed_right_after_the_rename_shows(fast_path: Path) -> None:
    """A program writes as many other bytes to the new history before our check, and sets its time back.

    Were the end not compared with what we wrote, the next cycle would go to where the last one no longer ends.
    """
    path = fast_path / ".nexus" / "history.json"
    app = App(Workspace(str(fast_path)))
    site = Site(fast_path, ours_of([CYCLE, THEIRS]))
    real = Replacement.install

    def install(self: Replacement, temporary: str, new: Any) -> None:
        real(self, temporary, new)
        if isinstance(new, tuple):
            seen, data = path.stat(), path.read_bytes()
            at = data.rindex(b",\n    {")
            with path.open("r+b") as file:
                file.write(data[:at] + b'],"":[' + data[at + 6 :])
            os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    def closed() -> Any:
        app.call("task_add", {"title": "t", "context": "c"}, "").confirm_delivery()
        answer = app.call("task_close", {}, "")
        answer.confirm_delivery()
        return answer.result["structuredContent"]

    assert app.call("history_search", {}, "").result["structuredContent"]["total"] == 2
    with patch.object(Replacement, "install", install):
        closed()
    assert len(json.loads(site.path.read_bytes())["cycles"]) == 2
    assert app.call("history_search", {}, "").result["structuredContent"]["total"] == 2
    assert closed()["total_cycles"] == 3
    assert [cycle["branch"] for cycle in json.loads(path.read_bytes())["cycles"]][:2] == ["b", "theirs"]
    assert len(json.loads(path.read_bytes())["cycles"]) == 3


def test_written_history_is_known_at_once(fast_path: Path) -> None:
    """The new history is checked before its folder is synced, so that other programs have less time for an undetected
    write.
    """
    site = Site(fast_path, ours_of([CYCLE]))
    with site.archive() as archive:
        growth = Growth(archive, THEIRS)
        assert archive.nexus is not None
        temporary = atomic.prepare(archive.nexus, growth.parts())
        known: list[int] = []
        with patch.object(atomic, "confirm", lambda _: known.append(len(site.memory.index or ()))):
            growth.install(temporary)
    assert known == [2]
