"""Measure lower bounds of some rows without a server: the interpreter, a parser, a lock and the disk.

    python -m benchmarks.bare parse json|orjson FILE    milliseconds for reading the file, once
    python -m benchmarks.bare add FILE COUNT            adds tasks to the file once a line arrives on stdin
    python -m benchmarks.bare answer FILE               answers task_add on stdin, and writes the same bytes each time
    python -m benchmarks.bare modules DIR TOOL JSON     the modules that a first call of the tool loads, for a project
    python -m benchmarks.bare load NAME…                milliseconds for loading them, after what a start loads

Each command is a process of its own, like a server, so that no measurement pays for the objects of another.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.client import PATIENCE, ROOT, NotMeasurable
from benchmarks.disk import durable, kept, replace, timed, write


def parse_time(parser: str, path: Path) -> float:
    """Return the milliseconds in which a parser reads the file and makes objects of it. Raise NotMeasurable."""
    return float(_output("parse", parser, str(path)))


def load_time(modules: Sequence[str]) -> float:
    """Return the milliseconds for loading these modules after those of a start. Raise NotMeasurable."""
    return float(_output("load", *modules))


def first_modules(root: Path, tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the modules that a first call loads. Raise NotMeasurable."""
    found: list[str] = json.loads(_output("modules", str(root), tool, json.dumps(arguments)))
    return found


def answer_command(path: Path) -> list[str]:
    """Return the command of a server with the minimum of work for a task_add: see `_answer`."""
    return [sys.executable, "-m", "benchmarks.bare", "answer", str(path)]


def adding(path: Path, processes: int, calls: int) -> tuple[float, list[float]]:
    """Return (tasks added per second, milliseconds of each) by processes with the minimum of work: see `_add`.

    Raise NotMeasurable.
    """
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(_start("add", str(path), str(calls))) for _ in range(processes)]
        for child in children:
            _line(child)
        begun = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write(b"go\n")
            child.stdin.flush()
        times = [json.loads(_line(child)) for child in children]
        return processes * calls / (time.perf_counter() - begun), [one for of in times for one in of]


def _output(*arguments: str) -> str:
    with _start(*arguments) as child:
        return _line(child)


def _start(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.bare", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], PATIENCE)
    line = child.stdout.readline() if ready else b""
    if not line:
        child.kill()
        raise NotMeasurable("a bare process gave no answer")
    return line.decode()


def _parse(parser: str, path: str) -> None:
    loads = importlib.import_module(parser).loads
    print(timed(lambda: loads(Path(path).read_bytes())))


def _add(path: str, count: str) -> None:
    """Add tasks: lock, read, parse, add, write, sync, rename, sync, unlock. Each step prevents a loss of data."""
    tasks = Path(path)
    times = []
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(int(count)):
        begun = time.perf_counter()
        with tasks.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            value = json.loads(tasks.read_bytes())
            value["tasks"].append({"id": len(value["tasks"]) + 1, "title": "One more", "status": "pending", "deps": []})
            durable(tasks, json.dumps(value, ensure_ascii=False, indent=2).encode())
        times.append((time.perf_counter() - begun) * 1000)
    print(json.dumps(times), flush=True)


def _answer(path: str) -> None:
    """Before the answer to each line write, sync and rename the file. No file is read, checked or locked."""
    tasks = Path(path)
    data = tasks.read_bytes()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        with kept(tasks):
            replace(tasks, partial(write, data=data))
            content = {"task": {"id": 1, **asked["params"]["arguments"], "status": "pending", "deps": []}}
            result = {"content": [{"type": "text", "text": json.dumps(content)}], "structuredContent": content}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


def _modules(root: str, tool: str, arguments: str) -> None:
    _start_of_a_server()
    from nexus_mcp.server.app import App
    from nexus_mcp.workspace import Workspace

    app = App(Workspace(root))
    app.tools()
    before = set(sys.modules)
    app.call(tool, json.loads(arguments)).rendered_result  # noqa: B018 - the property renders the answer
    print(json.dumps([name for name in sys.modules if name not in before and not name.startswith("encodings")]))


def _load(*modules: str) -> None:
    _start_of_a_server()
    print(timed(lambda: [importlib.import_module(name) for name in modules]))


def _start_of_a_server() -> None:
    for name in ("nexus_mcp.cli.serve", "nexus_mcp.server.app", "nexus_mcp.server.stdio"):
        importlib.import_module(name)


COMMANDS: dict[str, Callable[..., None]] = {
    "parse": _parse,
    "add": _add,
    "answer": _answer,
    "modules": _modules,
    "load": _load,
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
