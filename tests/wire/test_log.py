"""Log lines on stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from nexus_mcp import log


@pytest.fixture(autouse=True)
def default_level() -> Iterator[None]:
    yield
    log.set_level("warning")


@pytest.mark.parametrize("level", log.LEVELS)
def test_levels(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A level shows itself and what is worse, on stderr alone."""
    log.set_level(level)
    for name in log.LEVELS:
        getattr(log, name)("text")
    shown = log.LEVELS[log.LEVELS.index(level) :]
    assert tuple(capsys.readouterr()) == ("", "".join(f"nexus-mcp: {name}: text\n" for name in shown))


def test_unknown_level() -> None:
    """An unknown level is refused with the list of levels."""
    with pytest.raises(ValueError, match="use one of debug, info, warning, error"):
        log.set_level("loud")


def test_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """No text breaks the line, moves the cursor, turns the direction of writing or fails to be written."""
    log.error("a\nb\x1b[2J\u202e\ud800\u2028é😀")
    assert capsys.readouterr().err == "nexus-mcp: error: a\\nb\\x1b[2J\\u202e\\ud800\\u2028é😀\n"


def test_no_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that cannot be written stops nothing."""
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        assert log.error("text") is None  # type: ignore[func-returns-value]
