"""Processes of attempts: their gate, the file that names them, and which of them began lately."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from nexus_mcp.errors import StateError
from nexus_mcp.run.processes import StartedProcess
from nexus_mcp.run.registry import NAME, rows
from nexus_mcp.store.folder import Folder

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
        started = await StartedProcess.start(
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


def test_the_gate_leaves_stdin_to_the_command(tmp_path: Path) -> None:
    """The command gets each byte of its prompt, from an empty first line on."""
    prompt = b"\n  two \\ words\n" + b"x" * 200_000

    async def feed() -> tuple[int | None, int | None]:
        started = await StartedProcess.start(["sh", "-c", "cat > got"], str(tmp_path), {"PATH": "/bin:/usr/bin"})
        started.release()
        await started.feed(prompt)
        return await started.wait()

    assert asyncio.run(feed()) == (0, None)
    assert (tmp_path / "got").read_bytes() == prompt


def test_a_closed_gate_ends_the_process_before_its_command(tmp_path: Path) -> None:
    """If the executor dies before it logged the start, the pipe closes, and the command never begins."""

    async def close() -> tuple[int | None, int | None]:
        started = await StartedProcess.start(["sh", "-c", "echo > begun"], str(tmp_path), {"PATH": "/bin:/usr/bin"})
        started._close_gate()
        return await started.wait()

    assert asyncio.run(close()) == (125, None)
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize("data", [b"", b"\0" * 80])
def test_a_power_cut_leaves_no_process(data: bytes, tmp_path: Path) -> None:
    """The file is not synced, so a power cut may leave it empty. It and its processes are older than the boot."""
    (tmp_path / NAME).write_bytes(data)
    os.utime(tmp_path / NAME, (0, psutil.boot_time() - 1))
    with Folder.root(str(tmp_path)) as state:
        assert rows(state) == []


@pytest.mark.parametrize("data", [b"", b"\0", b"[", b"{}", b'[{"pid": 1}]'])
def test_a_list_of_processes_that_is_damaged_is_an_error(data: bytes, tmp_path: Path) -> None:
    """An orphan could go on unseen."""
    (tmp_path / NAME).write_bytes(data)
    with Folder.root(str(tmp_path)) as state, pytest.raises(StateError):
        rows(state)
