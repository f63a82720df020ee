"""Run the project's own checks: the ground truth of a run."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from nexus_mcp.run.environment_faults import check_fault

_SHOWN = 8000
"""Characters that are kept of the output of a check, from its end."""
_READ = 1 << 20
_LOOK_S = 0.25
_LEFT_S = 1.0
"""Seconds without output after which no more output is expected of a check that ended."""
_FAILURES = re.compile(rb"(\d{1,6}) (?:failed|failures?|failing|errors?)\b|\b(?:failures|errors)=(\d{1,6})\b")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check. `code` is None when the check was ended at its timeout; `failures` is None if
    unknown.
    """

    name: str
    ok: bool
    code: int | None
    seconds: float
    output: str
    failures: int | None = None


async def run_check(  # noqa: PLR0917
    name: str,
    command: str,
    folder: str,
    environ: Mapping[str, str],
    timeout_s: float,
    wrap: Callable[[Sequence[str]], Sequence[str]] = tuple,
) -> CheckResult:
    """Run a check in a shell, in a process group of its own, and return its result.

    After the shell ended, or after `timeout_s` seconds, the group is killed. The output is read until it is closed,
    until it is silent for _LEFT_S seconds after the end of the shell, or until the timeout. `wrap` puts the command
    into the sandbox of the run. Raise OSError if the shell or the sandbox cannot be started.
    """
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *wrap(("/bin/sh", "-c", command)),
        cwd=folder,
        env=dict(environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    kept = bytearray()
    total = 0

    async def read() -> None:
        nonlocal total
        assert process.stdout is not None
        while chunk := await process.stdout.read(1 << 16):
            total += len(chunk)
            kept.extend(chunk)
            del kept[:-_READ]

    code: int | None = None
    reading = asyncio.create_task(read())
    try:
        async with asyncio.timeout(timeout_s):
            while not reading.done() and process.returncode is None:
                await asyncio.wait({reading}, timeout=_LOOK_S)
            code = process.returncode if process.returncode is not None else await process.wait()
            # A server that the check started may still run and hold the output open: end it, and read the rest.
            _kill(process.pid)
            before = -1
            while not reading.done() and before != total:
                before = total
                await asyncio.wait({reading}, timeout=_LEFT_S)
    except TimeoutError:
        if code is None:
            kept += f"\n(ended after {timeout_s:.0f} seconds)".encode()
    finally:
        reading.cancel()
        _kill(process.pid)
        while process.returncode is None:
            with suppress(TimeoutError):  # the wait of asyncio may last until its pipes are closed
                await asyncio.wait_for(process.wait(), _LOOK_S)
    text = bytes(kept).decode(errors="replace")
    return CheckResult(
        name, code == 0, code, round(time.monotonic() - began, 3), text[-_SHOWN:], count_failures(bytes(kept))
    )


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def count_failures(output: bytes) -> int | None:
    """Return the largest number of failures that the output names, None if it names none."""
    return max((int(found[1] or found[2]) for found in _FAILURES.finditer(output)), default=None)


def is_new(result: CheckResult, base: CheckResult | None) -> bool:
    """Return whether a check fails and its failure counts: in the baseline it has no result `base`, or a better one.

    Better is a success, or fewer failures if both numbers are known. If the check could not run for the baseline, for
    example because of a full disk, the failure counts, too.
    """
    if result.ok or base is None or base.ok or check_fault(base.name, base.code, base.output):
        return not result.ok
    if result.failures is None or base.failures is None:
        return False
    return result.failures > base.failures


def environment(strip: tuple[str, ...] = (), **more: str) -> dict[str, str]:
    """Return the environment of checks, setup, sessions and hooks of the user: ours, with the variables `more`.

    It has no variable of `strip`, and none that could lead to the user's checkout: NEXUS_PROJECT_ROOT,
    CLAUDE_PROJECT_DIR and inherited GIT_* variables.
    """
    dropped = {*strip, "NEXUS_PROJECT_ROOT", "CLAUDE_PROJECT_DIR"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped and not name.startswith("GIT_")}
    return {**kept, **more}
