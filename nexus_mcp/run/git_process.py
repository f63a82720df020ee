"""Keep a process of git that answers many requests: to start a process for each would cost more than the request."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from nexus_mcp.run import git as run_git
from nexus_mcp.run.git import Git, GitFailed, awaited_text, environment, late_text, options, watch

_LIMIT = 1 << 20
_CHUNK = 1 << 16
_ERROR_S = 1.0
"""Seconds for which the rest of stderr is read after the process ended."""


class GitProcess:
    """A git process that answers one request at a time; after a failure a new one is started.

    The process inherits the descriptors `files` under the same numbers.
    """

    def __init__(self, *words: str, files: tuple[int, ...] = ()) -> None:
        self.lock = asyncio.Lock()
        self._words = words
        self._files = files
        self._process: asyncio.subprocess.Process | None = None
        self._errors: asyncio.Task[str]

    async def ask(self, git: Git, request: str, lines: int) -> list[str]:
        """Send a request, and return the `lines` lines of its answer. The caller holds `lock`. Raise GitFailed."""
        found = await self._answer(git, request, partial(_lines, number=lines))
        return [line.decode(errors="replace").strip() for line in found.splitlines()]

    async def ask_until(self, git: Git, request: str, end: str) -> str:
        """Send a request, and return its answer without the line `end`, which the answer cannot contain otherwise.

        The caller holds `lock`. Raise GitFailed.
        """
        marker = f"{end}\n".encode()
        found = await self._answer(git, request, partial(_until, marker=marker))
        return found.removesuffix(marker).decode(errors="surrogateescape")

    async def _answer(self, git: Git, request: str, read: Callable[[asyncio.StreamReader], Awaitable[bytes]]) -> bytes:
        """Send a request, and return what `read` returns. Raise GitFailed if that is b"": the process ended without a
        whole answer; also if the answer takes too long, or git waits for a pipe.
        """
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *("git", *options(hooks=False), *self._words),
                cwd=git.folder,
                env=environment(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_LIMIT,
                pass_fds=self._files,
                start_new_session=True,
            )
            self._errors = asyncio.create_task(_last(self._process.stderr))
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        watching = asyncio.create_task(watch(process, git.folder))
        try:
            async with asyncio.timeout(run_git.LIMIT_S):
                process.stdin.write(request.encode("utf-8", "surrogateescape"))
                found = await read(process.stdout)
        except BaseException as error:
            await self.end()
            if isinstance(error, TimeoutError):
                raise GitFailed(self._words, -signal.SIGKILL, late_text()) from error
            raise
        finally:
            watching.cancel()
        if not found:
            code = await process.wait()
            # A process that git started may hold stderr open.
            await asyncio.wait({self._errors}, timeout=_ERROR_S)
            printed = self._errors.result() if self._errors.done() else ""
            await self.end()
            pipe = watching.result() if watching.done() and not watching.cancelled() else ""
            raise GitFailed(self._words, code, awaited_text(pipe) if pipe else printed)
        return found

    async def end(self) -> None:
        """End the process, if there is one. No other request may be waiting for it."""
        process, self._process = self._process, None
        if process is None:
            return
        self._errors.cancel()
        if process.stdin is not None:
            process.stdin.close()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()


async def _last(stream: asyncio.StreamReader | None) -> str:
    """Return the last _LIMIT bytes of a stream as text, once it ends.

    The whole stream is read, because git waits when the pipe is full.
    """
    found = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        found += chunk
        del found[:-_LIMIT]
    return found.decode(errors="replace")


async def _lines(stream: asyncio.StreamReader, number: int) -> bytes:
    """Return the next `number` lines of a stream, b"" if it ends before the last of them is complete."""
    found = [await stream.readline() for _ in range(number)]
    return b"".join(found) if all(line.endswith(b"\n") for line in found) else b""


async def _until(stream: asyncio.StreamReader, marker: bytes) -> bytes:
    """Return the bytes of a stream up to and with the marker; b"" if the stream ends before it."""
    found = bytearray()
    while not found.endswith(marker):
        chunk = await stream.read(_CHUNK)
        if not chunk:
            return b""
        found += chunk
    return bytes(found)
