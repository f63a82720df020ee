"""Query git about the project, without writing and without running a program that the repository names.

GIT_* variables are removed from the environment: they could point git to another repository.
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
from nexus_mcp.merging.driver import DRIVER
from nexus_mcp.merging.repository import NO_FETCH, SAFE, reason
from nexus_mcp.store.journal import SHOWN_HISTORY
from nexus_mcp.workspace import find_root

TIMEOUT_S = 10.0
_LIMIT = 1 << 20
_REASON_LENGTH = 120
_STATE = ".nexus/state"
_PROBES = tuple(
    f"{_STATE}/{name}"
    for name in ("plan.json", "tasks.json", "lock", "oplog.jsonl", "artifacts/note.md", "nexus-mcp/agent-tracker.json")
)


@dataclass(frozen=True)
class Facts:
    """The facts about the project that git reports.

    `answered`: git answered. `reason`: why git did not answer about an existing repository, else "". `not_ignored`:
    files of `state/`, existing or not, that git does not ignore. `tracked`: files of `state/` in git's index.
    `history_unmerged`: history.json has an unresolved conflict. `merge`: the merge attribute of history.json. `driver`:
    the registered command of our merge driver, "" when there is none.
    """

    answered: bool = False
    reason: str = ""
    not_ignored: tuple[str, ...] = ()
    tracked: tuple[str, ...] = ()
    history_tracked: bool = False
    history_unmerged: bool = False
    merge: str = ""
    driver: str = ""


class NoAnswer(Exception):
    """Git failed. The text says why."""


class TimedOut(NoAnswer):
    """Git did not answer in time."""


class Queries:
    """The git queries about the project at `root`: repeated in each pass, for at most TIMEOUT_S seconds in all."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._left = TIMEOUT_S
        self._last = Facts()

    def run(self) -> Facts:
        """Return the current facts; when the time is used up, the facts of the last call."""
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
        except TimedOut:
            if not self._last.answered:
                self._last = Facts(reason=f"git did not answer in {TIMEOUT_S:g} seconds")
            self._left = 0.0
        except NoAnswer as silent:
            self._last = Facts(reason=str(silent))
        self._left -= time.monotonic() - begun
        return self._last


def _facts(git: str, root: str, until: float) -> Facts:
    code, inside = _run(git, until, root, "rev-parse", "--is-inside-work-tree")
    if code or inside.strip() != b"true":
        problem = reason(inside.decode("utf-8", "replace")) if code else "it is not a working tree"
        raise NoAnswer(printable(problem[:_REASON_LENGTH]) or "git failed")
    code, listed = _run(git, until, root, "ls-files", "-z", "--stage", "--", _STATE, SHOWN_HISTORY)
    if code > 0:
        raise NoAnswer("git cannot read its index")
    # Each entry is "mode object stage<TAB>path"; of an unmerged file there are several, none with stage 0.
    entries = [os.fsdecode(entry).partition("\t") for entry in listed.split(b"\0")[:-1]]
    tracked = list(dict.fromkeys(path for _, _, path in entries))
    code, listed = _run(git, until, root, "check-ignore", "--no-index", "--", *_PROBES)
    ignored = listed.decode("ascii", "replace").splitlines()
    if code > 1:  # e.g. a symbolic link in the path, which git refuses
        raise NoAnswer("git cannot determine what is ignored")
    _, merge = _run(git, until, root, "check-attr", "-z", "merge", "--", SHOWN_HISTORY)
    _, driver = _run(git, until, root, "config", "--get", f"merge.{DRIVER}.driver")
    return Facts(
        answered=True,
        not_ignored=tuple(path for path in _PROBES if path not in ignored),
        tracked=tuple(path for path in tracked if path != SHOWN_HISTORY),
        history_tracked=SHOWN_HISTORY in tracked,
        history_unmerged=any(path == SHOWN_HISTORY and stage[-1:] != "0" for stage, _, path in entries),
        merge=b"".join(merge.split(b"\0")[2:3]).decode("utf-8", "replace"),
        driver=driver.decode("utf-8", "replace").strip(),
    )


def _run(git: str, until: float, root: str, *arguments: str) -> tuple[int, bytes]:
    """Run git. Return the exit code and at most _LIMIT bytes of output.

    Raise NoAnswer when git cannot be run, TimedOut when it has not ended at `until` (monotonic clock, seconds).
    Git has ended when this function returns or raises.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = subprocess.Popen(  # noqa: S603 - the git that the user's own shell would run
            [git, *SAFE, *arguments],
            cwd=root,
            env={**environment, **NO_FETCH, "LC_ALL": "C"},
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if arguments[0] == "rev-parse" else subprocess.DEVNULL,
        )
    except OSError as error:
        raise NoAnswer(error.strerror or "git cannot be run") from error
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
                    _kill(process)  # more output would only raise a count
                process.wait()
            except BaseException:  # Ctrl-C does not reach git: it runs in its own session
                _kill(process)
                raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimedOut("git did not answer in time")
    return process.returncode, output


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill git and its children: a surviving child would keep the pipe open."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
