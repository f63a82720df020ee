"""Requests to a run, and files in their place that are none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.run import control
from nexus_mcp.store.folder import Folder

PAUSE = {"command": "pause"}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.write_bytes(b"{"), id="half"),
        pytest.param(lambda path: path.write_bytes(b"[" * 100_000), id="deep"),
        pytest.param(lambda path: path.write_bytes(b" " * (2 << 20)), id="large"),
        pytest.param(lambda path: path.write_bytes(b'{"command": "skip", "task": "1"}'), id="another"),
        pytest.param(lambda path: path.symlink_to("nothing"), id="link"),
        pytest.param(os.mkfifo, id="pipe"),
        pytest.param(lambda path: path.mkdir(), id="folder"),
    ],
)
def test_a_file_that_is_no_request_stops_no_executor(tmp_path: Path, make: Callable[[Path], object]) -> None:
    """It is removed, except for a folder, and the requests beside it are obeyed."""
    with Folder.root(str(tmp_path)) as run:
        control.drop(run, PAUSE)
        strange = tmp_path / "control" / "0.json"
        make(strange)
        is_folder = strange.is_dir()
        assert list(control.take(run)) == [PAUSE]
        assert [path.name for path in (tmp_path / "control").iterdir()] == ["0.json"] * is_folder
        assert not control.has_requests(run)
        control.drop(run, PAUSE)
        assert list(control.take(run)) == [PAUSE]
