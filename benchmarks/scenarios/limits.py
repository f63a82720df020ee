"""Lower bounds for any server: the same bytes through the disk, the memory, a JSON parser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bare import adding, parse_time
from benchmarks.client import NotMeasurable
from benchmarks.data.history import history
from benchmarks.data.project import projects
from benchmarks.data.tasks import tasks_file
from benchmarks.disk import replacing, timed, write
from benchmarks.figures import percentile
from benchmarks.goals import BARE_CROWD, COPIED, CROWDS, JSON, ORJSON, PARSED, READ, SIZES, WRITTEN
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.crowd import CALLS, PROCESSES

_PART = 1 << 20
_Loads = Callable[[bytes], object]
_Dumps = Callable[[object], bytes]
LARGE = 10_000


def run(bench: Bench) -> None:
    with projects(["limits"]) as made:
        folder = made["limits"].root
        for _ in range(bench.rounds):
            for size in SIZES:
                if size >= LARGE:
                    _disk(bench, size, folder)
                    _parsers(bench, size)
            if "crowd" in bench.parts:
                _crowds(bench, folder)
            if "tasks" in bench.parts:
                _lists(bench, folder)


def _disk(bench: Bench, size: int, folder: Path) -> None:
    if "search" in bench.parts:
        bench.figures.add(f"search-{size}", READ, timed(lambda: _read(history(size))))
    ops = [op for op in ("archive", "close") if op in bench.parts]
    if not ops:
        return
    data = history(size).read_bytes()
    written = replacing(folder / "written", lambda fd: write(fd, data))
    copied = replacing(folder / "copied", lambda fd: _copy(history(size), fd))
    for op in ops:
        bench.figures.add(f"{op}-{size}", WRITTEN, written)
        bench.figures.add(f"{op}-{size}", COPIED, copied)


def _parsers(bench: Bench, size: int) -> None:
    """Measure a first read that only parses: without the checks that the parser does not make, and without a result."""
    firsts = [op for op in ("clone-recent", "clone-plan", "clone-search") if op in bench.parts]
    for parser, limit in PARSED.items() if firsts else ():
        taken = parse_time(parser, history(size))
        for op in firsts:
            bench.figures.add(f"{op}-{size}", limit, taken)
    for op in firsts:
        bench.figures.add(f"{op}-{size}", READ, timed(lambda: _read(history(size))))


def _crowds(bench: Bench, folder: Path) -> None:
    for size in CROWDS:
        tasks = folder / "tasks.json"
        tasks.write_bytes(tasks_file(size))
        os.sync()
        rate, times = adding(tasks, PROCESSES, CALLS)
        bench.figures.add(f"crowd-{size}", BARE_CROWD, rate)
        bench.figures.add(f"crowd-p99-{size}", BARE_CROWD, percentile(times, 0.99))


def _lists(bench: Bench, folder: Path) -> None:
    """Measure a list of 10 000 tasks: read and answer it; read it, write it again and sync it."""
    try:
        import orjson
    except ImportError:
        raise NotMeasurable("orjson is not installed: make bench installs what it needs") from None

    data = tasks_file(10_000)
    parsers: dict[str, tuple[_Loads, _Dumps, _Dumps]] = {
        ORJSON: (orjson.loads, partial(orjson.dumps, option=orjson.OPT_INDENT_2), orjson.dumps),
        JSON: (json.loads, partial(_json, indent=2), partial(_json, separators=(",", ":"))),
    }
    for name, (loads, pretty, compact) in parsers.items():
        taken = replacing(folder / "tasks", partial(_change, data, loads, pretty))
        for call in ("task_add", "task_update"):
            bench.figures.add(f"{call}-10000", name, taken)
        bench.figures.add("task_list-10000", name, timed(partial(_answer, data, loads, compact)))


def _json(value: object, **layout: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, **layout).encode()


def _change(data: bytes, loads: _Loads, dumps: _Dumps, fd: int) -> None:
    write(fd, dumps(loads(data)))


def _answer(data: bytes, loads: _Loads, dumps: _Dumps) -> bytes:
    return dumps(loads(data))


def _copy(source: Path, fd: int) -> None:
    with source.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        while left:
            left -= os.copy_file_range(file.fileno(), fd, left)


def _read(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        while os.read(fd, _PART):
            pass
    finally:
        os.close(fd)
