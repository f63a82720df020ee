"""A search agrees with a plain reference search; appending keeps every existing byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.store import atomic
from nexus_mcp.store.history import EMPTY, NAME
from nexus_mcp.store.history import index as history_index
from nexus_mcp.store.history.append import Growth
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.history.frame import HistoryFile
from tests.store.history.generated import CYCLE, Cycle, Site, cycles, folder, layouts, ours_of, small, words, written


def appended(archive: Archive, cycle: Cycle) -> bytes:
    """Add the cycle to the file, as a change does; its bytes then."""
    nexus = archive.nexus
    assert nexus is not None
    growth = Growth(archive, cycle)
    growth.install(atomic.prepare(nexus, growth.parts()))
    data = nexus.read(NAME, 1 << 30)
    assert data is not None
    assert len(data) == growth.size
    return data


@settings(max_examples=100, deadline=None, derandomize=True)
@given(made=cycles, layout=layouts)
def test_appending_keeps_every_old_byte(made: list[Cycle], layout: dict[str, Any]) -> None:
    """Whatever the layout: the new text is put in, and the file then holds the old cycles and the new."""
    data = written({"a": 1, "cycles": made, "z": 1.50}, layout)
    with folder() as root, small():
        site = Site(Path(root), data)
        with site.archive() as archive:
            grown = appended(archive, CYCLE)
        with site.archive() as archive:
            assert archive.index is site.memory.index  # which grew, and was not made anew
            assert list(map(archive.cycle, range(len(archive)))) == [*made, CYCLE]
            twice = appended(archive, {**CYCLE, "branch": "c"})
    assert json.loads(grown.decode("utf-8-sig"))["cycles"] == [*made, CYCLE]
    last = HistoryFile(data).spans[-1][1] if made else HistoryFile(data).opening
    begin = HistoryFile(data).text[:last].encode()
    rest = data[len(begin) :] if made else data[data.rindex(b"]") :]
    assert grown.startswith(begin)
    assert grown.endswith(rest.rstrip(b"\r\n") + rest[len(rest.rstrip(b"\r\n")) :] + b"\n" * (not rest.endswith(b"\n")))
    assert json.loads(twice.decode("utf-8-sig"))["cycles"] == [*made, CYCLE, {**CYCLE, "branch": "c"}]


def test_an_absent_history_is_begun(fast_path: Path) -> None:
    """With its first cycle, in the usual layout."""
    site = Site(fast_path)
    with site.archive() as archive:
        assert (len(archive), archive.highest_plan_id, archive.version) == (0, 0, {})
        assert appended(archive, CYCLE) == ours_of([CYCLE])
    assert json.loads(EMPTY) == {"cycles": []}


@settings(max_examples=250, deadline=None, derandomize=True)
@given(data=st.data(), made=cycles, layout=layouts)
def test_search_agrees_with_its_definition(data: st.DataObject, made: list[Cycle], layout: dict[str, Any]) -> None:
    """Searches by cached texts, by those in memory, and without texts find the query in the compact JSON, ignoring case
    as str.lower does.
    """
    plain = [json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in made]
    anywhere = st.sampled_from(plain or [""]).flatmap(
        lambda text: st.integers(0, len(text)).flatmap(lambda at: st.integers(at, at + 9).map(lambda to: text[at:to]))
    )
    query = data.draw(words | anywhere | anywhere.map(str.upper) | st.just('"status":"'))
    expected = [number for number, text in enumerate(plain) if query.lower() in text.lower()]
    file = written({"cycles": made}, layout)
    with folder() as root:
        site = Site(Path(root), file)
        if query:
            with small(data.draw(st.sampled_from([5, 64, 1 << 11]))):
                for _ in range(3):  # makes the texts, reads them and their checksum, reads them
                    with site.archive() as archive:
                        assert archive.matches(query) == expected
            with site.archive() as archive:
                assert archive.matches(query) == expected  # of a short history, from memory
                assert archive.matches(query) == expected


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        ('{"a": 1.50}', '{"a":1.50}'),
        ('{"a": [1E2, "x  y", -0]}', '{"a":[1e2,"x  y",-0]}'),
        ('{"a": -0}', '{"a":-0}'),
        ('{"a": 1e999}', '{"a":1e999}'),
        ('{"a": ' + "1" * 5000 + "}", "1" * 5000),
        ('{"\\u00e4": "\\u00C4\\n\\/"}', '{"ä":"ä\\n/"}'),
        ('{"a": "\\uD800", "b": 1.0}', '{"a":"\\ud800","b":1.0}'),
        ('{"a": "\\ud800"}', '{"a":"\\ud800"}'),
        ('{"a": "ΑΣ"}', '{"a":"ας"}'),
        (
            '{"tasks": [ { "n": 1.50 } ], "branch": "\\b\\f\\r\\t\\"\\\\"}',
            '[{"n":1.50}],"branch":"\\b\\f\\r\\t\\"\\\\"}',
        ),
    ],
)
def test_numbers_keep_their_spelling_and_strings_their_meaning(fast_path: Path, spelled: str, text: str) -> None:
    """Numbers are compared as the file has them, strings whatever escapes it used."""
    site = Site(fast_path, f'{{"cycles": [{spelled}, {{"completed_at": "x"}}]}}'.encode())
    with site.archive() as archive:
        assert archive.matches(text) == [0]
    with small(), site.archive() as archive:
        assert archive.matches(text) == [0]


def test_query_may_have_characters_that_no_text_has(fast_path: Path) -> None:
    """A newline is an escape in JSON, and a lone surrogate is in no text."""
    site = Site(fast_path, ours_of([CYCLE, CYCLE]))
    with small(), site.archive() as archive:
        assert archive.matches("}\n{") == archive.matches("\ud800") == archive.matches("\n") == []


def test_cycles_are_equal_as_json(fast_path: Path) -> None:
    """Member order does not matter; 1, 1.0 and true are three values."""
    time = CYCLE["completed_at"]
    site = Site(
        fast_path, b'{"cycles": [{"completed_at": "t", "n": 1}, {"completed_at": "%s", "n": 1}]}' % time.encode()
    )
    with site.archive() as archive:
        for at in ("t", time):
            assert archive.has({"n": 1, "completed_at": at})
            assert not archive.has({"completed_at": at, "n": True})
            assert not archive.has({"completed_at": at, "n": 1.0})
        assert not archive.has({"completed_at": "u", "n": 1})
        assert archive.newest_times(5) == [time, "t"]


def test_a_free_time_is_found_in_the_index(fast_path: Path) -> None:
    """However many milliseconds are taken, and however often, the next free one is found, and no cycle is read."""
    times = [f"2026-01-01T00:00:00.{ms:03d}Z" for ms in range(400)]
    odd = [{"completed_at": text} for text in ("old", "2026-01-01T00:00:00.400+00:00", None, 5)]
    site = Site(fast_path, ours_of([*({**CYCLE, "completed_at": time} for time in (*times, *times)), *odd]))
    with site.archive() as archive, patch.object(Archive, "cycle", side_effect=AssertionError):
        assert archive.free_time(times[0]) == archive.free_time(times[-1]) == "2026-01-01T00:00:00.400Z"
        assert archive.free_time("2026-01-01T00:00:00.400Z") == "2026-01-01T00:00:00.400Z"
        assert archive.free_time("2025-12-31T23:59:59.999Z") == "2025-12-31T23:59:59.999Z"


def test_a_history_that_shrinks_while_it_is_read_is_read_again(fast_path: Path) -> None:
    """And one that does so for ever is refused."""
    site = Site(fast_path, ours_of([CYCLE] * 3))
    real, left = atomic.read_range, [1]

    def read(fd: int, begin: int, end: int) -> bytes:
        if left[0] > 0:
            left[0] -= 1
            raise atomic.Shrunk
        return real(fd, begin, end)

    with patch.object(atomic, "read_range", read):
        with site.archive() as archive:
            assert len(archive) == 3
        left[0], site.memory.index = 99, None
        with pytest.raises(StorageError, match="changed meanwhile"), site.archive():
            pass


def test_end_of_an_index_is_checked_before_use(fast_path: Path) -> None:
    """A cycle that is not at the place in the index is an error, not another cycle."""
    site = Site(fast_path, ours_of([CYCLE] * 3))
    with site.archive() as archive:
        os.truncate(site.path, 30)
        with pytest.raises(StorageError, match="changed meanwhile"):
            archive.cycle(1)


def test_a_history_that_is_too_large_is_refused(fast_path: Path) -> None:
    """By its size, before a byte of it is read."""
    site = Site(fast_path, b"")
    os.truncate(site.path, (512 << 20) + 1)
    with pytest.raises(StateError, match="512 MiB"), site.archive():
        pass


def test_short_history_is_not_cached(fast_path: Path) -> None:
    """Without a state folder there is no cache either: a read creates nothing."""
    site = Site(fast_path, ours_of([CYCLE] * 3))
    with site.archive() as archive:
        assert archive.matches("b") == [0, 1, 2]
    assert os.listdir(site.state) == []
    site.state.rmdir()
    with patch.object(history_index, "CACHE_FROM_BYTES", 0), site.archive() as archive:
        assert archive.matches("b") == [0, 1, 2]
    assert not site.state.exists()


def test_a_cache_that_cannot_be_made_is_done_without(fast_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A foreign file or link in its place is left alone, and logged once."""
    site = Site(fast_path, ours_of([CYCLE] * 3))
    (site.state / "cache").symlink_to("/tmp")
    for _ in range(2):
        with small(), site.archive() as archive:
            assert archive.matches("b") == [0, 1, 2]
    assert os.readlink(site.state / "cache") == "/tmp"
    assert capfd.readouterr().err.count("without its cache") == 1
