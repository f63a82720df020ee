"""What git says about the project. It is asked in a way that writes nothing and runs nothing that the repository names.

Without variables of git's own: they would let it look at another repository than the one that is there.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from nexus_mcp.log import printable
from nexus_mcp.merging.attributes import DRIVER
from nexus_mcp.merging.repository import NO_FETCH, SAFE, reason
from nexus_mcp.store.journal import SHOWN_HISTORY
from nexus_mcp.workspace import find_root

SECONDS = 10.0
_LIMIT = 1 << 20
_REASON_LENGTH = 120
_STATE = ".nexus/state"
_PROBES = tuple(
    f"{_STATE}/{name}"
    for name in ("plan.json", "tasks.json", "lock", "oplog.jsonl", "artifacts/note.md", "nexus-mcp/agent-tracker.json")
)


@dataclass(frozen=True)
class Facts:
    """`asked`: git answered. `reason`: why it did not, although there is a repository; "" where there is none.

    `not_ignored`: session files, there or not, that git would take. `tracked`: those it has. `history_unmerged`: a
    merge of the history waits for somebody. `merge`: its attribute, `driver` the command registered for ours, "" when
    none is.
    """

    asked: bool = False
    reason: str = ""
    not_ignored: tuple[str, ...] = ()
    tracked: tuple[str, ...] = ()
    history_tracked: bool = False
    history_unmerged: bool = False
    merge: str = ""
    driver: str = ""


class Silent(Exception):
    """Git gave no answer. The text says why."""


class Late(Silent):
    """It gave none in time."""


class Questions:
    """What git is asked in one run, about the project at `root`: anew at each look, for SECONDS in all."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._left = SECONDS
        self._last = Facts()

    def ask(self) -> Facts:
        """What git says about the project now. When its time is over, what it said last."""
        if not os.path.lexists(os.path.join(find_root(None, {}, self._root), ".git")):
            return Facts()
        if self._left <= 0:
            return self._last
        git = shutil.which("git")
        if git is None:
            return Facts(reason="git is not installed")
        begun = time.monotonic()
        try:
            self._last = _facts(git, self._root, begun + self._left)
        except Late:
            if not self._last.asked:
                self._last = Facts(reason=f"git did not answer in {SECONDS:g} seconds")
            self._left = 0.0
        except Silent as silent:
            self._last = Facts(reason=str(silent))
        self._left -= time.monotonic() - begun
        return self._last


def _facts(git: str, root: str, until: float) -> Facts:
    code, inside = _run(git, until, root, "rev-parse", "--is-inside-work-tree")
    if code or inside.strip() != b"true":
        said = reason(inside.decode("utf-8", "replace")) if code else "it is no working tree"
        raise Silent(printable(said[:_REASON_LENGTH]) or "git failed")
    code, listed = _run(git, until, root, "ls-files", "-z", "--stage", "--", _STATE, SHOWN_HISTORY)
    if code > 0:
        raise Silent("git cannot read its index")
    # Each entry is "mode object stage<TAB>path"; of an unmerged file there are several, none with stage 0.
    entries = [os.fsdecode(entry).partition("\t") for entry in listed.split(b"\0")[:-1]]
    tracked = list(dict.fromkeys(path for _, _, path in entries))
    code, listed = _run(git, until, root, "check-ignore", "--no-index", "--", *_PROBES)
    ignored = listed.decode("ascii", "replace").splitlines()
    if code > 1:  # a link on the way, for one, which git refuses as we do
        raise Silent("git cannot tell what is ignored")
    _, merge = _run(git, until, root, "check-attr", "-z", "merge", "--", SHOWN_HISTORY)
    _, driver = _run(git, until, root, "config", "--get", f"merge.{DRIVER}.driver")
    return Facts(
        asked=True,
        not_ignored=tuple(path for path in _PROBES if path not in ignored),
        tracked=tuple(path for path in tracked if path != SHOWN_HISTORY),
        history_tracked=SHOWN_HISTORY in tracked,
        history_unmerged=any(path == SHOWN_HISTORY and stage[-1:] != "0" for stage, _, path in entries),
        merge=b"".join(merge.split(b"\0")[2:3]).decode("utf-8", "replace"),
        driver=driver.decode("utf-8", "replace").strip(),
    )


def _run(git: str, until: float, root: str, *arguments: str) -> tuple[int, bytes]:
    """Exit code and output, complaints included, cut at a length. Raises Silent when git cannot be run.

    Late when it has not ended at the moment `until` of the monotonic clock. Whatever is raised, git is gone then.
    """
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = subprocess.Popen(  # noqa: S603 - the git that the user's own shell would run
            [git, *SAFE, *arguments],
            cwd=root,
            env={**surroundings, **NO_FETCH, "LC_ALL": "C"},
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if arguments[0] == "rev-parse" else subprocess.DEVNULL,
        )
    except OSError as error:
        raise Silent(error.strerror or "git cannot be run") from error
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(max(0.0, until - time.monotonic()), end)
    timer.daemon = True
    try:
        with process:
            try:
                timer.start()
                output = process.stdout.read(_LIMIT) if process.stdout is not None else b""
                if len(output) == _LIMIT:
                    _kill(process)  # what is left would only make a count greater
                process.wait()
            except BaseException:  # Ctrl-C does not reach it: it is in a session of its own
                _kill(process)
                raise
    finally:
        timer.cancel()
    if late.is_set():
        raise Late("git did not answer in time")
    return process.returncode, output


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started: a child that is left would keep the pipe open, and us waiting."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
