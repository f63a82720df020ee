"""A file system that reorders: the states that a power cut may leave of unsynced operations.

The rules are those of POSIX, which allow more losses than most file systems. Data is durable after an fsync of its
file, and a name that was made, renamed or removed after an fsync of its folder. Until then each operation may have
reached the disk or not, independently of the others. A write may also have reached it by half, as zeros, or (if all
`ways` of it are tried) with zeros in its second half. A rename is atomic.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

ROOT = 0
# Below the root: path → the file's bytes, None for a folder.
Tree = dict[str, bytes | None]

LOST, DONE, HALF, ZEROS, TAIL = range(5)


@dataclass(frozen=True)
class Names:
    """The present names of the folder `node`: name → file or folder, None for a removed name."""

    node: int
    names: tuple[tuple[str, int | None], ...]
    told: str
    ways: int = 2


@dataclass(frozen=True)
class Write:
    """`data` at the offset `at` of the file `node`."""

    node: int
    at: int
    data: bytes
    told: str
    ways: int = 4


@dataclass(frozen=True)
class Size:
    """The operation that truncates the file `node` to `size` bytes, or extends it to them with zeros."""

    node: int
    size: int
    told: str
    ways: int = 2


@dataclass(frozen=True)
class Mark:
    """An event of step number `step` that the client sees: it "began", was "answered", or the answer "arrived"."""

    step: int
    what: str

    @property
    def told(self) -> str:
        return f"step {self.step} {self.what}"


@dataclass(frozen=True)
class Sync:
    """Everything done to `node` so far is durable."""

    node: int
    told: str


Change = Names | Write | Size


@dataclass
class Disk:
    """Folders and files by number; ROOT is the project folder."""

    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})
    files: dict[int, bytes] = field(default_factory=dict)

    def copy(self) -> Disk:
        return Disk({node: dict(names) for node, names in self.folders.items()}, dict(self.files))

    def apply(self, change: Change, way: int = DONE) -> None:
        """Apply the change to this disk in one of the ways LOST to TAIL."""
        if way == LOST:
            return
        if isinstance(change, Names):
            folder = self.folders[change.node]
            for name, node in change.names:
                if node is None:
                    folder.pop(name, None)
                else:
                    folder[name] = node
            return
        old = self.files[change.node]
        if isinstance(change, Size):
            self.files[change.node] = old[: change.size].ljust(change.size, b"\0")
            return
        data = change.data[: len(change.data) // 2] if way == HALF else change.data
        if way == ZEROS:
            data = old[change.at : change.at + len(data)].ljust(len(data), b"\0")
        if way == TAIL:
            half = len(data) // 2
            data = data[:half] + old[change.at + half : change.at + len(data)].ljust(len(data) - half, b"\0")
        self.files[change.node] = old[: change.at].ljust(change.at, b"\0") + data + old[change.at + len(data) :]

    def tree(self) -> Tree:
        """Return the files that can be reached from the root."""
        return {path: self.files.get(node) for path, node in self.nodes().items()}

    def nodes(self) -> dict[str, int]:
        """Return path → number, for the files and folders of the tree."""
        found: dict[str, int] = {}
        waiting = [("", ROOT)]
        while waiting:
            path, node = waiting.pop()
            for name, child in self.folders[node].items():
                found[path + name] = child
                if child not in self.files:
                    waiting.append((f"{path}{name}/", child))
        return found


@dataclass
class Cut:
    """A power cut at one point: the durable state, and the changes that may be lost."""

    durable: Disk
    open: list[Change]

    def choices(
        self, rng: random.Random, all_up_to: int, samples: int, *, spread: bool = False
    ) -> Iterator[Sequence[int]]:
        """Yield, for each state to try, the way of each open change: all states, or a sample of many.

        The sample begins with simple states: only the first changes done, all done except one, or none done except one.
        `spread`: if there are more of these than `samples`, take random ones instead of the first.
        """
        ways = [change.ways for change in self.open]
        if len(ways) <= all_up_to:
            yield from itertools.product(*map(range, ways))
            return
        number = len(ways)
        plain = [
            *([DONE] * end + [LOST] * (number - end) for end in range(number + 1)),
            *([DONE] * at + [way] + [DONE] * (number - at - 1) for at in range(number) for way in range(ways[at])),
            *([LOST] * at + [way] + [LOST] * (number - at - 1) for at in range(number) for way in range(1, ways[at])),
        ]
        yield from rng.sample(plain, samples) if spread and samples < len(plain) else plain[:samples]
        for _ in range(samples - len(plain)):
            yield [rng.randrange(most) for most in ways]

    def state(self, choice: Sequence[int]) -> Disk:
        """Return the disk after the power is back."""
        disk = self.durable.copy()
        for change, way in zip(self.open, choice, strict=True):
            disk.apply(change, way)
        return disk

    def tell(self, choice: Sequence[int]) -> str:
        """Describe the open changes and their results."""
        words = {LOST: "lost", DONE: "done", HALF: "half done", ZEROS: "zeros", TAIL: "half zeros"}
        return ", ".join(f"{change.told} {words[way]}" for change, way in zip(self.open, choice, strict=True))


def cut_at(start: Disk, operations: Sequence[object], number: int) -> Cut:
    """Cut the power after the first `number` operations on the disk `start`, which is durable; return the cut.

    Its disk also has the files and folders that are made later: empty, and without a name.
    """
    durable, unsynced = start.copy(), list[Change]()
    for operation in operations[:number]:
        if isinstance(operation, Sync):
            for change in unsynced:
                if change.node == operation.node:
                    durable.apply(change)
            unsynced = [change for change in unsynced if change.node != operation.node]
        elif isinstance(operation, Names | Write | Size):
            unsynced.append(operation)
    return Cut(durable, unsynced)
