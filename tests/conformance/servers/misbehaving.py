"""A server that misbehaves: the argument `do` of its tool `act` selects how. It imports nothing of nexus_mcp."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OUTPUT = {
    "type": "object",
    "required": ["did"],
    "properties": {"did": {"type": "string"}, "slow": {"pattern": "^(a+)+$"}},
}
TOOL = {"name": "act", "inputSchema": {"type": "object"}, "outputSchema": OUTPUT}
HANDSHAKE = ("initialize", "notifications/initialized", "tools/list", "tools/call")
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": ""}}
PAUSE = [sys.executable, "-c", "import signal; print(flush=True); signal.pause()"]


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def notes(size: int) -> None:
    """Send notifications without an end."""
    line = json.dumps({**NOTE, "params": {"level": "info", "data": "x" * size}}) + "\n"
    while True:
        write(line)


def stderr() -> None:
    while True:
        sys.stderr.write("y" * 100_000)


def pause() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


def close(fd: int) -> None:
    os.close(fd)
    pause()


def child(environment: dict[str, str] | None, *, session: bool) -> int:
    """Start a process that stays and keeps none of our pipes. Return its pid when it runs."""
    started = subprocess.Popen(
        PAUSE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=session,
    )
    assert started.stdout is not None
    started.stdout.readline()
    return started.pid


def orphan() -> int:
    """Start a process in a session of its own, whose parent has ended."""
    script = f"import subprocess; print(subprocess.Popen({PAUSE!r}, start_new_session=True, stdout=2).pid)"
    return int(subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True).stdout)


def truncate(path: str, size: int) -> None:
    with Path(path).open("w") as file:
        file.truncate(size)


def deep(path: str, folders: int) -> None:
    """Make this many nested folders below a new one, deeper than any path can name."""
    Path(path).mkdir(parents=True)
    fd = os.open(path, os.O_RDONLY)
    for _ in range(folders):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)


def swap(path: str, to: str) -> None:
    """Rename a folder, and put a link in its place."""
    place = Path(os.path.abspath(path))
    place.rename(f"{place}.moved")
    place.symlink_to(to)


def daemon() -> int:
    """Start a process in a session of its own, without our environment, whose parent has ended."""
    script = f"import subprocess; print(subprocess.Popen({PAUSE!r}, start_new_session=True, stdout=2, env={{}}).pid)"
    return int(subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True).stdout)


def report(path: str) -> None:
    """Start a process, write its pid and our own to the FIFO `path`, and answer no more."""
    Path(path).write_text(f"{os.getpid()} {orphan()}")
    pause()


MISDEEDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "die": lambda _: os._exit(3),
    "crash": lambda _: os.kill(os.getpid(), signal.SIGSEGV),
    "hang": lambda _: pause(),
    "long line": lambda _: write("x" * (9 << 20)),
    "bytes": lambda _: notes(100_000),
    "lines": lambda _: notes(1),
    "stderr": lambda _: stderr(),
    "garbage": lambda _: write("Hello \x1b[31mworld, this is a line that is no message at all and far too long\n"),
    "blank": lambda _: write("\n"),
    "close stdout": lambda _: close(1),
    "child": lambda _: {"pid": child(None, session=False)},
    "child without environment": lambda _: {"pid": child({}, session=True)},
    "orphan": lambda _: {"pid": orphan()},
    "daemon": lambda _: {"pid": daemon()},
    "write": lambda given: {"wrote": Path(given["path"]).write_text(given["text"])},
    "mkdir": lambda given: Path(given["path"]).mkdir(parents=True),
    "link": lambda given: Path(given["path"]).symlink_to(given["to"]),
    "rename": lambda given: os.rename(given["path"], given["to"]),
    "mode": lambda given: Path(given["path"]).chmod(given["mode"]),
    "delete": lambda given: shutil.rmtree(given["path"]),
    "truncate": lambda given: truncate(given["path"], given["size"]),
    "deep": lambda given: deep(given["path"], given["folders"]),
    "swap": lambda given: swap(given["path"], given["to"]),
    "report": lambda given: report(given["path"]),
    "tell": lambda _: {"cwd": os.getcwd(), "pid": os.getpid(), "environment": dict(os.environ)},
}
RESULTS: dict[str, Any] = {
    "refuse": {"error": {"code": -32602, "message": "not today"}},
    "quote": {"error": {"code": -32000, "message": "Connection closed"}},
    "mark": {"result": {"content": [{"type": "text", "text": "no"}], "isError": True}},
    "text": {"result": {"content": [{"type": "text", "text": '{"did": "text"}'}]}},
    "break the schema": {"result": {"content": [], "structuredContent": {"did": 7}}},
    "extra": {"result": {"content": [{"type": "text", "text": "no", "x": 1}], "more": 2}},
    "true for one": {
        "result": {"content": [{"type": "text", "text": '{"a": [1]}'}], "structuredContent": {"a": [True]}}
    },
    "float for integer": {
        "result": {"content": [{"type": "text", "text": '{"a": 1.0}'}], "structuredContent": {"a": 1}}
    },
    "think": {"result": {"content": [], "structuredContent": {"did": "think", "slow": "a" * 60 + "!"}}},
    "no result": {"result": {"content": "none"}},
    "nest": {"result": {"content": [{"type": "text", "text": '{"a":' * 600 + "1" + "}" * 600}]}},
}


def acted(given: dict[str, Any]) -> dict[str, Any]:
    did = given["do"]
    if did in RESULTS:
        return dict(RESULTS[did])
    found = MISDEEDS[did](given) if did in MISDEEDS else {}
    return {"result": {"content": [], "structuredContent": {"did": did, "given": given, **(found or {})}}}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "nasty", "version": "7"}
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if message["method"] == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if message["method"] == "tools/call":
        return acted(message["params"]["arguments"])
    return {"error": {"code": -32601, "message": "no such method"}}


def serve(then: str = "") -> None:
    """Serve until stdin ends. `then` selects the misbehaviour.

    At the end of stdin: "" exits, "stay" does not, "print" prints garbage, "mumble" prints half a line, "crash" dies by
    a signal, "fail" exits with 3. Earlier: "twice" answers calls twice, "hang up" closes stdout after a call, "deaf"
    stops reading after tools/list, "shut" closes stdin then, "mute" never answers, "strict" exits at any request before
    the handshake."""
    if then == "mute":
        pause()
    for line in sys.stdin:
        message = json.loads(line)
        if then == "strict" and message["method"] not in HANDSHAKE:
            sys.exit(4)
        if "id" in message:
            if then == "shut" and message["method"] == "tools/list":
                os.close(0)
            answered = json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}) + "\n"
            write(answered)
            if then == "twice" and message["method"] == "tools/call":
                write(answered)
            if then == "hang up" and message["method"] == "tools/call":
                os.close(1)
            if then in ("deaf", "shut") and message["method"] == "tools/list":
                pause()
    if then == "stay":
        pause()
    if then == "print":
        write("Goodbye\n")
    if then == "mumble":
        write("Good")
    if then == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if then == "fail":
        sys.exit(3)


if __name__ == "__main__":
    serve(*sys.argv[1:])
