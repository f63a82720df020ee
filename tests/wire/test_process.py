"""The server as a process: its end, signals and descriptors, with and without the SDK."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.wire.connection import Process, call, initialize, line, notification, request

pytestmark = pytest.mark.parametrize("server", ["stdio", "sdk"])


def answered(messages: list[dict[str, object]]) -> list[object]:
    return [message["id"] for message in messages]


def ready(server: str) -> Process:
    process = Process(server)
    process.send(initialize())
    assert process.receive()["id"] == 0
    return process


def test_waiting_calls_are_answered_after_the_end_of_input(server: str) -> None:
    """At the end of the input everything read is still answered, in order, a last line without newline included."""
    process = ready(server)
    process.send(call(1, "hold"), *(call(id, "echo", n=id) for id in range(2, 6)), line(call(6, "echo"))[:-1])
    process.wait_until_held()
    assert process.child.stdin is not None
    process.child.stdin.close()
    process.release()
    code, out, errors = process.finish()
    assert (code, answered(out)) == (0, [1, 2, 3, 4, 5, 6])
    assert "Traceback" not in errors


def test_server_without_input_exits_with_0(server: str) -> None:
    """A server whose input ends at once exits with 0 and prints nothing."""
    assert Process(server).finish() == (0, [], "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_an_idle_server(server: str, number: signal.Signals) -> None:
    """A signal ends an idle server with exit code 0, though its input is open."""
    process = ready(server)
    process.child.send_signal(number)
    assert process.child.wait(60) == 0
    assert process.finish() == (0, [], "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signal_ignored_at_start_stays_ignored(server: str, number: signal.Signals) -> None:
    """A signal that was ignored at the start, as nohup and background jobs want it, stays ignored."""
    process = Process(server, number.name)
    process.send(initialize())
    assert process.receive()["id"] == 0
    process.child.send_signal(number)
    process.send(request(1, "ping"))
    assert process.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    process.child.send_signal(signal.SIGTERM)
    assert process.child.wait(60) == 0
    assert process.finish() == (0, [], "")


def test_signal_lets_the_running_call_finish(server: str) -> None:
    """SIGTERM lets the call under way finish and be answered; calls that wait are not begun."""
    process = ready(server)
    process.send(call(1, "hold", n=1), call(2, "echo", n=2), request(3, "ping"))
    process.wait_until_held()
    assert process.receive()["id"] == 3
    process.child.send_signal(signal.SIGTERM)
    process.wait_until_stopping()
    process.child.send_signal(signal.SIGTERM)
    process.release()
    code, out, errors = process.finish(close_input=False)
    assert code == 0
    assert [message for message in out if "result" in message] == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "content": [{"type": "text", "text": "text"}],
                "structuredContent": {"held": True},
                "isError": False,
            },
        }
    ]
    assert errors.split("\n") == ["run hold 1", "delivered hold 1", ""]


def test_signal_while_the_client_does_not_read(server: str) -> None:
    """A client that does not read its answers does not keep the server from ending on SIGTERM."""
    process = ready(server)
    process.send(call(1, "large", size=3_000_000, n=1), call(2, "echo", n=2))
    assert process.child.stdout is not None
    assert process.child.stdout.read(1) == b"{"  # the answer is on its way, and does not fit the pipe
    process.child.send_signal(signal.SIGTERM)
    assert process.child.wait(60) == 0
    process.child.stdout.close()
    code, out, errors = process.finish()
    assert (code, out) == (0, [])
    assert errors.split("\n") == ["run large 1", "undelivered large 1", ""]


def test_lost_client_ends_the_server_after_the_running_call(server: str) -> None:
    """A broken pipe ends the server quietly after the call under way, its input still open; no waiting call runs."""
    process = ready(server)
    process.send(call(1, "hold", n=1), call(2, "echo", n=2))
    process.wait_until_held()
    assert process.child.stdout is not None
    process.child.stdout.close()
    process.release()
    assert process.child.wait(60) == 0
    code, _, errors = process.finish()
    assert code == 0
    assert errors.split("\n") == ["run hold 1", "undelivered hold 1", ""]


def test_stray_output_goes_to_stderr(server: str) -> None:
    """The prints of a tool or its child go to stderr, and neither can read the client's messages."""
    process = ready(server)
    process.send(call(1, "print"), call(2, "child"), call(3, "echo"))
    code, out, errors = process.finish()
    contents = {message["id"]: message["result"]["structuredContent"] for message in out}
    assert (code, contents) == (0, {1: {"read": ""}, 2: {"code": 0}, 3: {}})
    assert errors.split("\n")[:3] == ["a stray line", "another one", "from a child"]


def test_large_response_arrives_whole(server: str) -> None:
    """An answer of megabytes arrives whole."""
    process = ready(server)
    process.send(call(1, "large", size=3_000_000))
    answer = process.receive()
    assert len(answer["result"]["structuredContent"]["text"]) == 3_000_000
    assert process.finish()[0] == 0


def test_non_blocking_pipes_lose_nothing(server: str) -> None:
    """Pipes that the client made non-blocking lose nothing."""
    reads, writes = os.pipe()
    output, out = os.pipe()
    for fd in (reads, out):
        os.set_blocking(fd, False)
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.wire.fake_server", server, "1", "0"],
        stdin=reads,
        stdout=out,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    os.close(reads)
    os.close(out)
    os.write(writes, line(initialize()))
    answer = os.read(output, 65536)
    os.write(writes, line(call(1, "large", size=500_000)))
    os.close(writes)
    while chunk := os.read(output, 65536):
        answer += chunk
    os.close(output)
    assert child.wait(60) == 0
    first, second, end = answer.split(b"\n")
    assert json.loads(first)["id"] == 0
    assert len(json.loads(second)["result"]["structuredContent"]["text"]) == 500_000
    assert end == b""


def test_closed_output_is_reported(server: str) -> None:
    """A server started without standard output reports that and ends."""
    child = subprocess.run(
        ["sh", "-c", 'exec "$0" -m tests.wire.fake_server "$1" 1 0 >&-', sys.executable, server],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        input=line(request(1, "ping")),
        capture_output=True,
        check=False,
    )
    assert child.returncode == 0
    assert child.stdout == b""
    assert b"is closed" in child.stderr


def test_cancelled_calls_are_not_answered(server: str) -> None:
    """A cancelled call that waits is never run, one under way finishes; neither is answered."""
    process = ready(server)
    process.send(call(1, "hold", n=1), call("2", "echo", n=2), call(3, "echo", n=3))
    process.wait_until_held()
    process.send(*(notification("notifications/cancelled", {"requestId": id}) for id in (1, 2)), request(4, "ping"))
    assert process.receive()["id"] == 4
    process.release()
    code, out, errors = process.finish()
    assert (code, answered(out)) == (0, [3])
    assert errors.split("\n") == ["run hold 1", "undelivered hold 1", "run echo 3", "delivered echo 3", ""]
