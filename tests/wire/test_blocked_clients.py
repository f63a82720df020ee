"""Clients that do not read, full disks and endless numbers do not block the server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from nexus_mcp.server import pipes, stdio
from nexus_mcp.server.pipes import Sink, Source
from nexus_mcp.server.sdk import serve_sdk
from nexus_mcp.server.stdio_fds import claim
from nexus_mcp.server.stopping import Stop, Watch
from tests.wire.connection import ROOT, Json, Serve, Talk, call, error, initialize, line, request
from tests.wire.fake_tools import FakeApp
from tests.wire.test_log import fill

SERVERS = pytest.mark.parametrize("server", ["stdio", "sdk"])
DEFECT = "Internal server error"


def start(server: str, stdout: int, stderr: int, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.wire.fake_server", server, "1", "0", "quiet"],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def send(child: subprocess.Popen[bytes], *messages: Json) -> None:
    assert child.stdin is not None
    child.stdin.write(b"".join(line(message) for message in messages))
    child.stdin.flush()


def received(child: subprocess.Popen[bytes], count: int) -> list[Json]:
    assert child.stdout is not None
    return [json.loads(child.stdout.readline()) for _ in range(count)]


def ended(child: subprocess.Popen[bytes]) -> int:
    code = child.wait(60)
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    return code


@pytest.fixture
def full() -> Iterator[int]:
    """The writing end of a full pipe without a reader."""
    reads, writes = os.pipe()
    fill(writes)
    yield writes
    os.close(reads)
    os.close(writes)


@SERVERS
def test_unread_stderr_stops_nothing(server: str, full: int) -> None:
    """Whatever is logged or printed, every call is answered, and SIGTERM ends the server with 0."""
    child = start(server, subprocess.PIPE, full)
    send(child, initialize(), *(call(id, "raise") for id in range(1, 40)))
    assert [answer.get("error") for answer in received(child, 40)[1:]] == [{"code": -32603, "message": DEFECT}] * 39
    send(child, call(40, "logging") if server == "sdk" else request(40, "ping"), call(41, "print"), call(42, "echo"))
    assert [answer["id"] for answer in received(child, 3)] == [40, 41, 42]
    child.send_signal(signal.SIGTERM)
    assert ended(child) == 0


def test_logs_of_libraries_have_our_form() -> None:
    """Log lines of the SDK and its libraries have the form of our own lines."""
    child = start("sdk", subprocess.PIPE, subprocess.PIPE)
    send(child, initialize(), call(1, "logging"))
    assert len(received(child, 2)) == 2
    assert child.stderr is not None
    said = [child.stderr.readline() for _ in range(2)]
    child.send_signal(signal.SIGTERM)
    assert ended(child) == 0
    assert said == [
        b"nexus-mcp: warning: library: two\\nlines\n",
        b"nexus-mcp: warning: library: a log line that cannot be formatted (TypeError)\n",
    ]


@SERVERS
def test_unread_terminal_does_not_stop_sigterm(server: str) -> None:
    """On a terminal that takes no more, SIGTERM ends the server with 0."""
    master, slave = os.openpty()
    child = start(server, slave, subprocess.DEVNULL)
    os.close(slave)
    send(child, initialize(), call(1, "large", size=1_000_000))
    assert os.read(master, 1) == b"{"
    child.send_signal(signal.SIGTERM)
    assert ended(child) == 0
    os.close(master)


def test_terminal_is_written_without_waiting() -> None:
    """Writing to a terminal does not wait, and does not affect other processes on it."""
    master, slave = os.openpty()
    source, sink, waits = claim(slave, slave)
    assert (os.get_blocking(sink), os.get_blocking(slave), waits) == (False, True, False)
    with Stop() as stop:
        stop.request()
        assert Sink(sink, stop, waits=waits).send({"text": "x" * 1_000_000}) is False
    for fd in (source, sink, master, slave):
        os.close(fd)


@SERVERS
def test_full_disk_ends_the_server_with_0(server: str) -> None:
    """An output that cannot be written ends the server with 0, and the reason is in its log."""
    output = os.open("/dev/full", os.O_WRONLY)
    child = start(server, output, subprocess.PIPE)
    os.close(output)
    send(child, initialize())
    assert child.stderr is not None
    assert (
        child.stderr.readline()
        == b"nexus-mcp: warning: an answer could not be written to standard output: No space left on device\n"
    )
    assert ended(child) == 0


@SERVERS
@pytest.mark.parametrize("limit", ["0", "4300", "1000000"])
def test_too_long_numbers_are_refused_whatever_the_environment(server: str, limit: str) -> None:
    """A number of more than 4300 digits is none to the tools, whatever the environment allows."""
    child = start(server, subprocess.PIPE, subprocess.DEVNULL, PYTHONINTMAXSTRDIGITS=limit)
    frame = line(call(1, "echo", number=0)).replace(b": 0}", b": " + b"9" * 4301 + b"}")
    send(child, initialize(), frame, frame.replace(b"9" * 4301, b"9" * 4300).replace(b'"id": 1', b'"id": 2'))
    first, *answers = received(child, 3)
    assert child.stdin is not None
    child.stdin.close()
    # The table of the tests gives back what it got: infinity, which JSON has no word for.
    nothing = {"content": [{"type": "text", "text": "text"}], "structuredContent": {"number": None}, "isError": False}
    through_sdk = {"jsonrpc": "2.0", "id": 1, "result": nothing}
    expected = through_sdk if server == "sdk" else error(1, -32603, DEFECT)
    assert (first["id"], answers[0], answers[1]["id"]) == (0, expected, 2)
    assert answers[1]["result"]["structuredContent"] == {"number": int("9" * 4300)}
    assert ended(child) == 0


@pytest.mark.parametrize("serve", [stdio.serve, serve_sdk], ids=["stdio", "sdk"])
@pytest.mark.parametrize("what", ["call", "pings"])
def test_unread_answers_do_not_stop_the_end(
    serve: Serve, what: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A client that has closed its end and reads no response does not keep the server from ending; the log has a line
    about it.
    """
    monkeypatch.setattr(pipes, "_CHECK_INTERVAL_S", 0.05)
    app = FakeApp()
    talk = Talk(app.as_app(), serve)
    assert talk.ask(initialize())["id"] == 0
    pings = [request(id, "ping") for id in range(3000)]
    talk.send(*(pings if what == "pings" else [call(1, "large", size=3_000_000), call(2, "echo")]))
    talk.end_input()
    talk.wait()
    assert talk.exit_code == 0
    assert "the input has ended and the client does not read: answers are dropped" in capfd.readouterr().err
    assert app.events == ([] if what == "pings" else ["run large", "undelivered large"])
    talk.close()


def test_slow_reader_gets_the_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that continues to read gets the whole response after the end of the input, however slowly it reads."""
    reads, writes = os.pipe()
    fill(writes)
    os.set_blocking(writes, True)
    taken = b""
    known = pipes._unread_bytes

    def untaken(fd: int) -> int | None:
        nonlocal taken
        taken += os.read(reads, 1024)
        return known(fd)

    monkeypatch.setattr(pipes, "_CHECK_INTERVAL_S", 0.001)
    monkeypatch.setattr(pipes, "_unread_bytes", untaken)
    with Stop() as stop:
        assert Sink(writes, stop, is_over=lambda: True).send({"text": "x" * 10_000}) is True
    os.close(writes)
    while chunk := os.read(reads, 65536):
        taken += chunk
    assert taken.endswith(b'{"text":"' + b"x" * 10_000 + b'"}\n')
    os.close(reads)


def test_reading_client_is_waited_for(full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience ends only once the input has ended: two looks without progress later."""
    monkeypatch.setattr(pipes, "_CHECK_INTERVAL_S", 0.001)
    looks = iter([False] * 5 + [True] * 2)
    with Stop() as stop:
        assert Sink(full, stop, is_over=looks.__next__).send({}) is False
        assert stop.requested
    assert list(looks) == []


def test_the_end_of_the_input_is_noticed() -> None:
    """That a client has closed its end is known before all that it wrote was read; of a file, once it was."""
    with Stop() as stop:
        reads, writes = os.pipe()
        os.write(writes, b"x")
        source = Source(reads, stop)
        assert source.is_closed() is False
        os.close(writes)
        assert source.is_closed() is True
        assert (source.read(), source.read()) == (b"x", b"")
        os.close(reads)
        ours, theirs = socket.socketpair()
        source = Source(ours.fileno(), stop)
        assert source.is_closed() is False
        theirs.shutdown(socket.SHUT_WR)
        assert source.is_closed() is True
        ours.close()
        theirs.close()
        with open(__file__, "rb") as file:
            os.lseek(file.fileno(), -1, os.SEEK_END)
            source = Source(file.fileno(), stop)
            assert source.is_closed() is False
            assert (source.read(), source.is_closed()) == (b"\n", False)
            assert (source.read(), source.is_closed()) == (b"", True)


def test_watch_fires_once_when_stopping() -> None:
    """A watch acts when the server is to stop, once, and not when it merely ends."""
    for wanted in (True, False):
        acted = threading.Semaphore(0)
        with Stop() as stop:
            watch = Watch(stop, acted.release)
            if wanted:
                stop.request()
                assert acted.acquire(timeout=60)
            watch.end()
        assert not acted.acquire(blocking=False)
