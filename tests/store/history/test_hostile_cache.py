"""Only cache files that we wrote for this history are used."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.errors import StateError
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.history import identity, parse
from nexus_mcp.store.history import index as history_index
from nexus_mcp.store.history.index import Index
from nexus_mcp.store.history.memory import Memory
from tests.store.history.generated import CYCLE, Site, ours_of, settled, small

CYCLES = [{**CYCLE, "branch": f"branch {number}"} for number in range(9)]


def look(site: Site, memory: Memory | None = None) -> None:
    with small(), settled(), site.archive(memory or Memory()) as archive:
        assert [archive.cycle(number)["branch"] for number in archive.matches("BRANCH")] == [
            cycle["branch"] for cycle in json.loads(site.path.read_bytes())["cycles"]
        ]


def files(site: Site) -> list[str]:
    return sorted(os.listdir(site.state / "cache"))


@pytest.mark.parametrize(
    "planted",
    [
        b"00000000 " + b"[" * 100_000,
        b"\0" * 100,
        b"nexus\0i1" + b"\xff" * 60,
        b"nexus\0i1" + b"\0" * 60,
        history_index.HEADER.pack(b"nexus\0i1", 1, 1, 1 << 60, 1 << 60, 0),
    ],
    ids=range(5),
)
def test_cache_from_a_clone_is_ignored(fast_path: Path, planted: bytes) -> None:
    """It cannot know its own inode."""
    site = Site(fast_path, ours_of(CYCLES))
    (site.state / "cache").mkdir()
    (site.state / "cache" / "history.index").write_bytes(planted)
    look(site)
    look(site)


@pytest.mark.parametrize(
    "change",
    [
        lambda index: setattr(index, "texts", "../../../victim"),
        lambda index: setattr(index, "texts", "history-0123456789abcdeg/.texts"),
        lambda index: setattr(index, "lined", 10),
        lambda index: setattr(index, "lined", "9"),
        lambda index: setattr(index, "checked", -1),
        lambda index: setattr(index, "version", []),
        lambda index: setattr(index, "version", {"cycles": []}),
        lambda index: setattr(index, "identity", (1, 2)),
        lambda index: setattr(index, "closing", 1),
        lambda index: setattr(index, "closing", 1 << 40),
        lambda index: index.records.pop(),
        lambda index: index.records.__setitem__(slice(0, 16), b"\xff" * 16),
        lambda index: index.records.__setitem__(slice(0, 16), bytes(range(16))),
        lambda index: index.records.reverse(),
    ],
    ids=range(14),
)
def test_an_index_that_could_be_of_no_history_is_none(fast_path: Path, change: Callable[[Index], None]) -> None:
    """Also with a right checksum and its own inode: no offset and no name in it leads anywhere else."""
    site = Site(fast_path, ours_of(CYCLES))
    look(site, site.memory)
    index = site.memory.index
    assert index is not None
    made = history_index.to_bytes(index, 1, 2)
    head = history_index.HEADER.size + history_index.sizes(made[: history_index.HEADER.size], len(made), 1, 2)
    parts = made[: history_index.HEADER.size], made[history_index.HEADER.size : head], made[head:]
    assert history_index.from_bytes(*parts).records == index.records
    change(index)
    made = history_index.to_bytes(index, 1, 2)
    head = history_index.HEADER.size + history_index.sizes(made[: history_index.HEADER.size], len(made), 1, 2)
    with pytest.raises((ValueError, TypeError)):
        history_index.from_bytes(made[: history_index.HEADER.size], made[history_index.HEADER.size : head], made[head:])


def test_detected_wrong_index_is_dropped(fast_path: Path) -> None:
    """The call that detects it fails; the next one, of any process, reads the history again."""
    site = Site(fast_path, ours_of(CYCLES))
    look(site, site.memory)
    index = site.memory.index
    assert index is not None
    with small(), settled(), site.archive() as archive:
        begin = index.span(3)[0]
        index.records[3 * 72 : 3 * 72 + 8] = (begin + 3).to_bytes(8, "little")
        archive.put(index)
    with small(), settled(), site.archive(Memory()) as archive, pytest.raises(Exception, match="changed meanwhile"):
        archive.cycle(3)
    look(site)


def test_no_descriptor_stays_open(fast_path: Path) -> None:
    """No descriptor stays open, however often other programs change the history or make it unreadable."""
    site = Site(fast_path, ours_of(CYCLES))
    look(site)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(9):
        site.put(ours_of(CYCLES[:number]))
        look(site, site.memory)
        site.put(b"{")
        with small(), pytest.raises(StateError), site.archive():
            pass
    assert len(os.listdir("/proc/self/fd")) == before


def test_unusable_texts_are_removed_from_a_full_disk(fast_path: Path) -> None:
    """Texts that could not be written whole, or that no index names, are removed."""
    site = Site(fast_path, ours_of(CYCLES))
    look(site)
    for name in files(site):
        (site.state / "cache" / name).unlink()
    real = atomic.write_all

    for limit in (0, 100, 1500):
        left = [limit]

        def write_all(fd: int, data: bytes, left: list[int] = left) -> None:
            left[0] -= len(data)
            if left[0] < 0:
                raise OSError(28, "full")
            real(fd, data)

        with patch.object(atomic, "write_all", write_all):
            look(site)
            look(site)
        assert [name for name in files(site) if name != "history.index"] == []
    look(site)
    assert len(files(site)) == 2


def test_texts_in_use_are_not_swept(fast_path: Path) -> None:
    """He holds them; when he is dead they go."""
    site = Site(fast_path, ours_of(CYCLES))
    look(site)
    his = site.state / "cache" / history_index.name_of("0123456789abcdef")
    with his.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        site.put(ours_of(CYCLES[:5]))
        look(site)
        assert his.exists()
    site.put(ours_of(CYCLES[:3]))
    look(site)
    assert not his.exists()


def test_history_replaced_during_a_read_serves_this_call(fast_path: Path) -> None:
    """The replaced file has no name any more, but still its bytes."""
    site = Site(fast_path, ours_of(CYCLES))
    real = parse.build

    def build(*args: object, **named: object) -> Index:
        site.put(ours_of(CYCLES[:2]))
        return real(*args, **named)  # type: ignore[arg-type]

    with patch.object(parse, "build", build), small(), settled(), site.archive() as archive:
        assert archive.matches("branch") == list(range(9))
    look(site, site.memory)


def test_changed_tail_is_detected_with_equal_times(fast_path: Path) -> None:
    """A write through a mapping may leave every time unchanged."""
    site = Site(fast_path, ours_of(CYCLES))
    with patch.object(identity, "of", lambda info: (1, 2, info.st_size, 3, 4)):
        look(site, site.memory)
        site.path.write_bytes(site.path.read_bytes().replace(b"branch 8", b"branch X"))
        look(site, site.memory)


def test_too_large_index_is_not_stored(fast_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An index that the reader would refuse is not written, and not computed for writing again."""
    site = Site(fast_path, ours_of(CYCLES))
    with patch.object(history_index, "MOST", 4500):
        look(site)
    assert files(site) == []
    assert "too large" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda data: data.replace(b'"branch 5"', b'"branch 5'), r"\(after line \d+\) is not JSON \(Invalid control"),
        (lambda data: data.replace(b'"branch 5"', b"\xff"), r"\(after line 41\) is not UTF-8"),
        (lambda data: data.replace(b'"branch 5"', b"NaN"), r"\(after line 37\) has NaN"),
        (lambda data: data.replace(b'"branch 5"', b"[" * 300 + b"]" * 300), r"\(after line 37\) "),
        (
            lambda data: data.replace(b'"branch 5"', b'1, "branch": 2'),
            r"\(after line 37\) has an object with the same key",
        ),
        (lambda data: data.replace(b'"branch 5"', b"1\n<<<<<<< HEAD"), r"\(line 42\) has git conflict markers"),
        (lambda data: data[:700], r"after line"),
        (lambda data: data[:-4], r"after line"),
        (lambda data: b'{"cycles": 1}', r"has no cycles"),
    ],
    ids=range(9),
)
def test_fault_of_a_long_history_is_located_without_reading_all_of_it(
    fast_path: Path, broken: Callable[[bytes], bytes], told: str
) -> None:
    """The line after which it cannot be read, and why."""
    site = Site(fast_path, broken(ours_of(CYCLES)))
    with small(), patch.object(parse, "WHOLE", 0), pytest.raises(StateError, match=told), site.archive():
        pass


def test_malformed_history_is_read_no_further_than_needed(fast_path: Path) -> None:
    """A window does not grow for a fault that no further text can repair."""
    site = Site(fast_path, ours_of([{**CYCLE, "x": 1}, *CYCLES * 300]).replace(b'"x": 1', b'"x": ]'))
    sizes: list[int] = []
    real = atomic.read_range

    def read(fd: int, begin: int, end: int) -> bytes:
        sizes.append(end - begin)
        return real(fd, begin, end)

    size = site.path.stat().st_size
    with (
        site.path.open("rb") as file,
        patch.object(atomic, "read_range", read),
        patch.object(atomic, "CHUNK", 1 << 10),
        pytest.raises(parse.Unreadable),
    ):
        parse.build(file.fileno(), size, digests=True)
    assert sum(sizes) < 10_000


def test_a_folder_that_was_closed_is_no_other_one(fast_path: Path) -> None:
    """A name in it is not one in the current folder."""
    with Folder.root(str(fast_path)) as folder:
        (fast_path / "a").write_bytes(b"a")
    with pytest.raises(OSError, match="Bad file descriptor"):
        folder.open("a", os.O_RDONLY)
    with pytest.raises((OSError, ValueError)):
        folder.sync()
