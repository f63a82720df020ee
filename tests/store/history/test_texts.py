"""The texts in the cache: readable only to readers of the history, verified before use, extended by one process."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

from nexus_mcp.store.history import identity, texts
from nexus_mcp.store.history.memory import UNVERIFIED
from tests.store.history.generated import Site, ours_of, settled, small
from tests.store.history.test_cache import MANY, read


def test_texts_are_made_anew_where_the_history_is_no_longer_for_all(fast_path: Path) -> None:
    """After the history became private its texts are written again with its permissions, and later ones, too."""
    site = Site(fast_path, ours_of(MANY))
    site.path.chmod(0o644)
    read(site)
    site.path.chmod(0o600)
    assert read(site) == ["build after 9", "lines from 0"]
    assert {path.stat().st_mode & 0o777 for path in (site.state / "cache").iterdir()} == {0o600}
    assert read(site) == []


def test_texts_that_may_still_change_unseen_are_checked_each_time(fast_path: Path) -> None:
    """Within a tick of the clock a file can be written again and look the same."""
    site = Site(fast_path, ours_of(MANY))
    read(site)
    with small(), settled(), site.archive() as archive:
        assert archive.cache is not None
        _, verified = texts.search_cached(archive.cache, archive.index, b"branch", UNVERIFIED)
        assert verified[1] == archive.index.checked > 0
        with patch.object(identity, "is_settled", lambda seen: False):
            assert (
                texts.search_cached(archive.cache, archive.index, b"branch", UNVERIFIED)[1] == verified
            )  # dated apart by us
            with patch.object(identity, "is_apart", lambda seen: False):
                assert texts.search_cached(archive.cache, archive.index, b"branch", verified)[1] == UNVERIFIED


def test_write_to_a_file_set_apart_is_detected(tmp_path: Path) -> None:
    """Any later write, even within the same clock tick, gives a time other than the one that we set."""
    path = tmp_path / "texts"
    for _ in range(20):
        with path.open("wb") as file:
            file.write(b"ab")
            file.flush()
            identity.set_apart(file.fileno())
            before = identity.of(os.fstat(file.fileno()))
            assert identity.is_apart(before)
        with path.open("r+b") as file:
            file.write(b"xy")
        assert identity.of(path.stat()) != before


def test_texts_of_another_writer_are_copied_first(fast_path: Path) -> None:
    """Bytes that an index speaks of are never written over."""
    site = Site(fast_path, ours_of(MANY[:5]))
    read(site)
    (old,) = (site.state / "cache").glob("*.texts")
    kept = old.read_bytes()
    with old.open("ab") as file:
        file.write(b"of a process that died\n")
    site.put(ours_of(MANY))
    assert read(site) == ["build after 5", "lines from 5"]
    (new,) = (site.state / "cache").glob("*.texts")
    assert new != old
    assert new.read_bytes().startswith(kept)
    assert new.read_bytes().count(b"\n") == 9


def test_processes_do_not_take_the_texts_from_each_other(fast_path: Path) -> None:
    """A process whose file of texts was removed uses the file that another process began in its place."""
    site = Site(fast_path, ours_of(MANY[:5]))
    read(site, fresh=False)
    (old,) = (site.state / "cache").glob("*.texts")
    with old.open("ab") as file:
        file.write(b"of a process that died\n")
    site.put(ours_of(MANY))
    with small(), settled(), site.archive(site.memory):
        pass  # knows the new cycles, and the old file of texts
    assert read(site) == ["lines from 5"]
    assert not old.exists()
    assert read(site, fresh=False) == []
    assert read(site) == []
