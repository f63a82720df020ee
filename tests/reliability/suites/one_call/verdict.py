"""Check that the answer of a call that met an error agrees with the files."""

from __future__ import annotations

from dataclasses import dataclass

from nexus_mcp.store import lock, oplog
from nexus_mcp.store.history import cache
from tests.reliability.suites.one_call.model import Heard, Model, Outcome, spelled
from tests.reliability.suites.one_call.points import Case, Ended, Point
from tests.reliability.suites.one_call.scenarios import (
    LATER,
    LOG_ASIDE,
    Tree,
    files,
    files_of,
    is_temporary,
    leftovers,
    tree,
)
from tests.reliability.suites.one_call.workspace_check import Wrong, check_whole, narrowed, settle

# Python repeats these calls when a signal interrupts them.
_RESUMED = frozenset(
    {
        *("openat", "read", "pread64", "write", "pwrite64", "copy_file_range"),
        *("ftruncate", "fsync", "fdatasync", "flock", "fchmod"),
    }
)
_REPLACING = frozenset({"fsync", "fdatasync", "replace", "rename", "renameat", "renameat2"})
_REFUSED = ("nothing was changed", "changed nothing itself")


@dataclass(frozen=True)
class Fault:
    """The injected error: its call, its name, and whether all later calls of that name failed, too."""

    point: Point
    code: str
    lasting: bool

    @property
    def passes(self) -> bool:
        """Whether the caller must not notice the error."""
        return self.code == "EINTR" and self.point.name in _RESUMED

    @property
    def tells(self) -> bool:
        """Whether the call must be answered with an error.

        That is so for a rename, an fsync and the lock, which nothing can replace. A change succeeds without the
        operation log, and the index of the history can be made again.
        """
        if self.passes or any(name in self.point.shown for name in (oplog.NAME, cache.NAME)):
            return False
        if self.point.name == "flock":
            return f"/{lock.NAME}>" in self.point.shown
        return self.point.name in _REPLACING or (self.at_lock and self.point.name in ("open", "openat"))

    @property
    def at_lock(self) -> bool:
        """Whether the error was at the lock file. A simulated flock counts always: it does not show its file."""
        spelled_as = (f"/{lock.NAME}>", f"{lock.NAME!r}", f'"{lock.NAME}"')
        return self.point.name == "flock" or any(name in self.point.shown for name in spelled_as)


def check(case: Case, model: Model, before: list[Outcome], ended: Ended, fault: Fault | None) -> None:
    """Compare the answer with the files, then make calls until no change is pending. Raise Wrong.

    With `fault` None the call must succeed. `before` are the possible files at the time of the call.
    """
    if ended.answer is None:
        raise Wrong("no answer")
    after = _after(case, model, before, ended, fault)
    check_whole(case.root, [files_of(case.start), *(outcome.files for outcome in (*before, *after))])
    settle(case.root, model, after, case.at + LATER)


def _after(case: Case, model: Model, before: list[Outcome], ended: Ended, fault: Fault | None) -> list[Outcome]:
    error = ended.answer.get("error")
    if error is None:
        if fault is not None and fault.tells and LOG_ASIDE not in tree(case.root):
            raise Wrong("answered as a success")
        done = model.after(before, case.tool, case.at, Heard.ANSWER, spelled(ended.answer))
        if not done:
            raise Wrong(f"answered wrongly: {spelled(ended.answer)[:300]}")
        return narrowed(case.root, done, "after a success")
    if fault is None or fault.passes:
        raise Wrong(f"refused: {error}")
    if any(words in error for words in _REFUSED):
        _check_unchanged(case, fault, error)
        return before
    done = model.after(before, case.tool, case.at, Heard.RECORDED)
    if "is recorded in" in error:
        return done
    if "did not confirm" in error:
        return narrowed(case.root, done, f"told {error!r}")
    raise Wrong(f"an error that does not say whether files were changed: {error}")


def _check_unchanged(case: Case, fault: Fault, error: str) -> None:
    """Check that only the lock, temporary and advisory files differ; with a lasting error, new folders, too."""
    if leftovers(case.start):
        return  # the call may have completed an earlier change
    if files(case.root) != files_of(case.start):
        raise Wrong(f"the answer is {error!r}, but files were changed")
    was, found = _visible(case.start), _visible(tree(case.root))
    if fault.at_lock and "state" not in was:
        # A process that made the lock file but did not get the lock must leave it: another process may hold it by now.
        found = {path: content for path, content in found.items() if path not in ("", "state")}
    if was != found and not fault.lasting:
        differing = sorted(path for path in {*was, *found} if was.get(path, ...) != found.get(path, ...))
        raise Wrong(f"the answer is {error!r}, but these have changed: {', '.join(differing)}")


def _visible(of: Tree) -> Tree:
    own = (f"state/{lock.NAME}", f"state/{oplog.NAME}", f"state/{cache.FOLDER}")
    return {
        path: content
        for path, content in of.items()
        if not (path in own or path.startswith(f"{own[-1]}/") or is_temporary(path))
    }
