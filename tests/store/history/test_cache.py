"""The index on disk is optional, ignored for another history, and extended instead of rebuilt."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.store.history import identity, parse, texts
from nexus_mcp.store.history.memory import Memory
from tests.store.history.generated import CYCLE, OLD, Cycle, Site, ours_of, settled, small
from tests.store.history.test_archive import appended

MANY = [
    {**CYCLE, "branch": f"branch {number}", "completed_at": f"2026-01-01T00:00:00.{number:03d}Z"} for number in range(9)
]


@contextmanager
def counted() -> Iterator[list[str]]:
    """Return the parts that are read in full: "build" for an index from a number of known cycles, "line" for a text."""
    seen: list[str] = []
    build, line = parse.build, texts.lines

    def built(*args: object, **named: object) -> object:
        known = named.get("known")
        seen.append(f"build after {len(known) if known is not None else 0}")  # type: ignore[arg-type]
        return build(*args, **named)  # type: ignore[arg-type]

    def lined(fd: int, index: object, first: int) -> Iterator[bytes]:
        seen.append(f"lines from {first}")
        return line(fd, index, first)  # type: ignore[arg-type]

    with patch.object(parse, "build", built), patch.object(texts, "lines", lined):
        yield seen


def read(site: Site, *, fresh: bool = True) -> list[str]:
    """Return the reads that a search needs, by another process if `fresh`."""
    memory = Memory() if fresh else site.memory
    with small(), settled(), counted() as seen, site.archive(memory) as archive:
        found = [archive.cycle(number)["branch"] for number in archive.matches("BRANCH")]
        assert found == [archive.cycle(number)["branch"] for number in range(len(archive))]
    return seen


def test_a_history_is_read_once(fast_path: Path) -> None:
    """Only the first process that needs the history reads it whole, once."""
    site = Site(fast_path, ours_of(MANY))
    assert read(site, fresh=False) == ["build after 0", "lines from 0"]
    assert read(site, fresh=False) == []
    assert read(site) == []
    assert sorted(name.rpartition(".")[2] for name in os.listdir(site.state / "cache")) == ["index", "texts"]


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_cache_is_readable_by_readers_of_the_history_only(fast_path: Path, mode: int) -> None:
    """It has the words of it."""
    site = Site(fast_path, ours_of(MANY))
    site.path.chmod(mode)
    read(site)
    assert {path.stat().st_mode & 0o777 for path in (site.state / "cache").iterdir()} == {mode}


def test_appended_cycle_is_added_to_the_index(fast_path: Path) -> None:
    """Nothing old is read again, although the file is a new one and was written this instant."""
    site = Site(fast_path, ours_of(MANY))
    read(site)
    with small(), settled(), counted() as seen, site.archive(Memory()) as archive:
        appended(archive, {**CYCLE, "branch": "branch new", "completed_at": "2026-01-02T00:00:00.000Z"})
    assert seen == []
    assert read(site) == ["lines from 9"]
    assert read(site) == []


@pytest.mark.parametrize(
    ("change", "known"),
    [
        (lambda cycles: [*cycles, *cycles[:2]], 9),
        (lambda cycles: cycles[:5], 5),
        (lambda cycles: [*cycles[:7], {**cycles[7], "branch": "branch x"}, cycles[8]], 7),
        (lambda cycles: cycles[1:], 0),
        (lambda cycles: [*cycles[:3], *cycles[4:]], 3),
        (lambda cycles: [], 0),
    ],
)
def test_foreign_change_is_read_from_the_first_changed_cycle(
    fast_path: Path, change: Callable[[list[Cycle]], list[Cycle]], known: int
) -> None:
    """After a merge or an edit: the cycles before it, and their texts where all of them stayed, are still known."""
    site = Site(fast_path, ours_of(MANY))
    read(site)
    cycles = change(MANY)
    site.put(ours_of(cycles))
    seen = read(site)
    assert seen[0] == f"build after {known}"
    assert seen[1:] == [f"lines from {known}"] * (len(cycles) > known)
    assert read(site) == []


def test_a_file_that_was_only_touched_is_not_parsed(fast_path: Path) -> None:
    """Its bytes are compared, and that is all."""
    site = Site(fast_path, ours_of(MANY))
    read(site)
    os.utime(site.path, (2_000_000, 2_000_000))
    assert read(site) == ["build after 9"]
    assert read(site) == []


def test_an_edit_in_place_within_a_tick_is_seen(fast_path: Path) -> None:
    """Same inode, same size, and indistinguishable times: until they are old, the bytes are compared."""
    site = Site(fast_path, ours_of(MANY))
    now = 1_700_000_000_500_000_000
    stopped = patch("time.time_ns", lambda: now)
    alike = patch.object(identity, "of", lambda info: (info.st_dev, info.st_ino, info.st_size, now - 1, now - 1))
    with small(), stopped, alike:
        for letter in "xyz":
            site.path.write_bytes(ours_of(MANY).replace(b"branch 4", b"branch " + letter.encode()))
            with site.archive() as archive:
                assert archive.cycle(4)["branch"] == f"branch {letter}"
                assert archive.matches(f"branch {letter}") == [4]


def test_own_write_is_distinguished_from_others_in_the_same_tick(fast_path: Path) -> None:
    """Our write has a time between two ticks, which no other write gives."""
    site = Site(fast_path, ours_of(MANY))
    with small(), site.archive() as archive:
        appended(archive, {**CYCLE, "branch": "branch new"})
    assert site.memory.index is not None
    assert site.memory.index.settled
    before = os.stat(site.path)
    with site.path.open("r+b") as file:
        file.write(b"{")
    after = os.stat(site.path)
    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)
    assert before.st_mtime_ns != after.st_mtime_ns


def test_settled_means_a_tick_ago() -> None:
    """Two seconds where a file system counts seconds; a clock that was set back leaves nothing settled."""
    now = 1_700_000_000_500_000_000
    with patch("time.time_ns", lambda: now):
        for age, fraction, expected in (
            (40, 1, False),
            (60, 1, True),
            (-99, 1, False),
            (1400, 0, False),
            (2600, 0, True),
        ):
            at = now - age * 1_000_000
            at = at // 10**9 * 10**9 if not fraction else at + 1
            assert identity.is_settled((1, 1, 1, OLD[0], at)) is expected, (age, fraction)


@pytest.mark.parametrize("name", ["history.index", "texts"])
@pytest.mark.parametrize("how", ["gone", "empty", "cut", "flipped", "zeros", "copied", "folder", "link"])
def test_a_spoilt_cache_is_made_anew(fast_path: Path, name: str, how: str) -> None:
    """Whatever became of one of its files, the answers are right, and the next process finds it whole."""
    site = Site(fast_path, ours_of(MANY))
    read(site)
    path = next(path for path in (site.state / "cache").iterdir() if path.name.endswith(name))
    data = path.read_bytes()
    path.unlink()
    flipped = bytearray(data)
    flipped[random.Random(how).randrange(len(data))] ^= 4
    if how == "folder":
        path.mkdir()
    elif how == "link":
        (fast_path / "elsewhere").write_bytes(data)
        path.symlink_to(fast_path / "elsewhere")
    elif how != "gone":
        kept = {"empty": b"", "cut": data[: len(data) // 2], "flipped": bytes(flipped), "zeros": bytes(len(data))}
        path.write_bytes(kept.get(how, data))
    seen = read(site)
    expected = [] if (name, how) == ("texts", "copied") else [*["build after 0"] * (name != "texts"), "lines from 0"]
    assert seen == expected
    if (name, how) not in {("history.index", "folder")}:
        assert read(site) == []
    if how == "link":
        assert (fast_path / "elsewhere").read_bytes() == data


def test_texts_changed_under_a_running_process_are_not_used(fast_path: Path) -> None:
    """A checksum that was right once holds only for the file of that moment."""
    site = Site(fast_path, ours_of(MANY))
    for _ in range(2):
        read(site, fresh=False)
    path = next((site.state / "cache").glob("*.texts"))
    data = path.read_bytes().replace(b"branch", b"brunch", 1)
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, (1, 1))  # another time than before, however coarse the clock of the disk is
    assert read(site, fresh=False) == ["lines from 0"]
    assert read(site, fresh=False) == []


def test_a_cache_that_cannot_be_written_is_done_without(fast_path: Path) -> None:
    """A full disk: each process reads for itself, and none fails."""
    site = Site(fast_path, ours_of(MANY))
    with patch("nexus_mcp.store.atomic.write_all", side_effect=OSError(28, "full")):
        assert read(site, fresh=False) == ["build after 0", "lines from 0"]
        assert read(site, fresh=False) == ["lines from 0"]
    assert read(site) == ["build after 0", "lines from 0"]
