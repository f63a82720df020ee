"""Log lines on stderr never block and never raise."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator

import pytest

from nexus_mcp import log


@pytest.fixture(autouse=True)
def as_at_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(log, "_lost", 0)
    yield
    log.set_level("warning")


@pytest.mark.parametrize("level", log.LEVELS)
def test_level_hides_less_severe_messages(level: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A level shows its own messages and more severe ones, on stderr alone."""
    log.set_level(level)
    for name in log.LEVELS:
        getattr(log, name)("text")
    shown = log.LEVELS[log.LEVELS.index(level) :]
    assert tuple(capfd.readouterr()) == ("", "".join(f"nexus-mcp: {name}: text\n" for name in shown))


def test_unknown_level_is_refused() -> None:
    """An unknown level is refused with the list of levels."""
    with pytest.raises(ValueError, match="use one of debug, info, warning, error"):
        log.set_level("loud")


def test_any_text_is_logged_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """No text breaks the line, moves the cursor, turns the direction of writing or fails to be written."""
    log.error("a\nb\x1b[2J\u202e\ud800\u2028é😀")
    assert capfd.readouterr().err == "nexus-mcp: error: a\\nb\\x1b[2J\\u202e\\ud800\\u2028é😀\n"


def test_astral_character_is_escaped_whole(capfd: pytest.CaptureFixture[str]) -> None:
    """A character beyond the first plane that cannot be shown is escaped whole."""
    log.error("\U000e0001")
    assert capfd.readouterr().err == "nexus-mcp: error: \\U000e0001\n"


def test_log_without_stderr_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that cannot be written, or a message that cannot be formatted, does not stop the server."""
    reads, writes = os.pipe()
    os.close(reads)
    before = log.divert(writes)  # no process reads it any more
    try:
        assert log.error("text") is None  # type: ignore[func-returns-value]
        os.close(writes)
        assert log.error("text") is None  # type: ignore[func-returns-value]
        with monkeypatch.context() as patch:
            patch.delattr(log, "printable")
            assert log.error("text") is None  # type: ignore[func-returns-value]
        monkeypatch.setattr(sys, "stderr", None)
        assert log.error("text") is None  # type: ignore[func-returns-value]
    finally:
        log.divert(before)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Send the log to this pipe, whose writing end blocks."""
    reads, writes = os.pipe()
    before = log.divert(writes)
    yield reads, writes
    log.divert(before)
    os.close(reads)
    os.close(writes)


def fill(fd: int) -> int:
    """Write until nothing more fits; how many bytes that took."""
    os.set_blocking(fd, False)
    written = 0
    for size in (65536, 1):
        try:
            while True:
                written += os.write(fd, b"x" * size)
        except BlockingIOError:
            continue
    os.set_blocking(fd, True)
    return written


def test_full_stderr_loses_lines_and_counts_them(pipe: tuple[int, int]) -> None:
    """Lines that do not fit are dropped and counted, without waiting; the count is logged as soon as there is room."""
    reads, writes = pipe
    filled = fill(writes)
    for _ in range(3):
        log.error("lost")
    while filled:
        filled -= len(os.read(reads, filled))
    log.error("first")
    log.error("second")
    assert os.read(reads, 65536).decode().splitlines() == [
        "nexus-mcp: warning: 3 log lines were lost: stderr was full",
        "nexus-mcp: error: first",
        "nexus-mcp: error: second",
    ]


@pytest.mark.parametrize("char", ["x", "é", "😀"])
def test_long_line_keeps_both_ends(pipe: tuple[int, int], char: str) -> None:
    """A line longer than one atomic write to a pipe keeps its beginning and its end."""
    log.error(f"begin {char * 100_000} end")
    text = os.read(pipe[0], 65536).decode()
    assert text.startswith(f"nexus-mcp: error: begin {char}")
    assert f"{char} ... {char}" in text
    assert text.endswith(f"{char} end\n")
    assert select.PIPE_BUF - 8 <= len(text.encode()) <= select.PIPE_BUF


@pytest.mark.parametrize("token", [f"nexus_{'a-Z_9' * 8}abc", f"eyJ{'hbG' * 9}.{'x' * 30}.{'y' * 40}"])
def test_token_in_a_message_is_not_shown(token: str) -> None:
    """Texts that look like tokens lose all but their beginning; names with the same beginning stay."""
    shown = log.without_tokens(f'nexus_task_add: unknown parameter "{token}"; nexus_plan_start, eyJ')
    assert shown == f'nexus_task_add: unknown parameter "{token[:6]}[...]"; nexus_plan_start, eyJ'
