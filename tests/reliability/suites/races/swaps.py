"""Write artifacts while another process swaps names as fast as it can."""

from __future__ import annotations

import mmap
import os
import random
import struct
import traceback
from types import TracebackType
from typing import Self

from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.races.exchange import Swap, at_once, can_exchange, one_by_one
from tests.reliability.suites.races.project import CALM, NAMES, Ground, Point, ground

_BATCH = 2000  # attempts between two checks, during which nothing is swapped
_TOLD = 64  # the offset of the error text in the shared memory
_LONGEST_TURN = 60  # maximum idle rounds between two swaps


def attempt(piece: Piece, how: str, attempts: int) -> Tally:
    """Make this many writes while another process swaps: `how` is `exchange` or `renames`."""
    tally = Tally()
    with ground(piece.folder) as made:
        exchange = how == "exchange" and can_exchange(made.points[0].fd)
        swap = at_once if exchange else one_by_one
        for start in range(0, attempts, _BATCH):
            with _Swapper(made.points, swap, piece.rng.random()) as swapper:
                acknowledged = _write(made, piece.rng, range(start, min(start + _BATCH, attempts)), tally)
            way = "one system call" if exchange else "renames"
            tally.counts[f"exchanges of two names by {way}"] += swapper.swaps
            told = made.trespasses()
            made.move_copies_away()
            made.remove_links()
            if exchange and acknowledged not in (b"", made.calm()):  # renames may lose a folder with its content
                told.append(f"{CALM} is not what was last acknowledged")
            told += [
                f"{name} cannot be written after the swaps: {refused}"
                for name in (*NAMES, CALM)
                if (refused := made.write(name, "calm"))
            ]
            if told:
                tally.failures += [f"within the {_BATCH} attempts after {start}: {line}" for line in told]
                break
    return tally


def _write(made: Ground, rng: random.Random, numbers: range, tally: Tally) -> bytes:
    """Write these artifacts; return the content of CALM that was acknowledged last, b"" for none."""
    acknowledged = b""
    for number in numbers:
        name = (*NAMES, CALM)[rng.randrange(len(NAMES) + 1)]
        content = f"{number} " * rng.choice((1, 1, 1, 500))
        refused = made.write(name, content)
        tally.counts["writes tried"] += 1
        tally.counts["writes refused" if refused else "writes done"] += 1
        if not refused and name == CALM:
            acknowledged = content.encode()
        elif refused.startswith("Internal error"):
            tally.failures.append(f"attempt {number}, {name}: {refused}")
    return acknowledged


class _Swapper:
    """A process that swaps during the block, and restores the names afterwards. `swaps` are counted at the end."""

    def __init__(self, points: list[Point], swap: Swap, chance: float) -> None:
        self._points = points
        self._swap = swap
        self._chance = chance
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)
        self._pid = 0
        self.swaps = 0

    def __enter__(self) -> Self:
        self._pid = os.fork()
        if self._pid == 0:
            self._live()
        while self._shared[1] == 0:  # until the process has begun
            os.sched_yield()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._shared[0] = 1
        _, status = os.waitpid(self._pid, 0)
        assert status == 0, f"the process that swaps has failed: {self._shared[_TOLD:].rstrip(bytes(1)).decode()}"
        (self.swaps,) = struct.unpack_from("q", self._shared, 8)
        self._shared.close()

    def _live(self) -> None:
        """Run in the process, and exit."""
        code = 1
        try:
            rng = random.Random(self._chance)
            parent, swaps = os.getppid(), 0
            while self._shared[0] == 0 and os.getppid() == parent:
                point = self._points[rng.randrange(len(self._points))]
                for _ in range(2):
                    self._swap(point.fd, point.name)
                    swaps += 1
                    self._shared[1] = 1
                    for _ in range(rng.randrange(_LONGEST_TURN)):
                        pass
                point.replant()
            struct.pack_into("q", self._shared, 8, swaps)
            code = 0
        except BaseException:  # noqa: BLE001 - the other process reports it
            told = traceback.format_exc()[-1000:].encode()
            self._shared[_TOLD : _TOLD + len(told)] = told
        finally:
            os._exit(code)
