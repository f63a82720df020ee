"""A process that reads history.json without a lock while servers replace it, and counts incomplete files.

    python -m benchmarks.reader PATH [parse]

It reads until stdin ends, then prints {"looks", "half", "sizes"} as a line of JSON. `half` counts the reads of a file
that does not end as a history does, or with `parse`, is not JSON. Only the writers know which sizes are right.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen

from benchmarks.client import ROOT
from benchmarks.data.history import TAIL

_PAUSE = 0.002  # seconds between two reads, so that they do not slow the servers


@dataclass
class Seen:
    looks: int = 0
    half: int = 0
    sizes: set[int] = field(default_factory=set)


def look(path: Path, seen: Seen, *, parse: bool) -> None:
    size, whole = -1, False
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            whole = os.pread(file.fileno(), len(TAIL), max(0, size - len(TAIL))) == TAIL
            if whole and parse:
                whole = isinstance(json.load(file), dict)
    except (OSError, ValueError):
        whole = False
    seen.looks += 1
    seen.half += not whole
    seen.sizes.add(size)


@contextmanager
def watching(path: Path, *, parse: bool = False) -> Iterator[Seen]:
    """Let another process read the file until the block ends. Its counts are in the yielded value afterwards."""
    seen = Seen()
    command = [sys.executable, "-m", "benchmarks.reader", str(path), *(["parse"] if parse else [])]
    with Popen(command, stdin=PIPE, stdout=PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        child.stdout.readline()  # the reader has started
        yield seen
        told = json.loads(child.communicate()[0])
    seen.looks, seen.half, seen.sizes = told["looks"], told["half"], set(told["sizes"])


def main() -> None:
    path, parse = Path(sys.argv[1]), sys.argv[2:] == ["parse"]
    seen = Seen()
    look(path, seen, parse=parse)
    print(flush=True)
    while not select.select([0], [], [], _PAUSE)[0]:
        look(path, seen, parse=parse)
    print(json.dumps({"looks": seen.looks, "half": seen.half, "sizes": sorted(seen.sizes)}))


if __name__ == "__main__":
    main()
