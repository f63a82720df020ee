"""Polling of files: which differences count as a change, and that it stops without subscribers."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.store import poller
from nexus_mcp.store.poller import Poller, mark

Told = queue.Queue[set[str]]


@pytest.fixture
def told() -> Told:
    return queue.Queue()


@pytest.fixture
def watch(tmp_path: Path, told: Told) -> Iterator[Poller]:
    """Return a poller that does not wait between two polls, and the list of the reported changes."""
    made = Poller(lambda _: str(tmp_path), lambda changed: told.put(changed) if changed else None, 0.001)
    yield made
    made.end()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "poller"]


def replaced(path: Path) -> None:
    """Other bytes of the same length and the same time, in another file of the same name."""
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"B" * before.st_size)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def rewritten(path: Path) -> None:
    """Other bytes of the same length and the same time, in place."""
    before = path.stat()
    path.write_bytes(b"C" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"longer"),
        replaced,
        rewritten,
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), path.symlink_to("elsewhere")),
    ],
)
def test_every_change_of_a_file_is_noticed(
    tmp_path: Path, watch: Poller, told: Told, change: Callable[[Path], object]
) -> None:
    """A file that was written, replaced or removed has changed, whatever its size and times pretend."""
    path = tmp_path / "a"
    path.write_bytes(b"A")
    watch.add(["a", "absent"])
    change(path)
    assert told.get() == {"a"}


def test_appearing_file_is_noticed(tmp_path: Path, watch: Poller, told: Told) -> None:
    """The file and its folder may be absent at first."""
    watch.add(["folder/a"])
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_bytes(b"")
    assert told.get() == {"folder/a"}


@pytest.mark.parametrize("change", [replaced, rewritten, lambda path: path.unlink()])
@pytest.mark.parametrize("name", ["folder/", f"folder{poller.FILES}"])
def test_every_change_in_a_folder_is_noticed(
    tmp_path: Path, watch: Poller, told: Told, name: str, change: Callable[[Path], object]
) -> None:
    """A file written in place too, which changes no time of the folder."""
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "a"
    path.write_bytes(b"A")
    watch.add([name])
    change(path)
    assert told.get() == {name}


def test_each_second_poll_reads_no_folder_that_kept_its_times(tmp_path: Path) -> None:
    """Of four polls two read the folder."""
    (tmp_path / "folder").mkdir()
    watch = Poller(lambda _: str(tmp_path), lambda _: None, pause=1000)
    watch.add(["folder/", "a"])
    watch._poll()
    with patch.object(poller, "mark", wraps=mark) as read:
        for _ in range(4):
            watch._poll()
    watch.end()
    assert [call.args[1] for call in read.call_args_list].count("folder/") == 2
    assert [call.args[1] for call in read.call_args_list].count("a") == 4


def test_folder_stamp_changes_with_its_content(tmp_path: Path) -> None:
    """A folder's stamp changes with its entries; where only names count, with added and removed ones, at any depth."""
    marks = []

    def look() -> tuple[bool, bool]:
        marks.append((mark(str(tmp_path), "d/"), mark(str(tmp_path), "d//")))
        return marks[-1][0] != marks[-2][0], marks[-1][1] != marks[-2][1]

    marks.append((mark(str(tmp_path), "d/"), mark(str(tmp_path), "d//")))
    (tmp_path / "d").mkdir()
    assert look() == (True, True)
    (tmp_path / "d" / "a").write_bytes(b"")
    assert look() == (True, True)
    (tmp_path / "d" / "a").write_bytes(b"more")
    assert look() == (True, False)
    (tmp_path / "d" / "e").mkdir()
    assert look() == (True, True)
    (tmp_path / "d" / "e" / "f").write_bytes(b"")
    assert look()[1] is True
    assert look() == (False, False)


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A change of a link's target has no effect, and a folder that is a link counts as empty."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    before = [mark(str(tmp_path), path) for path in ("link", "link/", "link//")]
    (tmp_path / "real" / "a").write_bytes(b"")
    assert [mark(str(tmp_path), path) for path in ("link", "link/", "link//")] == before
    assert before[1:] == [None, None]


def test_huge_folder_is_polled_up_to_a_bound(tmp_path: Path) -> None:
    """Of a folder with too many names a limited number is polled, and the time of the folder."""
    folder = tmp_path / "d"
    folder.mkdir()
    for number in range(5):
        (folder / str(number)).write_bytes(b"")
    with patch.object(poller, "MOST_NAMES", 3):
        seen = len(list(poller._names(str(folder)))), len(list(poller._entries(str(folder))))
    assert seen == (4, 4)


@pytest.mark.parametrize("kind", ["d/", "d//"])
def test_change_in_a_huge_folder_is_noticed_by_its_time(tmp_path: Path, kind: str) -> None:
    """A file added to or removed from a folder with too many names changes the time of the folder."""
    folder = tmp_path / "d"
    folder.mkdir()
    names = [folder / str(number) for number in range(5)]

    def seen() -> object:
        with patch.object(poller, "MOST_NAMES", 2):
            return mark(str(tmp_path), kind)

    changes: tuple[Callable[[Path], object], ...] = (lambda path: path.write_bytes(b""), Path.unlink)
    for change in changes:
        for path in names:
            os.utime(folder, (1, 1))
            before = seen()
            assert seen() == before
            change(path)
            assert seen() != before


def test_change_in_many_folders_is_noticed_by_their_times(tmp_path: Path) -> None:
    """With too many names in a tree, each of its folders is known as long as there is room for the folders."""
    folders = [tmp_path / "d" / str(number) for number in range(9)]
    for folder in folders:
        folder.mkdir(parents=True)
        for number in range(5):
            (folder / str(number)).write_bytes(b"")
        os.utime(folder, (1, 1))
    with patch.object(poller, "MOST_NAMES", 12):
        for folder in folders:
            before = mark(str(tmp_path), "d//")
            (folder / "new").write_bytes(b"")
            assert mark(str(tmp_path), "d//") != before


def test_unreadable_path_counts_as_unchanged(tmp_path: Path) -> None:
    """A path that the system refuses counts as unchanged as long as it is refused."""
    assert mark(str(tmp_path), "a\0b") == mark(str(tmp_path), "a\0b") != None  # noqa: E711
    assert mark(str(tmp_path), "x" * 300) == mark(str(tmp_path), "x" * 300)


def test_one_thread_runs_only_while_paths_are_polled(tmp_path: Path, watch: Poller, told: Told) -> None:
    """There is one thread however much is wanted, and none before or after."""
    assert threads() == []
    watch.add(["a", "b"])
    watch.add(["b"])
    assert threads() == ["poller"]
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "poller"]
    watch.remove(["a", "b"])
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"")
    assert told.get() == {"b"}
    watch.remove(["b"])
    thread.join()
    watch.add(["a"])
    (tmp_path / "a").unlink()
    assert told.get() == {"a"}


def test_last_poll_reports_the_final_changes(tmp_path: Path, told: Told) -> None:
    """At the end the last changes are still reported; no later ones are, and the thread has ended."""
    watch = Poller(lambda _: str(tmp_path), lambda changed: told.put(changed) if changed else None, pause=1000)
    watch.add(["a"])
    (tmp_path / "a").write_bytes(b"")
    watch.end()
    assert told.get_nowait() == {"a"}
    assert threads() == []
    watch.add(["b"])
    (tmp_path / "b").write_bytes(b"")
    watch.end()
    assert told.empty()


@pytest.mark.requirement("subscriptions.told")
def test_files_are_polled_four_times_a_second(tmp_path: Path) -> None:
    """A change is reported within a second, and the files are polled at most four times a second."""
    assert 1 / 4 <= poller.PAUSE <= 1 / 2
    waits: list[float | None] = []
    looked = threading.Semaphore(0)
    watch = Poller(lambda _: str(tmp_path), lambda _: looked.release())
    real = watch._changed.wait_for

    def wait_for(predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        waits.append(timeout)
        return real(predicate, 0)

    with patch.object(watch._changed, "wait_for", wait_for):
        watch.add(["a"])
        for _ in range(3):
            looked.acquire()
        watch.end()
    assert set(waits) == {poller.PAUSE}
