"""`nexus-mcp status`: plan, tasks, agents and faults; the line of a status bar; --watch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from nexus_mcp import schemas
from nexus_mcp.cli import main
from nexus_mcp.cli.watch import ENTER, LEAVE
from nexus_mcp.store import run_files
from tests.cli import looking
from tests.cli.screens import Terminal, shown, terminal
from tests.cli.support import COMMAND, LIMIT, environment, nexus
from tests.support import Project

GOLDEN = Path(__file__).parents[1] / "run" / "golden"


def status(capsys: pytest.CaptureFixture[str], project: Project, *words: str) -> tuple[int, str, str]:
    code = main(["status", "--project", str(project.root), *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_status_shows_everything_at_a_glance(project: Project) -> None:
    """Plan, open questions, progress, ready tasks, what waits for what, running agents, the last cycle."""
    looking.typical(project)
    code, lines, _ = shown("status", columns=80, cwd=project.root)
    text = "\n".join(lines)
    assert code == 0
    assert lines[0].startswith("Cache parsed files  plan 2, started ")
    assert "Goal: Start in 200 ms" in text
    assert "1 of 4 done · 1 in progress · 1 ready · 1 waiting" in text
    assert "Open questions  1 of 2\n  ?  2  Is there a switch?" in text
    assert "In progress\n  ▸  2  Write cache files atomically  @engineer" in text
    assert "Ready\n  ○  3  Remove the old files" in text
    assert "waits for 2 (in progress, owner engineer) and 3 (ready) · @writer" in text
    assert "Running agents\n  ▸  engineer  codex  1970-01-01" in text
    assert "Closed last\n  ✓  1  Read configuration files  " in text
    assert lines[-1].endswith("1 of 1 task done, 1 decision")


def test_status_names_the_run_and_how_to_go_on(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """A run that is not completed has its progress, its questions as text, and the command that goes on."""
    looking.typical(project)
    found = json.loads((GOLDEN / "question.json").read_text(encoding="utf-8"))
    found["questions"][0]["summary"] = "Which\x1b[31m one?"
    project.put("state/runs/run-1/status.json", json.dumps(found))
    code, out, _ = status(capsys, project)
    assert code == 0
    assert f"Run  run-1, {found['updatedAt']}" in out
    assert "  crashed  0 of 2 tasks done" in out
    assert "q1  Which\\x1b[31m one?" in out
    assert "  go on: nexus-mcp run answer q1 TEXT" in out


def test_status_says_how_to_follow_a_run_at_work(
    capsys: pytest.CaptureFixture[str], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run at work needs no command to go on: its command is the one that follows it."""
    looking.typical(project)
    project.put("state/runs/run-1/status.json", (GOLDEN / "running.json").read_bytes())
    monkeypatch.setattr(run_files, "is_at_work", lambda *_: True)
    _, out, _ = status(capsys, project)
    assert "  running  0 of 2 tasks done\n  follow it: nexus-mcp run status --follow" in out


def test_status_in_a_pipe_has_absolute_times(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """A pipe gets the stamps of the files."""
    looking.typical(project)
    _, out, _ = status(capsys, project)
    created = project.json("state/plan.json")["created_at"]
    assert f"plan 2, started {created}" in out
    assert "━" not in out


def test_cycles_and_missing_dependencies_are_problems(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """They are named as problems, and a long section says which command lists the rest."""
    looking.large(project)
    code, out, _ = status(capsys, project)
    assert code == 0
    assert "Tasks 60, 61, 62 wait for each other, so none of them can be ready." in out
    assert "Task 90 waits for 999, which is no task." in out
    assert "nexus-mcp tasks --blocked lists them all." in out
    assert len(out.splitlines()) < 50


def test_json_keeps_the_schema(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """--json prints one object that keeps schemas/views/status.schema.json."""
    looking.typical(project)
    code, out, _ = status(capsys, project, "--json")
    assert code == 0
    assert out.count("\n") == 1
    assert schemas.faults(schemas.load("views/status"), json.loads(out)) == []


def test_unreadable_files_are_named_with_the_next_step(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """The exit code is 1, the rest is shown, and no content of the files is."""
    looking.corrupt(project)
    code, out, err = status(capsys, project)
    assert (code, err) == (1, "")
    assert out.splitlines()[0].startswith("✗ .nexus/state/tasks.json (line 1, column 20) is not JSON")
    assert "Look at .nexus/state/tasks.json, repair it" in out
    assert "history repair" in out
    assert "Printer" in out
    assert "secret" not in out
    assert status(capsys, project, "--json")[0] == 1


def test_an_empty_project_gets_the_first_step(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """Nothing is made, and the output says how to start."""
    before = project.snapshot()
    code, out, err = status(capsys, project)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Nothing is planned here yet.",
        "In your client, type [plan] and what you want to do: this starts a plan here.",
    ]
    assert project.snapshot() == before


def test_after_a_close_the_last_cycle_is_shown(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """Without a plan the output says so."""
    looking.call(project, *looking.TYPICAL[:5])
    _, out, _ = status(capsys, project)
    assert out.splitlines()[0] == "No plan is open."
    assert "Closed last" in out


def test_completed_tasks_ask_for_the_close(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """When all tasks are done the next step is task_close."""
    looking.call(project, looking.task("x"), looking.status(1, "completed"))
    assert "All tasks are done: task_close" in status(capsys, project)[1]


def test_a_worktree_names_the_state_that_it_uses(project: Project, tmp_path: Path) -> None:
    """A worktree of an agent harness shows the main worktree's plan, and says so; any other has its own."""
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run([*git, "init", "-q", str(project.root)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=project.root, check=True)
    linked = project.root / ".claude" / "worktrees" / "one"
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], cwd=project.root, check=True, capture_output=True)
    looking.typical(project)
    ran = nexus("status", cwd=linked)
    assert "Cache parsed files" in ran.out
    assert f"are those of the main worktree, {os.path.realpath(project.root)}/" in ran.out
    other = tmp_path / "other"
    subprocess.run([*git, "worktree", "add", "-q", str(other)], cwd=project.root, check=True, capture_output=True)
    own = nexus("status", cwd=other).out.splitlines()
    assert own[0] == "Nothing is planned here yet."
    assert own[-1].startswith("This worktree has its own plan and tasks")


@pytest.mark.parametrize("words", [("--line", "--json"), ("--watch", "--line")])
def test_two_forms_exclude_each_other(
    capsys: pytest.CaptureFixture[str], project: Project, words: tuple[str, str]
) -> None:
    """Two of --watch, --line and --json are a usage error."""
    code, out, err = status(capsys, project, *words)
    assert (code, out) == (2, "")
    assert "exclude each other" in err


def test_line_is_one_line_for_a_status_bar(project: Project) -> None:
    """It has counts only, and rich, json schemas of views and agents are not loaded."""
    looking.typical(project)
    ran = nexus("status", "--line", cwd=project.root, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert (ran.code, ran.out) == (0, "1/4 done · 1 running · 1 ready · 1 question\n")
    for heavy in (" rich", " nexus_mcp.views.agents", " yaml", " asyncio", " mcp", " nexus_mcp.cli.terminal"):
        assert f"{heavy}\n" not in ran.err


def test_line_reports_an_unreadable_file_with_exit_code_0(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """A status bar hides the output of a failed command."""
    looking.corrupt(project)
    assert status(capsys, project, "--line") == (0, "unreadable: nexus-mcp doctor\n", "")


def test_line_does_not_wait_for_stdin(project: Project) -> None:
    """A harness may leave stdin open, and write JSON that nothing reads."""
    process = subprocess.Popen(
        [*COMMAND, "status", "--line"],
        cwd=project.root,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.read() == "no plan\n"
    assert process.wait(LIMIT) == 0
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()


@pytest.mark.parametrize("env", [{}, {"TERM": "dumb"}])
def test_watch_needs_a_terminal(project: Project, env: dict[str, str]) -> None:
    """In a pipe and on a terminal without escape sequences it is a usage error of one line."""
    ran = nexus("status", "--watch", cwd=project.root)
    wanted = "nexus-mcp: --watch needs a terminal. Leave it out, or use --json in a script."
    assert (ran.code, ran.out, ran.err) == (2, "", f"{wanted}\n")
    code, lines, _ = shown("status", "--watch", columns=100, cwd=project.root, env={"TERM": "dumb"})
    assert (code, lines) == (2, [wanted])


def _begin(made: Terminal) -> list[str]:
    return made.read_until(lambda lines: bool(lines) and lines[-1].startswith("q ends"))


def test_watch_shows_changes_and_ends_with_q(project: Project) -> None:
    """A change by another process appears; q ends it, and the terminal is as it was before."""
    looking.typical(project)
    with terminal("status", "--watch", columns=80, lines=30, cwd=project.root) as made:
        before = termios.tcgetattr(made.master)
        _begin(made)
        assert made.raw.startswith(ENTER.encode())
        looking.call(project, looking.status(3, "in_progress"), harness="codex")
        made.read_until(lambda lines: "1 of 4 done · 2 in progress · 1 waiting" in "\n".join(lines))
        made.type("q")
        assert made.finish() == 0
        assert made.raw.endswith(LEAVE.encode())
        assert termios.tcgetattr(made.master) == before


def test_watch_draws_without_clearing(project: Project) -> None:
    """A frame overwrites the one before, so nothing flickers."""
    looking.typical(project)
    with terminal("status", "--watch", columns=80, lines=30, cwd=project.root) as made:
        _begin(made)
        looking.call(project, looking.status(3, "in_progress"))
        made.read_until(lambda lines: "2 in progress" in "\n".join(lines))
        assert b"\x1b[2J" not in made.raw
        made.type("q")
        made.finish()


def test_watch_follows_the_size_of_the_terminal(project: Project) -> None:
    """After a resize the lines fit the new width; what has no room can be scrolled to."""
    looking.typical(project)
    with terminal("status", "--watch", columns=120, lines=40, cwd=project.root) as made:
        _begin(made)
        made.resize(40, 12)
        made.read_until(lambda lines: len(lines) == 12 and "more lines" in lines[-1])
        made.read_until(lambda lines: max(map(len, lines)) <= 40)
        assert made.lines()[0].startswith("Cache parsed files")
        made.type("jj\x1b[B")
        made.read_until(lambda lines: not lines[0].startswith("Cache") and "Goal" not in lines[0])
        made.type("kkkk")
        made.read_until(lambda lines: lines[0].startswith("Cache parsed files"))
        made.type("q")
        assert made.finish() == 0


def test_ctrl_c_ends_watch_and_restores_the_terminal(project: Project) -> None:
    """The exit code is that of an interrupted command."""
    with terminal("status", "--watch", columns=80, lines=24, cwd=project.root) as made:
        before = termios.tcgetattr(made.master)
        _begin(made)
        made.type("\x03")
        assert made.finish() == 130
        assert LEAVE.encode() in made.raw
        assert termios.tcgetattr(made.master) == before


def test_a_signal_ends_watch_and_restores_the_terminal(project: Project) -> None:
    """SIGTERM ends it as q does, with the exit code that shells report for it."""
    with terminal("status", "--watch", columns=80, lines=24, cwd=project.root) as made:
        _begin(made)
        made.process.send_signal(signal.SIGTERM)
        assert made.finish() == 143
        assert made.raw.endswith(LEAVE.encode())


def test_watch_survives_a_corrupt_file_and_a_vanished_project(project: Project) -> None:
    """It shows the fault, and later the repaired file."""
    looking.typical(project)
    good = project.get("state/tasks.json")
    with terminal("status", "--watch", columns=80, lines=30, cwd=project.root) as made:
        _begin(made)
        project.put("state/tasks.json", "{")
        made.read_until(lambda lines: lines[0].startswith("✗ .nexus/state/tasks.json"))
        project.put("state/tasks.json", good)
        made.read_until(lambda lines: lines[0].startswith("Cache parsed files"))
        (project.root / ".nexus").rename(project.root / "gone")
        made.read_until(lambda lines: lines[0] == "Nothing is planned here yet.")
        made.type("q")
        assert made.finish() == 0
