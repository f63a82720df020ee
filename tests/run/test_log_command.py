"""`nexus-mcp run log --follow` with a log that has lines of another version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from nexus_mcp.cli import main
from nexus_mcp.cli.run import log
from nexus_mcp.run import view
from tests.support import Project


def test_each_number_of_unreadable_lines_is_reported_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log is read several times a second: a warning in each reading would hide the events."""
    readings = iter(((1, "holder"), (1, "holder"), (1, "holder"), (3, "holder"), (3, None)))

    @contextmanager
    def open_view(*_: object) -> Iterator[SimpleNamespace]:
        torn, holder = next(readings)
        yield SimpleNamespace(id="run-1", events=(), torn=torn, holder=holder)

    monkeypatch.setattr(view, "open_view", open_view)
    monkeypatch.setattr(log, "POLL_S", 0)
    assert main(["run", "log", "--follow", "--project", str(project.root)]) == 0
    warnings = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in warnings] == ["1", "3"]
