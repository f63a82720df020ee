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

# Python makes these again when a signal interrupts them.
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
    """The error that was met: at which call, its name, and whether it stayed."""

    point: Point
    code: str
    lasting: bool

    @property
    def passes(self) -> bool:
        """It is one that the caller must not notice."""
        return self.code == "EINTR" and self.point.name in _RESUMED

    @property
    def tells(self) -> bool:
        """It is one that the caller must be told about: without this, no answer can be promised.

        There is nothing weaker to fall back to, neither for a rename or an fsync nor for the lock. The operation log
        alone is advice, and the index of the history can be made anew.
        """
        if self.passes or any(name in self.point.shown for name in (oplog.NAME, cache.NAME)):
            return False
        if self.point.name == "flock":
            return f"/{lock.NAME}>" in self.point.shown
        return self.point.name in _REPLACING or (self.at_lock and self.point.name in ("open", "openat"))

    @property
    def at_lock(self) -> bool:
        """Return whether the error happened on the lock file, by its name or open. A simulated error does not show
        which file is locked.
        """
        spelled_as = (f"/{lock.NAME}>", f"{lock.NAME!r}", f'"{lock.NAME}"')
        return self.point.name == "flock" or any(name in self.point.shown for name in spelled_as)


def check(case: Case, model: Model, before: list[Outcome], ended: Ended, fault: Fault | None) -> None:
    """Compare the answer with the files, then make calls until no change is pending. With `fault` None the call must
    succeed. `before` are the possible files when the call was made. Raise Wrong.

    `before` is what there may have been when the call was made. Raise Wrong.
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
            raise Wrong(f"answered with what it must not: {spelled(ended.answer)[:300]}")
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
    raise Wrong(f"an error that does not say what became of the files: {error}")


def _check_unchanged(case: Case, fault: Fault, error: str) -> None:
    """Check that only the lock, temporary files and advisory files differ; with a persistent error, new folders may,
    too.
    """
    if leftovers(case.start):
        return  # what was begun before may have been carried on, whatever became of this call
    if files(case.root) != files_of(case.start):
        raise Wrong(f"told {error!r}, but files were changed")
    was, found = _visible(case.start), _visible(tree(case.root))
    if fault.at_lock and "state" not in was:
        # Who made the lock's file but did not get the lock must leave it: another may have got it by now.
        found = {path: content for path, content in found.items() if path not in ("", "state")}
    if was != found and not fault.lasting:
        differing = sorted(path for path in {*was, *found} if was.get(path, ...) != found.get(path, ...))
        raise Wrong(f"told {error!r}, but these are not as they were: {', '.join(differing)}")


def _visible(of: Tree) -> Tree:
    own = (f"state/{lock.NAME}", f"state/{oplog.NAME}", f"state/{cache.FOLDER}")
    return {
        path: content
        for path, content in of.items()
        if not (path in own or path.startswith(f"{own[-1]}/") or is_temporary(path))
    }
