"""Log lines as JSON: each line is one object, whatever the message has, on every transport."""

from __future__ import annotations

import json
import os
import re
import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp import log
from tests.cli.support import nexus

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(autouse=True)
def as_json(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(log, "_lost", 0)
    log.set_format("json")
    yield
    log.set_format("text")


def test_line_has_time_level_message_and_fields(capfd: pytest.CaptureFixture[str]) -> None:
    """A line is an object with time, level, message, process id and the fields of the message."""
    log.warning("a message", tool="task_add", status=3)
    line = json.loads(capfd.readouterr().err)
    assert TIME.fullmatch(line.pop("time"))
    assert line == {"level": "warning", "message": "a message", "pid": os.getpid(), "tool": "task_add", "status": 3}


def test_text_lines_have_no_fields(capfd: pytest.CaptureFixture[str]) -> None:
    """Lines of text are as without fields."""
    log.set_format("text")
    log.error("a message", tool="task_add")
    assert capfd.readouterr().err == "nexus-mcp: error: a message\n"


def test_unknown_format_is_refused() -> None:
    """An unknown format is refused with the list of formats."""
    with pytest.raises(ValueError, match="use one of text, json"):
        log.set_format("xml")


@given(message=st.text(max_size=6000), field=st.text(max_size=600))
def test_any_text_is_one_line_of_ascii(message: str, field: str) -> None:
    """No text breaks a line, makes it longer than a pipe accepts at once, or makes it no JSON."""
    line = log._line(3, message, {"field": field}, select.PIPE_BUF)
    assert line.isascii()
    assert (line.count(b"\n"), line[-1:], len(line) <= select.PIPE_BUF) == (1, b"\n", True)
    assert min(line[:-1]) >= 32
    assert 127 not in line
    assert json.loads(line).keys() == {"time", "level", "message", "pid", "field"}


def test_long_message_keeps_both_ends(capfd: pytest.CaptureFixture[str]) -> None:
    """The middle of a message that is too long is left out, escapes included."""
    log.error("begin" + "\x1b\U0001f600" * 3000 + "end")
    message = json.loads(capfd.readouterr().err)["message"]
    assert (message[:6], message[-4:], " ... " in message) == ("begin\x1b", "\U0001f600end", True)


def test_surrogates_are_escaped(capfd: pytest.CaptureFixture[str]) -> None:
    """A lone surrogate, which strict parsers refuse, is shown as text."""
    log.error("a\ud800")
    assert json.loads(capfd.readouterr().err)["message"] == "a\\ud800"


def test_lost_lines_are_counted_in_an_object(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count of lost lines is an object of its own."""
    monkeypatch.setattr(log, "_lost", 2)
    log.error("next")
    first, second = (json.loads(line) for line in capfd.readouterr().err.splitlines())
    assert (first["level"], first["message"]) == ("warning", "2 log lines were lost: stderr was full")
    assert second["message"] == "next"


HOSTILE = "\n\x1b[2J\u202e{}\u2028nexus-mcp: error: "


@pytest.mark.parametrize("words", [(), ("--sdk",)], ids=["stdio", "sdk"])
@pytest.mark.parametrize("by_variable", [False, True], ids=["option", "variable"])
def test_server_logs_objects(tmp_path: Path, words: tuple[str, ...], by_variable: bool) -> None:
    """Both transports log one object a line, also for a call with hostile text."""
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": HOSTILE, "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "task_list", "arguments": {HOSTILE: 1}}},
    ]
    options = () if by_variable else ("--log-format", "json")
    ran = nexus(
        *("serve", *words, "--log-level", "debug", *options),
        stdin="".join(json.dumps(message) + "\n" for message in messages),
        cwd=tmp_path,
        env={"NEXUS_LOG_FORMAT": "json"} if by_variable else {},
    )
    assert ran.code == 0
    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert all(line.keys() >= {"time", "level", "message", "pid"} for line in lines)
    refused = [line for line in lines if line["level"] == "info" and line.get("tool") == "task_list"]
    assert [(line["client"], line["project"]) for line in refused] == [(HOSTILE, str(tmp_path))]


def test_reason_of_a_start_that_failed_is_an_object(tmp_path: Path) -> None:
    """A server that cannot start says why in the chosen format."""
    ran = nexus("serve", "--log-format", "json", "--http", "nowhere", cwd=tmp_path)
    line = json.loads(ran.err)
    assert (ran.code, line["level"], line["exit_code"]) == (2, "error", 2)
    assert "needs an address" in line["message"]


def test_unknown_format_ends_the_start(tmp_path: Path) -> None:
    """Option and variable accept the two formats only."""
    by_option = nexus("serve", "--log-format", "xml", cwd=tmp_path)
    by_variable = nexus("serve", cwd=tmp_path, env={"NEXUS_LOG_FORMAT": "xml"})
    assert (by_option.code, by_option.err) == (2, "nexus-mcp: --log-format is one of text, json, not 'xml'.\n")
    assert (by_variable.code, by_variable.err) == (2, "nexus-mcp: NEXUS_LOG_FORMAT is one of text, json, not 'xml'.\n")
