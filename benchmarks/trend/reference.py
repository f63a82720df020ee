"""The reference for our calls: a server that does the same work each time, independent of our code.

    python -m benchmarks.trend.reference FILE

It is called over pipes like our servers, so that on a busy machine both wait for the CPU alike. FILE is some megabytes
of text, which the reference reads and replaces by a copy.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

LIST_SIZE = 12_000_000  # bytes, as the answer with 10 000 tasks


def call(_: Path) -> str:
    """Do the work of a call on a short list: parse, walk through and serialize some objects in bare Python."""
    tasks = json.loads(json.dumps([{"id": number, "status": "pending", "deps": [number]} for number in range(140)]))
    done = {task["id"] for task in tasks if task["status"] == "completed"}
    for _turn in range(3):
        ready = [task["id"] for task in tasks if all(place in done for place in task["deps"])]
    return json.dumps({"tasks": tasks, "ready": ready}) + "x" * 100_000


def answer(_: Path) -> str:
    """Build a long answer."""
    piece = "x" * 600
    return "".join([piece for _turn in range(LIST_SIZE // 600)])


def scan(file: Path) -> str:
    """Read megabytes, search them, and write a copy beside the file."""
    data = file.read_bytes()
    found = data.lower().find(b"\0")
    beside = file.with_suffix(".new")
    beside.write_bytes(data)
    beside.replace(file)
    return str(found)


WORK: dict[str, Callable[[Path], str]] = {"call": call, "answer": answer, "scan": scan}


def main() -> None:
    file = Path(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        text = WORK[asked["method"]](file)
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": text}), flush=True)


if __name__ == "__main__":
    main()
