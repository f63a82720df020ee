"""Poll files for changes by any program, on one thread that runs only while there are paths to poll.

The poller compares a file's stat (mode, device, inode, size, times), never its content.
"""

from __future__ import annotations

import operator
import os
import stat
import threading
from collections import Counter, deque

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PAUSE = 0.25
"""Seconds between two polls: a change is reported in clearly less than a second. Each poll reads the stat of the polled
files. Only every other poll reads all polled folders; the polls between them read only the folders whose own time
changed, because an entry was added, removed or replaced.
"""
MOST_NAMES = 10_000
"""The maximum number of names that are polled in or below a folder. Beyond it, only the times of folders are compared,
which change when a name is added, removed or replaced.
"""
NAMES = "//"
"""A folder path with this suffix means all names below the folder. A path with a single slash means the folder's own
entries.
"""

FILES = "///"
"""A folder path with this suffix means all files below the folder, also if they are written in place."""
MOST_FILES = 1000
"""The maximum number of entries that are polled for a path with the suffix FILES or EACH: each costs a call of stat."""

EACH = "////"
"""A file path with this suffix means the file of this name in each folder beside it: runs/status.json//// means
runs/*/status.json.
"""

Mark = object


class Poller:
    """Polls paths every `pause` seconds; `base` returns the folder to which a path is relative.

    After each poll the polling thread passes the changed paths, also an empty set, to `tell`, which must not raise.
    """

    def __init__(self, base: Callable[[str], str], tell: Callable[[set[str]], None], pause: float = PAUSE) -> None:
        self._base = base
        self._tell = tell
        self._pause = pause
        self._changed = threading.Condition()
        self._wanted: Counter[str] = Counter()
        self._marks: dict[str, Mark] = {}
        self._folders: dict[str, Mark] = {}
        self._is_half = False
        self._thread: threading.Thread | None = None
        self._is_called = False
        self._ended = False

    def add(self, paths: Iterable[str]) -> None:
        """Poll these paths, too; only later changes are reported. Raise RuntimeError when no thread can be started."""
        with self._changed:
            for path in paths:
                self._wanted[path] += 1
                if path not in self._marks:
                    self._marks[path] = mark(self._base(path), path)
            if self._wanted and self._thread is None and not self._ended:
                thread = threading.Thread(target=self._run, name="poller")
                thread.start()
                self._thread = thread

    def remove(self, paths: Iterable[str]) -> None:
        """Stop polling these paths, unless they were added more than once."""
        with self._changed:
            for path in paths:
                self._wanted[path] -= 1
                if self._wanted[path] <= 0:
                    del self._wanted[path]
                    self._marks.pop(path, None)
            self._changed.notify_all()

    def call(self) -> None:
        """Let the polling thread, if it runs, poll and call `tell` at once, even if nothing changed."""
        with self._changed:
            self._is_called = True
            self._changed.notify_all()

    def end(self) -> None:
        """Let the polling thread, if it runs, poll once more and end. After this returns, `tell` is not called any
        more.
        """
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            goes_on = self._wait()
            self._tell(self._poll())

    def _wait(self) -> bool:
        """Wait until the next poll is due; return False when it is the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._is_called or not self._wanted, self._pause)
            self._is_called = False
            if not self._wanted and not self._ended:
                self._thread = None  # the next add() starts another one
            return bool(self._wanted) and not self._ended

    def _poll(self) -> set[str]:
        """Return the paths that changed. Every other poll skips the folders whose own time did not change."""
        with self._changed:
            before = dict(self._marks)
            self._is_half = not self._is_half and not self._ended
        folders = {path: _folder(self._base(path), path) for path in before if path.endswith("/")}
        skipped = {path for path in folders if self._is_half and folders[path] == self._folders.get(path)}
        now = {path: mark(self._base(path), path) for path in before if path not in skipped}
        changed = {path for path in now if before[path] != now[path]}
        self._folders = folders
        with self._changed:
            for path in changed & self._marks.keys():
                self._marks[path] = now[path]
        return changed


def mark(base: str, path: str) -> Mark:
    """Return a value that differs after a change of what `path` means (NAMES, FILES, EACH). Never raises.

    Of a link at the end of a path the link itself is compared, not its target.
    """
    where = os.path.join(base, path.rstrip("/"))
    try:
        if path.endswith(EACH):
            return hash(frozenset(_each(*os.path.split(where))))
        seen = os.lstat(where)
        if path.endswith(FILES):
            return hash(frozenset(_names(where, MOST_FILES, _status))) if stat.S_ISDIR(seen.st_mode) else None
        if path.endswith(NAMES):
            return hash(frozenset(_names(where))) if stat.S_ISDIR(seen.st_mode) else None
        if path.endswith("/"):
            return hash(frozenset(_entries(where))) if stat.S_ISDIR(seen.st_mode) else None
        return _of(seen)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return str(error)


def _folder(base: str, path: str) -> Mark:
    """Return a value that differs when an entry of the folder was added, removed or replaced. It costs one lstat."""
    where = os.path.join(base, path.rstrip("/"))
    try:
        return os.lstat(os.path.dirname(where) if path.endswith(EACH) else where).st_mtime_ns
    except (OSError, ValueError):
        return None


def _of(seen: os.stat_result) -> tuple[int, ...]:
    return (seen.st_mode, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


def _entries(where: str) -> Iterator[object]:
    with os.scandir(where) as entries:
        for number, entry in enumerate(entries):
            if number == MOST_NAMES:
                yield _time(where)
                return
            try:
                yield entry.name, _of(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue


def _each(folder: str, name: str) -> Iterator[object]:
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number == MOST_FILES:
                yield _time(folder)
                return
            try:
                yield entry.name, _of(os.lstat(os.path.join(entry.path, name)))
            except OSError:
                continue


def _status(entry: os.DirEntry[str]) -> object:
    try:
        return entry.path, _of(entry.stat(follow_symlinks=False))
    except OSError:
        return entry.path, ()


def _names(
    where: str, most: int | None = None, of: Callable[[os.DirEntry[str]], object] = operator.attrgetter("path")
) -> Iterator[object]:
    """Yield the result of `of` for every entry below the folder `where`, breadth first. After `most` entries, yield
    only the times of the remaining folders.

    Without `most` the limit is MOST_NAMES.
    """
    most = MOST_NAMES if most is None else most
    waiting, seen = deque([where]), 0
    while waiting:
        folder = waiting[0]
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > most:
                        yield from map(_time, waiting)
                        return
                    yield of(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            pass
        waiting.popleft()


def _time(folder: str) -> tuple[str, int]:
    """Return (the folder, the time in nanoseconds when an entry was last added, removed or replaced; 0 if unknown)."""
    try:
        return folder, os.lstat(folder).st_mtime_ns
    except OSError:
        return folder, 0
