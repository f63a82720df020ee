"""Processes of attempts: which of them began lately."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from nexus_mcp.run.processes import Started

HOUR_S = 3600.0
AGE_S = 100.0


@pytest.mark.parametrize(("age", "expected"), [(0.0, True), (AGE_S, False)])
def test_a_wrong_time_of_the_boot_changes_nothing(
    age: float, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The create times of all processes are an hour early, that of the child by `age` seconds more."""
    real, parent = psutil.Process.create_time, 0

    def early(process: psutil.Process) -> float:
        return real(process) - HOUR_S - (age if parent and process.pid != parent else 0.0)

    monkeypatch.setattr(psutil.Process, "create_time", early)

    async def look() -> bool:
        nonlocal parent
        started = await Started.start(
            ["sh", "-c", "sleep 60 & echo begun; wait"], str(tmp_path), {"PATH": "/bin:/usr/bin"}
        )
        parent = started.pid
        started.release()
        try:
            await anext(started.lines())
            return started.began_within(AGE_S / 2)
        finally:
            await started.end()

    assert asyncio.run(look()) is expected
