"""The stream of changes: what wakes it, what it sends to a page that slept, and how it ends."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.board.live import EVENT, Hub
from nexus_mcp.workspace import Workspace
from tests.board.support import make_board
from tests.browser import samples
from tests.support import Project

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from nexus_mcp.board.app import Board

LIMIT_S = 30


def _run(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(test(), LIMIT_S)

    asyncio.run(within())


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return make_board(tmp_path / "cache", samples.empty(tmp_path / "x"), samples.empty(tmp_path / "y"))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a plan": lambda root: samples.Maker(root)("plan_start", topic="T", issues=["Q?"], research_summary=""),
    "a note": lambda root: Project(root).put("memory/n.md", b"text"),
    "an artifact": lambda root: samples.Maker(root)("artifact_write", filename="a/b.md", content="x"),
    "an artifact written in place": lambda root: (root / ".nexus/state/artifacts/a/old.md").write_text("longer"),
    "an agent": lambda root: samples.record(Workspace(str(root)), "a1", "engineer", 10**12, 10**12),
    "the folder going": lambda root: root.rename(root.with_name("z")),
}


@pytest.mark.parametrize("what", [name for name in CHANGES if name != "the folder going"])
def test_a_change_by_another_store_is_sent(board: Board, tmp_path: Path, what: str) -> None:
    """A page that waits gets one event, whose id is the state that it then shows."""
    Project(tmp_path / "x").put("state/artifacts/a/old.md", b"old")

    async def test() -> None:
        seen = board.hub.checksum(["x"])
        stream = board.hub.changes(["x"], seen)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        await asyncio.to_thread(CHANGES[what], tmp_path / "x")
        event = await waiting
        assert event["event"] == EVENT
        assert json.loads(event["data"]) == {"seen": event["id"]}
        assert event["id"] != seen
        await stream.aclose()
        board.hub.end()

    _run(test)


def test_a_project_that_goes_is_a_change(tmp_path: Path) -> None:
    """A page is told that its project vanished."""
    board = make_board(tmp_path / "cache", samples.typical(tmp_path / "x"))

    async def test() -> None:
        stream = board.hub.changes(["x"], board.hub.checksum(["x"]))
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        CHANGES["the folder going"](tmp_path / "x")
        assert (await waiting)["event"] == EVENT
        await stream.aclose()
        board.hub.end()

    _run(test)


def test_a_page_that_slept_gets_what_it_missed(board: Board, tmp_path: Path) -> None:
    """Nothing was polled while no page was open; the first event comes at once."""
    seen = board.hub.checksum(["x"])
    CHANGES["a plan"](tmp_path / "x")

    async def test() -> None:
        stream = board.hub.changes(["x"], seen)
        assert (await anext(stream))["id"] == board.hub.checksum(["x"])
        await stream.aclose()
        board.hub.end()

    _run(test)


def test_a_change_of_another_project_is_not_sent(board: Board, tmp_path: Path) -> None:
    """The page of x is not read again for a change of y; the overview is."""

    async def test() -> None:
        of_x = board.hub.changes(["x"], board.hub.checksum(["x"]))
        of_both = board.hub.changes(["x", "y"], board.hub.checksum(["x", "y"]))
        waiting = asyncio.ensure_future(anext(of_x))
        both = asyncio.ensure_future(anext(of_both))
        await asyncio.sleep(0)
        await asyncio.to_thread(CHANGES["a plan"], tmp_path / "y")
        await both
        assert not waiting.done()
        board.hub.close()
        with pytest.raises(StopAsyncIteration):
            await waiting
        board.hub.end()

    _run(test)


def test_nothing_is_polled_without_a_page(board: Board) -> None:
    """The polling thread begins with the first stream and ends with the last one."""

    async def test() -> None:
        poller = board.hub._poller
        assert poller._thread is None
        stream = board.hub.changes(["x"], "")
        await anext(stream)
        assert poller._thread is not None
        thread = poller._thread
        await stream.aclose()
        await asyncio.to_thread(thread.join, LIMIT_S)
        assert not thread.is_alive()
        board.hub.end()

    _run(test)


def test_closing_ends_every_stream(board: Board) -> None:
    """Streams that wait end without an event."""

    async def test() -> None:
        streams = [board.hub.changes(["x"], board.hub.checksum(["x"])) for _ in range(3)]
        waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0)
        board.hub.close()
        for one in waiting:
            with pytest.raises(StopAsyncIteration):
                await one
        board.hub.end()

    _run(test)


def test_the_same_files_are_the_same_state(board: Board) -> None:
    """The word for the state depends on the files and the projects alone."""
    hub = Hub(list(board.projects.values()))
    assert hub.checksum(["x"]) == board.hub.checksum(["x"])
    assert hub.checksum(["x"]) != hub.checksum(["x", "y"])
