"""Impossible clocks and ASCII locales cause no internal error, and every hook answers."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import hook, hook_event, main, text_output
from nexus_mcp.errors import PathRefused
from nexus_mcp.lifecycle import EVENTS, guard
from nexus_mcp.server.faults import Fault
from nexus_mcp.state.times import LAST, stamp
from nexus_mcp.store import artifacts
from nexus_mcp.workspace import Workspace
from tests.cli.support import COMMAND, LIMIT
from tests.events import handle
from tests.store.oplog_support import BY
from tests.support import IN_ORDER, SMALLEST, Project
from tests.tags.support import store_of
from tests.tags.test_memory_gc import UNASKED, clean, committed, notes, read, there

POOR = (
    {"PYTHONUTF8": "0", "LC_ALL": "POSIX"},
    {"PYTHONUTF8": "0", "LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
)
TIMES = (1e18, -1e18, float("nan"), float("inf"), float("-inf"), 253_402_300_800.0, -62_135_596_801.0, 1e11, -1.0)
PARAMS: dict[str, dict[str, Any]] = {
    "user_message": {"prompt": "[m] Käse\n[rule] nie 💥"},
    "agent_spawn": {"agent_name": "engineer", "agent_id": "ä"},
    "subagent_spawn": {"agent_name": "engineer", "agent_id": "ö"},
    "agent_resume": {"agent_id": "ä"},
    "pre_tool_use": {"tool": "Edit", "tool_input": {"file_path": "ä/日本.py"}, "agent_id": "ä"},
    "post_tool_use": {"tool": "Read", "file": ".nexus/memory/käse.md", "agent_id": "ä"},
    "agent_complete": {"agent_id": "ä", "last_message": "✓"},
    "subagent_complete": {"agent_id": "ö"},
}


@pytest.mark.parametrize("seconds", TIMES)
def test_a_stamp_is_always_a_time(seconds: float) -> None:
    """A stamp has the contract's form for every time of the clock."""
    found = stamp(seconds)
    assert len(found) == len(LAST)
    assert found <= LAST
    assert 1 <= int(found[:4]) <= 9999


@pytest.mark.parametrize("seconds", TIMES)
def test_tools_and_events_work_with_any_clock(project: Project, seconds: float) -> None:
    """Every tool succeeds, every event is carried out: an agent is recorded, and a change is saved."""
    from nexus_mcp.server.app import App

    app = App(Workspace(str(project.root)), now=lambda: seconds)
    for name in (*IN_ORDER, "task_close", "task_add"):
        answer = app.call(name, SMALLEST[name])
        answer.confirm_delivery()
        assert not answer.result["isError"], answer.result
    for event, row in EVENTS.items():
        params = dict.fromkeys(row.load().required, "ä") | PARAMS.get(event, {})
        told = handle(event, params, app.workspace, lambda: seconds)
        assert not [text for text in told["warnings"] if "could not" in text], event


@pytest.mark.parametrize("seconds", TIMES)
def test_a_hook_that_fails_is_noted_at_any_time(
    project: Project, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """The line in the log has a date, and the hook its answer."""
    project.state.mkdir(parents=True)
    monkeypatch.setattr("time.time", lambda: seconds)
    answer = guard.answer_failure("user_message", "a fault", Workspace(str(project.root)))
    assert answer["decision"] == "continue"
    assert "a fault" in project.get("state/nexus-mcp/hook-errors.jsonl").decode()


def test_clock_beyond_all_years_deletes_no_note(real_repository: Project) -> None:
    """By such a clock each note would be old enough for a deletion without a question."""
    from nexus_mcp.catalog.load import load
    from nexus_mcp.tags.actions import memory_gc
    from nexus_mcp.tags.actions.definition import ActionContext

    project = real_repository
    notes(project, old=200, rare=200)
    read(project, "rare", 1, 150)
    project.put("config.yml", UNASKED)
    committed(project)
    desk = ActionContext(load(str(project.root)), store_of(project, float("inf")))
    assert memory_gc.clean(desk, apply=False)["deleted"] == []
    assert there(project) == ["old", "rare"]
    assert clean(project, apply=False)["result"] == "deleted"


def run(project: Path, poor: dict[str, str], *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))}
    return subprocess.run(
        [*COMMAND, *words],
        cwd=project,
        input=given,
        env={**kept, **poor},
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize("poor", POOR)
@pytest.mark.parametrize("name", [os.fsencode("Käse 日本"), b"raw\xff"])
def test_names_of_any_characters_work_in_any_locale(tmp_path: Path, poor: dict[str, str], name: bytes) -> None:
    """Names, notes and project folders of any characters work for server, hooks and commands."""
    root = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
    root.mkdir()
    messages = [
        {"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "ü", "version": "1"}}},
        {"id": 1, "method": "tools/call", "params": {
            "name": "artifact_write", "arguments": {"filename": "Übersicht/日本.md", "content": "ä"}}},
        {"id": 2, "method": "tools/call", "params": {"name": "task_add", "arguments": {"title": "ñ", "context": "ç"}}},
        {"id": 3, "method": "resources/read", "params": {"uri": "nexus://artifacts/%C3%9Cbersicht/%E6%97%A5%E6%9C%AC.md"}},
    ]  # fmt: skip
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **one}, ensure_ascii=False).encode() + b"\n" for one in messages)
    done = run(root, poor, "serve", given=lines)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in answers] == [0, 1, 2, 3]
    assert not [one for one in answers if "error" in one or one["result"].get("isError")]
    assert (root / ".nexus/state/artifacts/Übersicht/日本.md").read_text(encoding="utf-8") == "ä"
    for event in ("user_message", "post_tool_use"):
        done = run(root, poor, "hook", event, given=json.dumps(PARAMS[event], ensure_ascii=False).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        assert not [text for text in json.loads(done.stdout)["warnings"] if "could not" in text]
    for words in (("doctor",), ("act", "[m] Käse ü"), ("log",), ("undo",), ("--help",)):
        done = run(root, poor, *words)
        assert b"Traceback" not in done.stderr, words
        assert done.returncode in (0, 1), words


def test_failed_restart_continues_in_the_old_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """It continues unchanged; a process of another program, and one in UTF-8 mode, is not restarted."""
    begun: list[list[str]] = []

    def execv(_: str, words: list[str]) -> None:
        begun.append(words)
        raise OSError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(os, "execv", execv)
    text_output.ensure_utf8(is_program=True)
    assert begun == []
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    text_output.ensure_utf8(is_program=False)
    assert begun == []
    text_output.ensure_utf8(is_program=True)
    assert begun == [[sys.executable, "-X", "utf8", *sys.orig_argv[1:]]]


def test_name_outside_the_locale_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a name is refused with a next step; no file is written, and reading it finds none."""
    from nexus_mcp.server.app import App

    def ascii_only(name: str) -> bytes:
        return name.encode("ascii", "surrogateescape")

    monkeypatch.setattr(os, "fsencode", ascii_only)
    with pytest.raises(PathRefused, match="where names are ascii"):
        artifacts.write(store_of(project), "Ü.md", "text", BY)
    assert not project.nexus.exists()
    monkeypatch.undo()
    with monkeypatch.context() as patch:
        patch.setattr("nexus_mcp.store.folder.Folder.child", lambda _, name: ascii_only("Ü"))
        with pytest.raises(Fault, match="Resource not found"):
            App(Workspace(str(project.root))).read(
                "resources/read", {"uri": "nexus://artifacts/%C3%9C.md"}, modern=False
            )


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("broken", ["answer_event", "answer_failure"])
def test_hook_answers_even_if_its_error_handling_fails(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    event: str,
    broken: str,
) -> None:
    """If the error handling of a hook fails, too, the hook still answers, and denies where it decides."""

    def fail(*_: object, **__: object) -> object:
        raise MemoryError

    monkeypatch.chdir(project.root)
    monkeypatch.setattr(guard, broken, fail)
    if broken == "answer_failure":
        monkeypatch.setattr(hook_event, "parse_params", unusable)
    monkeypatch.setattr(hook, "read_payload", lambda data, _: data.extend(b"{}"))
    assert main(["hook", event]) == 0
    answer = json.loads(capsysbinary.readouterr().out)
    assert answer["decision"] == ("deny" if event == "pre_tool_use" else "continue")
    assert "MemoryError" in answer["warnings"][0]


def unusable(_: bytes) -> object:
    raise hook_event.Unusable("no payload")
