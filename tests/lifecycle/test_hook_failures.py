"""A hook that fails warns and logs a line without the payload, and the session continues."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.cli.hook_event import LIMIT
from tests.cli.support import COMMAND, Ran, environment, nexus
from tests.lifecycle.hooks import LOG, answer_of, hook, logged, not_dealt_with
from tests.lifecycle.support import TRACKER
from tests.support import Project, compact, without_lock

MEND = "Fix the hook that sends the event."
TOO_LARGE = (
    "The params on stdin are larger than the 16 MiB that are read. "
    "Have the hook leave out what the event does not use, such as the output of a tool."
)


@pytest.mark.requirement("events.continue", "events.logged")
@pytest.mark.parametrize(
    ("event", "stdin", "fault"),
    [
        ("agent_spawn", b"", f"agent_name is required; agent_id is required. {MEND}"),
        ("session_end", b"[]", f"the params must be an object. {MEND}"),
        ("session_end", b'"SECRET"', f"the params must be an object. {MEND}"),
        ("pre_tool_use", b'{"tool": ["SECRET"]}', f"tool must be of type string. {MEND}"),
        ("post_tool_use", b'{"tool": "T", "status": {"SECRET": 1}}', f"status must be of type string. {MEND}"),
        (
            "session_end",
            b"{SECRET",
            "The input on stdin (line 1, column 2) is not JSON (Expecting property name enclosed in double quotes). "
            + MEND,
        ),
        (
            "session_end",
            b'{"SECRET": 1, "SECRET": 1}',
            f"The input on stdin (line 1, column 15) has an object with the same key twice. {MEND}",
        ),
        (
            "session_end",
            b'{"a": NaN}',
            f"The input on stdin (line 1, column 7) has NaN or Infinity, which JSON does not know. {MEND}",
        ),
        (
            "session_end",
            b'{"a": ' + b"[" * 70 + b"]" * 70 + b"}",
            f"The input on stdin (line 1, column 70) is nested too deeply. {MEND}",
        ),
        ("session_end", b"[" * 100_000, f"The input on stdin (line 1, column 65) is nested too deeply. {MEND}"),
        ("session_end", b'{"a": "\xff"}', f"The input on stdin (line 1, column 8) is not UTF-8. {MEND}"),
        (
            "session_end",
            b'{"harness_id": "../SECRET"}',
            "harness_id is not usable: it must start with a-z, go on with a-z, 0-9 and -, and be none of artifacts, "
            "cache, idempotency, lock, runs. " + MEND,
        ),
        ("user_message", b'{"prompt": "' + b"SECRET" * 3_000_000 + b'"}', TOO_LARGE),
        ("session_end", b" " * (LIMIT + 1), TOO_LARGE),
    ],
    ids=[
        "missing",
        "array",
        "text",
        "type",
        "status",
        "cut",
        "twice",
        "nan",
        "deep",
        "abyss",
        "latin",
        "harness",
        "18 MB",
        "blank",
    ],
)
def test_bad_payload_is_answered_with_continue_and_logged(
    project: Project, event: str, stdin: bytes, fault: str
) -> None:
    """A malformed payload gets "continue" and a warning, and is logged; no part of it is repeated."""
    project.state.mkdir(parents=True)
    ran = hook(event, project.root, stdin)
    assert answer_of(ran) == not_dealt_with(event, fault)
    assert [(line["event"], line["error"]) for line in logged(project)] == [(event, fault)]
    left = {path for path, content in without_lock(project.snapshot()).items() if content != "folder"}
    assert left == {".git/HEAD", LOG}
    assert b"SECRET" not in (project.root / LOG).read_bytes()
    assert "SECRET" not in ran.out


@pytest.mark.requirement("events.continue", "events.logged")
def test_failure_in_an_unused_project_leaves_no_file(project: Project) -> None:
    """In an unused project a failure is reported and creates no file."""
    before = project.snapshot()
    assert answer_of(hook("pre_tool_use", project.root, b"{"))["decision"] == "continue"
    assert project.snapshot() == before


@pytest.mark.requirement("events.continue")
@pytest.mark.parametrize(
    ("redirect", "message"),
    [
        ("<&-", "There is no stdin to read the params from."),
        ("0>/dev/null", "The params could not be read from stdin: Bad file descriptor."),
    ],
)
def test_closed_stdin_is_a_malformed_payload(project: Project, redirect: str, message: str) -> None:
    """A stdin that is closed or cannot be read is a payload like any other that cannot be used."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirect}', "sh", *COMMAND, "hook", "session_end"],
        cwd=project.root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer_of(Ran(done.returncode, done.stdout, done.stderr)) == not_dealt_with("session_end", message)


@pytest.mark.requirement("events.continue")
def test_unwritable_answer_exits_with_1(project: Project) -> None:
    """An answer that cannot be written is the only failure with exit code 1."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "hook", "session_end"],
            cwd=project.root,
            env=environment(),
            input=b"{}",
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"nexus-mcp: The output: No space left on device.\n")


@pytest.mark.requirement("events.continue")
@pytest.mark.parametrize("gone", ["variable", "folder"])
def test_session_continues_without_a_project(tmp_path: Path, gone: str) -> None:
    """If the environment leads to no project, the session continues nevertheless."""
    folder = tmp_path / "gone"
    folder.mkdir()
    code = "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    start = [sys.executable, "-c", code, str(folder)] if gone == "folder" else []
    done = subprocess.run(
        [*start, *COMMAND, "hook", "session_end"],
        env=environment({} if gone == "folder" else {"NEXUS_PROJECT_ROOT": str(tmp_path / "nowhere")}),
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    fault = {
        "folder": "The working directory is gone. Change to a folder that exists, then start again.",
        "variable": f"NEXUS_PROJECT_ROOT: '{tmp_path / 'nowhere'}' is not a folder. Name an existing project folder.",
    }[gone]
    answer = answer_of(Ran(done.returncode, done.stdout, done.stderr))
    assert answer == not_dealt_with("session_end", fault)


@pytest.mark.requirement("events.continue", "pre_tool_use.unusable")
@pytest.mark.parametrize(
    ("stdin", "decision"),
    [
        ('{"tool": "Write", "agent_name": "architect"}', "deny"),
        ('{"tool": "Write", "agent_id": "a1"}', "deny"),
        ('{"tool": "Write", "agent_na', "deny"),
        ('{"tool": "Write"}', "continue"),
    ],
)
def test_agent_without_a_project_is_denied_every_tool(tmp_path: Path, stdin: str, decision: str) -> None:
    """If the environment leads to no project, no agent may use a tool; the main session continues."""
    done = subprocess.run(
        [*COMMAND, "hook", "pre_tool_use"],
        env=environment({"NEXUS_PROJECT_ROOT": str(tmp_path / "nowhere")}),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    answer = answer_of(Ran(done.returncode, done.stdout, done.stderr))
    assert (answer["decision"], "reason" in answer) == (decision, decision == "deny")


@pytest.mark.requirement("events.failed", "events.logged")
def test_broken_tracker_is_reported_and_kept(project: Project) -> None:
    """An unusable tracker is reported and logged, and stays unchanged; the session continues."""
    project.put(TRACKER.removeprefix(".nexus/"), "secret")
    answer = answer_of(nexus("hook", "agent_resume", cwd=project.root, stdin=compact({"agent_id": "a1"})))
    fault = (
        f"{TRACKER} (line 1, column 1) is not JSON (Expecting value); nothing was changed. "
        f"Look at {TRACKER}, repair it or restore it from a copy, then call again."
    )
    assert answer == not_dealt_with("agent_resume", fault)
    assert (project.root / TRACKER).read_bytes() == b"secret"
    assert [(line["event"], line["error"]) for line in logged(project)] == [("agent_resume", fault)]
