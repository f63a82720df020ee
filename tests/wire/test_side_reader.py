"""The side thread reads stdin while a call runs, and stops reading when the loop takes over."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nexus_mcp.server.pipes import Source
from nexus_mcp.server.side_reader import SideReader
from nexus_mcp.server.stopping import Stop
from tests.wire.connection import ROOT, Process, Talk, call, initialize, line, request
from tests.wire.fake_tools import FakeApp


class Reader:
    """Reads the available bytes of a pipe. `more`: whether the side thread is to call it again."""

    def __init__(self) -> None:
        self.fd, self.writes = os.pipe()
        self.more = True
        self.seen = b""
        self.has_read = threading.Semaphore(0)
        self.is_over = threading.Semaphore(0)

    def read_on(self, *, constantly: bool) -> bool:
        chunk = os.read(self.fd, 100)
        self.seen += chunk
        self.has_read.release()
        return bool(chunk) and self.more

    def write(self, data: bytes) -> None:
        os.write(self.writes, data)

    def hang_up(self) -> None:
        fd, self.writes = self.writes, -1
        os.close(fd)

    def close(self) -> None:
        for fd in (self.fd, self.writes):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture
def stop() -> Iterator[Stop]:
    with Stop() as stop:
        yield stop


def aside_of(reader: Reader, stop: Stop) -> SideReader:
    return SideReader(Source(reader.fd, stop), stop, reader.read_on, reader.is_over.release)


def test_side_thread_reads_only_during_its_context(reader: Reader, stop: Stop) -> None:
    """Input is read during each context, and is left to the caller outside of them."""
    aside = aside_of(reader, stop)
    assert not aside.is_constant
    for text in (b"a", b"c"):
        reader.write(text)
        with aside:
            assert reader.has_read.acquire(timeout=60)
            reader.write(b"b")
            assert reader.has_read.acquire(timeout=60)
    reader.write(b"d")
    aside.end()
    assert reader.seen == b"abcb"
    assert not reader.is_over.acquire(blocking=False)


def test_reader_stops_when_there_is_no_room(reader: Reader, stop: Stop) -> None:
    """A reader that has read enough is not called again before the next call, even if input is left."""
    aside = aside_of(reader, stop)
    reader.more = False
    reader.write(b"x" * 250)
    for total in (100, 200, 250):
        with aside:
            assert reader.has_read.acquire(timeout=60)
            assert aside._epoll is not None
            assert aside._epoll.poll(0) == []
        assert len(reader.seen) == total
    aside.end()


def test_closed_input_wakes_the_thread_once(reader: Reader, stop: Stop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the input wakes the thread once at most, while others read."""
    polled = threading.Semaphore(0)

    class Polled:
        def __init__(self) -> None:
            self._real = real()

        def __getattr__(self, name: str) -> object:
            return getattr(self._real, name)

        def poll(self, *given: int) -> list[tuple[int, int]]:
            polled.release()
            return self._real.poll(*given)

    real = select.epoll
    monkeypatch.setattr(select, "epoll", Polled)
    aside = aside_of(reader, stop)
    assert polled.acquire(timeout=60)
    reader.hang_up()
    assert polled.acquire(timeout=60)
    assert aside._epoll is not None
    assert aside._epoll.poll(0) == []
    aside.end()
    assert reader.seen == b""
    assert not reader.has_read.acquire(blocking=False)


@pytest.mark.parametrize("constant", [False, True])
def test_stop_request_is_known_at_once(
    reader: Reader, stop: Stop, monkeypatch: pytest.MonkeyPatch, constant: bool
) -> None:
    """Whether or not it reads just then, it is known at once that the server is to stop."""
    if constant:
        monkeypatch.delattr(select, "epoll")
        reader.write(b"the last")
        reader.hang_up()
    aside = aside_of(reader, stop)
    assert aside.is_constant is constant
    if constant:
        assert reader.is_over.acquire(timeout=60)
        assert reader.seen == b"the last"
    stop.request()
    assert reader.is_over.acquire(timeout=60)
    aside.end()


@pytest.mark.parametrize("constant", [False, True])
def test_read_error_ends_the_server(
    reader: Reader, stop: Stop, monkeypatch: pytest.MonkeyPatch, constant: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """Unreadable input ends the server, because no request could be answered any more."""
    if constant:
        monkeypatch.delattr(select, "epoll")
    os.set_blocking(reader.fd, False)
    reader.write(b"x")
    monkeypatch.setattr(Reader, "read_on", None)
    aside = aside_of(reader, stop)
    aside.begin()
    assert reader.is_over.acquire(timeout=60)
    assert stop.requested
    aside.end()
    assert "nothing more can be read: TypeError" in capfd.readouterr().err


def test_input_from_a_file_is_answered(tmp_path: Path) -> None:
    """A file, which cannot wake a waiting thread, is read and answered like a pipe."""
    asked = [initialize(), *(call(number, "echo", n=number) for number in range(1, 90)), request("p", "ping")]
    (tmp_path / "input").write_bytes(b"".join(map(line, asked)))
    with (tmp_path / "input").open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "tests.wire.fake_server", "stdio", "1", "0", "quiet"],
            stdin=file,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
        )
    ids = [json.loads(text)["id"] for text in done.stdout.splitlines()]
    assert [id for id in ids if id != "p"] == list(range(90))
    assert "p" in ids


@pytest.mark.parametrize("constant", [False, True])
def test_client_that_does_not_read_is_still_read_from(monkeypatch: pytest.MonkeyPatch, constant: bool) -> None:
    """A client that sends on while an answer of megabytes is on its way need not wait: both would, for ever."""
    if constant:
        monkeypatch.delattr(select, "epoll")
    talk = Talk(FakeApp().as_app())
    talk.send(initialize("i"), call("l", "large", size=3_000_000))
    talk.send(*(call(number, "echo", text="x" * 50_000) for number in range(20)))
    assert [answer["id"] for answer in talk.end()] == ["i", "l", *range(20)]


def test_signal_is_noticed_while_answers_are_not_read() -> None:
    """A client that sends requests during a call and reads no response does not keep the server from noticing
    SIGTERM.
    """
    process = Process("stdio")
    process.send(initialize(), call("h", "hold"))
    process.wait_until_held()
    process.send(*(request(number, "ping") for number in range(2500)))
    process.child.send_signal(signal.SIGTERM)
    process.wait_until_stopping()
    process.release()
    assert process.child.wait(60) == 0
    process.finish()
