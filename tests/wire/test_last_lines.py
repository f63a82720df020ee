"""The lines that the server still reads and answers after a signal or the end of its input."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nexus_mcp.server import stdio
from nexus_mcp.server.call_queue import CallQueue
from nexus_mcp.server.pipes import Source
from tests.wire.connection import ROOT, Talk, call, initialize, line, request
from tests.wire.fake_tools import FakeApp


def test_nothing_is_begun_for_a_client_that_is_gone() -> None:
    """A waiting call is not carried out if an earlier answer could not be delivered."""
    app = FakeApp()
    talk = Talk(app.as_app())
    talk.ask(initialize())
    talk.stop_reading()
    talk.send(call(1, "echo"), call(2, "echo"), request("p", "ping"))
    talk.wait()
    assert app.events == []
    talk.close()


def test_call_begins_before_it_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """While lines are read constantly, no cancellation can come between the choice of a call and its start."""
    monkeypatch.delattr(select, "epoll")
    real, taken = CallQueue._begin, list[bool]()

    def take(lock: threading.Lock) -> None:
        taken.append(lock.acquire(blocking=False))
        if taken[-1]:
            lock.release()

    def begin(calls: CallQueue) -> bool:
        if calls.has_constant_reader:
            other = threading.Thread(target=take, args=(calls._lock,))
            other.start()
            other.join()
        return real(calls)

    talk = Talk(FakeApp().as_app())
    talk.ask(initialize())
    assert talk.ask(call(1, "echo"))["id"] == 1
    monkeypatch.setattr(CallQueue, "_begin", begin)
    assert talk.ask(call(2, "echo"))["id"] == 2
    assert talk.end() == []
    assert taken
    assert not any(taken)


def test_a_signal_while_no_more_is_read(tmp_path: Path) -> None:
    """SIGTERM is noticed during a call even if no line is read, because the queue is full."""
    asked = [initialize(), call("h", "hold"), *(call(number, "echo") for number in range(100))]
    (tmp_path / "input").write_bytes(b"".join(map(line, asked)))
    began, told = os.pipe()
    gate, opens = os.pipe()
    with (tmp_path / "input").open("rb") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.wire.fake_server", "stdio", str(told), str(gate)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(told, gate),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert os.read(began, 1) == b"."
    child.send_signal(signal.SIGTERM)
    assert child.stderr is not None
    assert b"stopping: " in child.stderr.readline()
    os.write(opens, b".")
    out, errors = child.communicate(timeout=60)
    assert child.returncode == 0
    assert out.count(b"\n") == 2
    assert errors == b"run hold\ndelivered hold\n"
    for fd in (began, told, gate, opens):
        os.close(fd)


def test_nothing_is_read_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the input is final, even if another process opens it again while calls run."""
    ended = threading.Semaphore(0)
    real = Source.read

    def read(source: Source) -> bytes | None:
        chunk = real(source)
        if chunk == b"":
            ended.release()
        return chunk

    monkeypatch.setattr(Source, "read", read)
    os.mkfifo(tmp_path / "input")
    reads = os.open(tmp_path / "input", os.O_RDONLY | os.O_NONBLOCK)
    writes = os.open(tmp_path / "input", os.O_WRONLY)
    os.set_blocking(reads, True)
    answers, output = os.pipe()
    app = FakeApp()
    server = threading.Thread(target=stdio.serve, args=(app.as_app(), reads, output), daemon=True)
    server.start()
    os.write(writes, b"".join(map(line, (initialize(), call("h", "hold"), call("i", "hold")))))
    assert app.began.acquire(timeout=60)
    os.close(writes)
    assert ended.acquire(timeout=60)
    writes = os.open(tmp_path / "input", os.O_WRONLY)
    os.write(writes, line(call("late", "echo")))
    app.release()
    assert app.began.acquire(timeout=60)
    app.release()
    server.join(60)
    assert not server.is_alive()
    assert app.events == ["run hold", "delivered hold"] * 2
    for fd in (reads, writes, answers, output):
        os.close(fd)
