"""Run git for the executor: by default without hooks, and never with variables that lead to another repository."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from nexus_mcp.errors import NexusError

_DROPPED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
_LONGEST = 2000
_LOCKED = re.compile(r"Unable to create '(.+\.lock)': File exists")
_OF_LOCK = (
    "Another git may be running: wait until it ends, then repeat the command. If none is running, a killed git left "
    "the lock: move the lock out of the folder .git."
)
_READ_IN_TREE = frozenset((".gitignore", ".gitattributes", ".gitmodules"))
SLOW_S = 5.0
"""Seconds after which the executor checks whether git waits for a pipe; the pause doubles before each further check."""
LIMIT_S = 1800.0
"""Seconds after which git is ended."""


class GitFailed(NexusError):
    """A command of git failed. `output` is what it printed, or why it was ended."""

    def __init__(self, words: Sequence[str], code: int, output: str) -> None:
        lock = _LOCKED.search(output)
        if lock is None:
            super().__init__(f"git {' '.join(words[:2])} failed ({code}): {output.strip()[:_LONGEST]}")
        else:
            super().__init__(f"git {' '.join(words[:2])} finds the lock {lock[1]}.", next_step=_OF_LOCK)
        self.code = code
        self.output = output


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git in one folder. With `hooks` False no hook of the repository runs. `wrap` puts git into a sandbox."""

    folder: str
    hooks: bool = False
    wrap: Callable[[Sequence[str]], Sequence[str]] = tuple

    async def run(
        self,
        *words: str,
        stdin: bytes | None = None,
        environ: Mapping[str, str] | None = None,
        check: bool = True,
        is_quiet: bool = False,
    ) -> tuple[int, str]:
        """Return (exit code, stdout) of `git WORDS`. With `check`, raise GitFailed unless the code is 0, and with
        `check` and `is_quiet` also if git printed to stderr, such as a warning. Raise GitFailed as `outputs` does, too.

        git has a process group of its own, so that Ctrl-C in the terminal does not end it; a cancellation ends the
        group, with the hooks in it.
        """
        code, out, err = await self.outputs(*words, stdin=stdin, environ=environ)
        if check and (code or (is_quiet and err)):
            raise GitFailed(words, code, err or out)
        return code, out

    async def outputs(
        self, *words: str, stdin: bytes | None = None, environ: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Return (exit code, stdout, stderr) of `git WORDS`.

        Raise GitFailed after LIMIT_S seconds, or if git waits for a pipe in the tree.
        """
        process = await asyncio.create_subprocess_exec(
            *self.wrap(("git", *options(hooks=self.hooks), *words)),
            cwd=self.folder,
            env={**environment(), **(environ or {})},
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        watching = asyncio.create_task(watch(process, self.folder))
        try:
            async with asyncio.timeout(LIMIT_S):
                out, err = await process.communicate(stdin)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            if isinstance(error, TimeoutError):
                raise GitFailed(words, -signal.SIGKILL, late_text()) from error
            raise
        finally:
            watching.cancel()
        if watching.done() and not watching.cancelled() and (pipe := watching.result()):
            raise GitFailed(words, -signal.SIGKILL, awaited_text(pipe))
        return process.returncode or 0, out.decode(errors="surrogateescape"), err.decode(errors="replace")

    async def out(self, *words: str) -> str:
        """Return the output of `git WORDS` without its last newline. Raise GitFailed."""
        return (await self.run(*words))[1].removesuffix("\n")

    async def names(self, *words: str) -> list[str]:
        """Return the paths, or other rows, that `git WORDS -z` prints. Raise GitFailed."""
        at = words.index("--") if "--" in words else len(words)
        return [name for name in (await self.run(*words[:at], "-z", *words[at:]))[1].split("\0") if name]


async def watch(process: asyncio.subprocess.Process, folder: str) -> str:
    """End a git that waits for a pipe in the tree at `folder`, and return the path of that pipe.

    A git that only takes long is not ended. In that case this function runs until the caller cancels it.
    """
    pause = SLOW_S
    while True:
        await asyncio.sleep(pause)
        pause *= 2  # a check reads all folders of the tree
        for pipe in await asyncio.to_thread(_pipes_in, folder):
            if _end_reader(process.pid, pipe):
                return pipe


def late_text() -> str:
    """Return the message about a git that was ended after LIMIT_S seconds."""
    return f"it did not end within {LIMIT_S:.0f} seconds"


def awaited_text(pipe: str) -> str:
    """Return the message about a git that waits for a pipe."""
    return f"{pipe} is no plain file, and git would wait for it forever"


def _pipes_in(folder: str) -> list[str]:
    """Return the paths of pipes in a tree that are named like a file of git, such as .gitignore."""
    found = []
    for where, folders, names in os.walk(folder):
        if ".git" in folders:
            folders.remove(".git")
        for name in _READ_IN_TREE.intersection(names):
            path = os.path.join(where, name)
            with suppress(OSError):  # it is gone
                if stat.S_ISFIFO(os.lstat(path).st_mode):
                    found.append(path)
    return found


def _end_reader(group: int, pipe: str) -> bool:
    """End a process group if a process has the pipe open to read or waits to open it; return whether it does.

    Only then can the pipe be opened to write. That wakes the process: it would read the end of the file and go on, so
    the pipe is closed only after the signal.
    """
    try:
        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # no process waits for it, or it is gone
        return False
    try:
        if not stat.S_ISFIFO(os.fstat(writer).st_mode):  # another file has the name since
            return False
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    finally:
        os.close(writer)
    return True


def options(*, hooks: bool) -> list[str]:
    """Return the options of each call of git; without `hooks` no hook of the repository runs.

    core.fsync is set, because git by default leaves new objects in the disk cache: a power cut could lose commits that
    our log already names. A git before 2.36 ignores this setting.
    """
    found = ["-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"]
    found += ["-c", "core.fsync=committed,reference"]
    return found if hooks else [*found, "-c", f"core.hooksPath={os.devnull}"]


def environment() -> dict[str, str]:
    """Return the environment for git: ours without variables that lead to another repository; without prompts and
    optional locks, and with messages in English.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
