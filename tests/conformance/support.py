"""Helpers of the runner's tests: the misbehaving server, and a session with it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil

from nexus_mcp.conformance.client.connection import Session
from nexus_mcp.conformance.fixture import Fixture, build_fixture
from nexus_mcp.conformance.processes.process import Allowance
from nexus_mcp.conformance.result import FixtureResult
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import Place, stdio
from tests.conformance.servers import misbehaving

NASTY = (sys.executable, str(Path(misbehaving.__file__)))
Result = TypeVar("Result")


def talk(
    folder: Path,
    talker: Callable[[Session], Awaitable[Result]],
    command: tuple[str, ...] = NASTY,
    options: TargetOptions | None = None,
) -> Result:
    """Return the result of `talker` for a session with `command` in `folder`."""

    async def run() -> Result:
        session = await stdio(command, options).open(Place(str(folder), f"test.{os.getpid()}", Allowance()))
        try:
            return await talker(session)
        finally:
            session.kill()

    return asyncio.run(run())


def made(*steps: dict[str, Any], test_id: str = "made", **more: Any) -> Fixture:
    """Return the fixture of this JSON; a single step, an action or an event, stands alone."""
    raw: dict[str, Any] = {"test_id": test_id, "description": "Made by a test.", **more}
    if len(steps) == 1 and steps[0].keys() <= {"action", "event"}:
        raw.update(steps[0])
    else:
        raw["steps"] = list(steps)
    return build_fixture(raw, "made.json", "")


def nasty_fixture(*steps: dict[str, Any], **more: Any) -> Fixture:
    """Return a fixture; each of `steps` is the arguments of a call of `act`, or a whole step."""
    return made(*({"action": {"tool": "act", "params": one}} if "do" in one else one for one in steps), **more)


def outcome(result: FixtureResult) -> tuple[str, list[tuple[str, str, str]]]:
    """Return (the status, [(kind, step, message) of each failed assertion])."""
    return result.status, [(one.kind, one.step, one.message) for one in result.failures]


def act(do: str, **more: Any) -> dict[str, Any]:
    """Return the arguments with which `act` misbehaves."""
    return {"do": do, **more}


def gone(pid: int) -> bool:
    """Return whether the process ends within a short time."""
    try:
        process = psutil.Process(pid)
        return process.status() == psutil.STATUS_ZOMBIE or process.wait(5) is not None
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
