"""Record the file system operations of a call in order, through wrappers around the os functions."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nexus_mcp.store import atomic
from tests.reliability import long
from tests.reliability.suites.powercut.disk import ROOT, Change, Disk, Mark, Names, Size, Sync, Write
from tests.reliability.suites.powercut.files import short, tree_of
from tests.store.crash_points import Died

_WAYS, _ALL_WAYS = 4, 5  # number of possible results of a write


@dataclass
class _Open:
    node: int
    at: int
    appends: bool


class Recording:
    """A recording of the operations below the folder `root`, whose content counts as synced at the beginning.

    `operations` has them in order; `start` is the disk before, with the empty files and folders that are made later.
    `dead` says whether the process that was recorded last died.
    Files and folders have numbers of their own, because a file system may reuse an inode number. `infos` maps these
    numbers to the stat results of the files that existed at the beginning, and of those that were renamed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.infos: dict[int, os.stat_result] = {}
        self.operations: list[Change | Sync | Mark] = []
        self.start = Disk()
        self._live = Disk()
        self._open: dict[int, _Open] = {}
        self._last = ROOT
        self._death: int | str = ""
        self.dead = False
        self._scan(root, ROOT)
        self.start = self._live.copy()

    def mark(self, step: int, what: str) -> None:
        self.operations.append(Mark(step, what))

    def check(self) -> None:
        """Check that the recorded operations lead to the present files, so that none was missed."""
        missed = {path for path, data in self._live.tree().items() ^ tree_of(self.root).items()}
        assert not missed, f"the recording missed an operation on {sorted(missed)}"

    @contextmanager
    def running(self, rng: random.Random, death: int | str = "") -> Iterator[None]:
        """Record while the block runs. `rng` chooses the names that are random.

        The process dies after its operation number `death`, or after the operation with the description `death`; ""
        for no death. Then the block ends early, and its remaining operations are not done.
        """
        self._death, self.dead = len(self.operations) + death if isinstance(death, int) else death, False
        with ExitStack() as stack, suppress(Died):
            for name, seen in self._seen().items():
                if not hasattr(os, name):  # macOS has no copy_file_range
                    continue
                stack.enter_context(patch.object(os, name, self._wrapped(name, getattr(os, name), seen)))
            stack.enter_context(patch.object(atomic, "exchange", self._wrapped("", atomic.exchange, self._exchanged)))
            stack.enter_context(patch.object(os, "urandom", rng.randbytes))
            yield
        if self.dead:
            # A kernel closes the files of a dead process; here they are closed with the frames of the last exception.
            gc.collect()

    def _seen(self) -> dict[str, Callable[..., None]]:
        """Return function name → a function that records a successful call, from its result and its arguments."""
        return {
            "open": self._opened,
            "close": self._closed,
            "read": self._read,
            "pread": lambda data, fd, count, at: None,
            "lseek": self._sought,
            "write": self._written,
            "pwrite": lambda done, fd, data, at: self._write(fd, at, bytes(data)[:done]),
            "copy_file_range": self._copied,
            "utime": lambda done, of, **named: None,
            "ftruncate": self._cut,
            "fsync": self._synced,
            "fdatasync": self._synced,
            "mkdir": self._made,
            "rename": self._renamed,
            "replace": self._renamed,
            "link": self._linked,
            "unlink": self._removed,
            "rmdir": self._removed,
        }

    def _wrapped(self, name: str, real: Callable[..., Any], seen: Callable[..., None]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.dead and name != "close":
                raise Died
            result = real(*args, **kwargs)
            seen(result, *args, **kwargs)
            return result

        return call

    def _opened(self, fd: int, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._open.pop(fd, None)
        place = self._place(path, dir_fd)
        if place is None:
            return
        folder, name = place
        if name == ".":
            self._open[fd] = _Open(folder, 0, appends=False)
            return
        node = self._live.folders[folder].get(name)
        if node is None:
            node = self._new(self.start.files, self._live.files, b"")
            self._do(Names(folder, ((name, node),), f"create {name}"))
        elif flags & os.O_TRUNC and self._live.files[node]:
            self._do(Size(node, 0, f"truncate {name}"))
        self._open[fd] = _Open(node, 0, appends=bool(flags & os.O_APPEND))

    def _closed(self, _: None, fd: int) -> None:
        self._open.pop(fd, None)

    def _read(self, data: bytes, fd: int, _: int) -> None:
        if fd in self._open:
            self._open[fd].at += len(data)

    def _sought(self, at: int, fd: int, *_: int) -> None:
        if fd in self._open:
            self._open[fd].at = at

    def _written(self, done: int, fd: int, data: Any) -> None:
        known = self._open.get(fd)
        if known is not None:
            at = len(self._live.files[known.node]) if known.appends else known.at
            self._write(fd, at, bytes(data)[:done])
            known.at = at + done

    def _copied(self, done: int, source: int, target: int, count: int, *, offset_src: int) -> None:
        if target in self._open:
            copied = self._live.files[self._open[source].node][offset_src:][:done]
            self._written(len(copied), target, copied)

    def _write(self, fd: int, at: int, data: bytes) -> None:
        if fd in self._open:
            node = self._open[fd].node
            ways = _ALL_WAYS if long.is_on() else _WAYS
            self._do(Write(node, at, data, f"write to {self._name(node)}", ways))

    def _cut(self, _: None, fd: int, size: int) -> None:
        if fd in self._open:
            node = self._open[fd].node
            self._do(Size(node, size, f"truncate {self._name(node)}"))

    def _synced(self, _: None, fd: int) -> None:
        if fd in self._open:
            node = self._open[fd].node
            self._note(Sync(node, f"fsync {self._name(node)}"))

    def _made(self, _: None, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        place = self._place(path, dir_fd)
        if place is not None:
            node = self._new(self.start.folders, self._live.folders, {})
            self._do(Names(place[0], ((place[1], node),), f"mkdir {place[1]}"))

    def _renamed(
        self, _: None, old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        source, target = self._place(old, src_dir_fd), self._place(new, dst_dir_fd)
        if source is None or target is None or source[0] != target[0]:
            return  # `check` would detect it
        node = self._live.folders[source[0]][source[1]]
        self.infos[node] = os.stat(new, dir_fd=dst_dir_fd)
        told = f"rename {short(source[1])} to {target[1]}"
        self._do(Names(source[0], ((source[1], None), (target[1], node)), told))

    def _exchanged(self, done: bool, folder: Any, one: str, other: str) -> None:
        assert done, "the file system of the tests exchanges names"
        node = self._open[folder.descriptor].node
        names = self._live.folders[node]
        for name, file in ((one, names[other]), (other, names[one])):
            self.infos[file] = os.stat(name, dir_fd=folder.descriptor)
        self._do(Names(node, ((one, names[other]), (other, names[one])), f"exchange {short(one)} and {other}"))

    def _linked(self, _: None, old: Any, new: Any, *, src_dir_fd: int, dst_dir_fd: int, **__: Any) -> None:
        node = self._open[src_dir_fd].node
        file = self._live.folders[node][old]
        self.infos[file] = os.stat(new, dir_fd=dst_dir_fd)
        self._do(Names(node, ((new, file),), f"link {short(old)} as {new}"))

    def _removed(self, _: None, path: Any, *, dir_fd: int | None = None) -> None:
        place = self._place(path, dir_fd)
        if place is not None:
            self._do(Names(place[0], ((place[1], None),), f"remove {short(place[1])}"))

    def _do(self, change: Change) -> None:
        self._live.apply(change)
        self._note(change)

    def _note(self, operation: Change | Sync) -> None:
        self.operations.append(operation)
        self.dead = self.dead or self._death in (len(self.operations), operation.told)

    def _new(self, start: dict[int, Any], live: dict[int, Any], empty: Any) -> int:
        self._last += 1
        start[self._last], live[self._last] = empty, empty.copy() if isinstance(empty, dict) else empty
        return self._last

    def _place(self, path: Any, dir_fd: int | None) -> tuple[int, str] | None:
        """Return (folder, name) of a path, None outside of the recorded folder; the root itself has the name `.`."""
        if dir_fd is not None:
            return (self._open[dir_fd].node, os.fspath(path)) if dir_fd in self._open else None
        full = Path(path)
        if full == self.root:
            return ROOT, "."
        if self.root not in full.parents:
            return None
        node = ROOT
        *folders, name = full.relative_to(self.root).parts
        for folder in folders:
            node = self._live.folders[node][folder]
        return node, name

    def _name(self, node: int) -> str:
        for names in self._live.folders.values():
            for name, child in names.items():
                if child == node:
                    return short(name)
        return "the project folder" if node == ROOT else f"file {node}"

    def _scan(self, folder: Path, node: int) -> None:
        for entry in sorted(folder.iterdir()):
            self._last += 1
            child = self._live.folders[node][entry.name] = self._last
            if entry.is_dir():
                self._live.folders[child] = {}
                self._scan(entry, child)
            else:
                self._live.files[child] = entry.read_bytes()
                self.infos[child] = entry.stat()
