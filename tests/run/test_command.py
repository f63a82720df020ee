"""`nexus-mcp run` as people and CI start it: trust, exit codes, signals, requests of other processes, and texts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.harness import HARNESSES
from nexus_mcp.run import events as ev
from nexus_mcp.run import log_entries
from nexus_mcp.run.processes import is_alive
from tests.run.runs import GOOD, Ground, git

TWO = [{"id": 1, "title": "One", "acceptance": "a"}, {"id": 2, "title": "Two", "deps": [1], "acceptance": "a"}]
WORK = {"1": [[{"write": "f1", "text": "1\n"}]], "2": [[{"write": "f2", "text": "2\n"}]]}
WAIT_S = 60


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail after WAIT_S seconds."""
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it never held"
        time.sleep(0.02)


def at_work(ground: Ground) -> bool:
    """Return whether the first session of task 1 does what its script says: the executor has read its first line.

    Before, the session would end by itself if the executor were killed: nobody reads what it prints.
    """
    ground.find_run()
    return bool(ground.run_id) and any(event.type == "session" and event.task == 1 for event in ground.log())


def ready(tmp_path: Path, tasks: list[dict[str, object]] | None = None, script: object = None) -> Ground:
    ground = Ground(tmp_path, tasks or TWO, script or WORK)  # type: ignore[arg-type]
    ground.configure()
    return ground


def test_commands_of_a_repository_run_only_after_trust(tmp_path: Path) -> None:
    """Headless without trust is exit 5 with the commands; --trust is remembered until the section changes."""
    ground = ready(tmp_path)
    code, out, _ = ground.cli("--merge", "never")
    assert (code, ground.run_id) == (5, "")
    assert "test ! -e broken" in out
    assert ground.cli("--merge", "never", "--trust")[0] == 0
    assert ground.cli("--merge", "never")[0] == 0
    ground.configure(checks={"test": "true"})
    assert ground.cli("--merge", "never")[0] == 5


def test_run_merges_only_as_its_option_says(tmp_path: Path) -> None:
    """Headless `ask` leaves the branch, says so, and needs a person; `run merge` moves it forwards, once."""
    ground = ready(tmp_path)
    before = git(ground.root, "rev-parse", "main")
    code, out, _ = ground.cli("--trust")
    assert (code, "Nothing was merged into your branch: a run without a terminal does not ask" in out) == (3, True)
    assert git(ground.root, "rev-parse", "main") == before
    assert f"nexus-mcp run merge {ground.run_id}" in out
    assert ground.cli("merge")[0] == 0
    assert (ground.root / "f2").read_text() == "2\n"
    assert "has all work of the run already" in ground.cli("merge")[1]


def test_auto_moves_the_branch_at_the_end(tmp_path: Path) -> None:
    """The user's checkout has the work, and the report is an artifact."""
    ground = ready(tmp_path)
    code, out, _ = ground.cli("--trust", "--merge", "auto")
    assert code == 0
    assert (ground.root / "f1").exists()
    report = (ground.root / ".nexus/state/artifacts/runs" / f"{ground.run_id}.md").read_text()
    assert "Status running: 2 of 2 tasks completed" not in report
    assert "Status completed: 2 of 2 tasks completed" in report
    assert "Report: " in out


def test_a_moved_branch_is_not_merged(tmp_path: Path) -> None:
    """A commit of the user after the run began stays as it is, and the way by hand is named."""
    ground = ready(tmp_path)
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    git(ground.root, "commit", "--allow-empty", "-q", "-m", "mine")
    code, _, err = ground.cli("merge")
    assert code == 3
    assert f"git merge nexus/{ground.run_id}/integration" in err


def test_dry_run_starts_nothing(tmp_path: Path) -> None:
    """It shows waves, commands and a bound; the status file says `dryRun`."""
    ground = ready(tmp_path)
    status = tmp_path / "status.json"
    code, out, _ = ground.cli("--dry-run", "--status-file", str(status))
    assert code == 0
    assert "Wave 1" in out
    assert "Wave 2" in out
    assert "fake_harness.py" in out
    assert json.loads(status.read_text())["run"]["dryRun"] is True
    assert not (ground.root / ".nexus/state/runs").exists()


@pytest.mark.parametrize("harness", HARNESSES)
def test_dry_run_shows_the_server_and_the_hooks(tmp_path: Path, harness: str) -> None:
    """The command line is the one that a session gets, with the files that the run writes for it."""
    ground = ready(tmp_path)
    (ground.root / ".nexus/config.yml").write_text(f"run: {{harness: {harness}, sandbox: bwrap}}\n")
    code, out, err = ground.cli("--dry-run")
    assert code == 0, err
    assert "bwrap --bind" in out
    assert f"serve --harness-id {harness}" in out.replace('", "', " ") or "--mcp-config /SCRATCH/mcp.json" in out
    assert "nexus-mcp hook" in out or "--settings /SCRATCH/settings.json" in out or "opencode/nexus.js" in out


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("run:\n  jobs: many\n", ":2:3: run.jobs: "),
        ("run:\n  tiers:\n    - {tier: huge, attempts: 1}\n", ":3:8: run.tiers.0.tier: "),
        ("run:\n  guards:\n    default: {investigation_cap: 99}\n", ":3:15: run.guards.default.investigation_cap: "),
        ("run:\n  isolation: none\n", ":2:3: run.isolation: "),
        ("run:\n  future: 1\n", ":2:3: run.future: "),
    ],
)
def test_a_fault_of_the_configuration_names_its_place(tmp_path: Path, text: str, place: str) -> None:
    """File, line, column and name; exit code 2; nothing is started."""
    ground = ready(tmp_path)
    (ground.root / ".nexus/config.yml").write_text(text)
    code, _, err = ground.cli("--trust")
    assert code == 2
    assert f".nexus/config.yml{place}" in err


def test_blockers_end_with_exit_code_five(tmp_path: Path) -> None:
    """A dirty tree and a cycle are named, and no run is made."""
    ground = ready(tmp_path, [{"id": 1, "title": "One", "deps": [2]}, {"id": 2, "title": "Two", "deps": [1]}])
    (ground.root / "README.md").write_text("changed\n")
    code, out, _ = ground.cli("--trust")
    assert (code, ground.run_id) == (5, "")
    assert "uncommitted changes" in out
    assert "cycle: 1, 2" in out


def test_no_repository_and_no_commit_are_blockers(tmp_path: Path) -> None:
    """Both are sentences, not traces."""
    ground = ready(tmp_path)
    git(ground.root, "checkout", "-q", "--orphan", "empty")
    git(ground.root, "reset", "-q")
    assert "no commit yet" in ground.cli("--trust")[1]
    os.rename(ground.root / ".git", tmp_path / "away")
    code, out, _ = ground.cli("--trust")
    assert code == 5
    assert "no git repository" in out


def test_wrong_words_are_exit_code_two(tmp_path: Path) -> None:
    """An unknown harness, a wrong number, an unknown subcommand, an unknown task."""
    ground = ready(tmp_path)
    assert ground.cli("--jobs", "0")[0] == 2
    assert ground.cli("--max-cost", "nothing")[0] == 2
    assert ground.cli("nonsense")[0] == 2
    assert ground.cli("--harness", "nobody", "--trust")[0] == 2
    assert ground.cli("9", "--trust")[0] == 5
    assert ground.cli("answer", "q9", "text")[0] == 1  # there is no run yet


def test_only_the_named_tasks_are_done(tmp_path: Path) -> None:
    """`run 1` leaves task 2; a later `run 2` is another run."""
    ground = ready(tmp_path)
    assert ground.cli("1", "--trust", "--merge", "auto")[0] == 0
    assert ground.statuses() == ["completed", "pending"]
    assert ground.cli("2", "--merge", "auto")[0] == 0
    assert ground.statuses() == ["completed", "completed"]
    assert "All tasks are completed." in ground.cli()[1]


def test_second_run_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    """Exit code 6; the first one is not disturbed; stop ends it, and the next run completes it."""
    ground = ready(tmp_path, TWO, {"1": [[{"hang": 300}], WORK["1"][0]], "2": WORK["2"]})
    first = ground.start("--trust", "--merge", "never")
    until(lambda: at_work(ground))
    code, out, _ = ground.cli()
    assert code == 6
    assert f"process {first.pid}" in out
    assert ground.cli("unlock")[0] == 6
    assert ground.cli("stop")[0] == 0
    first.communicate(timeout=WAIT_S)
    assert first.returncode == 130
    assert ground.cli("--merge", "never")[0] == 0
    assert ground.tree()["f1"] == "1"
    assert [len(one.attempts) for one in ground.state().tasks.values()] == [1, 1]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_attempts_and_the_run_goes_on_later(tmp_path: Path, number: int, code: int) -> None:
    """No process is left, the log has an end, and the resumed run needs no second attempt."""
    ground = ready(tmp_path, TWO, {"1": [[{"hang": 300}], WORK["1"][0]], "2": WORK["2"]})
    process = ground.start("--trust", "--merge", "never")
    until(lambda: at_work(ground))
    process.send_signal(number)
    process.communicate(timeout=WAIT_S)
    assert process.returncode == code
    started = [event for event in ground.log() if isinstance(event, ev.ProcessStarted)]
    assert not is_alive(started[-1].pid, started[-1].create_time)
    assert ground.log()[-1].type == "run_ended"
    assert ground.cli("--merge", "never")[0] == 0
    assert [len(one.attempts) for one in ground.state().tasks.values()] == [1, 1]


def test_ctrl_c_pauses_after_the_attempts_at_work(tmp_path: Path) -> None:
    """The first one lets task 1 end and starts no other; exit code 130; the next run does the rest."""
    ground = ready(tmp_path, TWO, {"1": [[{"run": "sleep 1"}, *WORK["1"][0]]], "2": WORK["2"]})
    process = ground.start("--trust", "--merge", "never")
    until(lambda: at_work(ground))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert ground.statuses() == ["completed", "pending"]
    assert ground.cli("--merge", "never")[0] == 0
    assert ground.statuses() == ["completed", "completed"]


def test_killed_executor_is_shown_as_crashed(tmp_path: Path) -> None:
    """`status` tests the lock; `diagnose` names it; the next run ends the orphan and completes the list."""
    ground = ready(tmp_path, TWO, {"1": [[{"hang": 300}], WORK["1"][0]], "2": WORK["2"]})
    process = ground.start("--trust", "--merge", "never")
    until(lambda: at_work(ground))
    process.kill()
    process.communicate(timeout=WAIT_S)
    assert json.loads(ground.cli("status", "--json")[1])["run"]["status"] == "crashed"
    assert "LOCK_STALE" in ground.cli("diagnose")[1]
    orphan = next(event for event in ground.log() if isinstance(event, ev.ProcessStarted))
    assert ground.cli("--merge", "never")[0] == 0
    assert not is_alive(orphan.pid, orphan.create_time)
    assert any(event.type == "orphan_ended" for event in ground.log())


def test_an_answer_goes_into_the_session_that_has_the_question(tmp_path: Path) -> None:
    """The run pauses with exit code 3; `run answer` and the next run complete the task."""
    script = {"1": [[{"say": "STATUS: blocked\nWhich colour?"}], [{"write": "colour", "text": "blue"}]]}
    ground = ready(tmp_path, [{"id": 1, "title": "One"}], script)
    code, out, _ = ground.cli("--trust", "--merge", "never")
    assert code == 3
    assert "nexus-mcp run answer q1 TEXT" in out
    assert ground.cli("answer", "q1", "Blue")[0] == 0
    assert ground.cli("--merge", "never")[0] == 0
    assert ground.tree()["colour"] == "blue"
    assert ground.cli("answer", "q1", "Red")[0] == 2


def test_retry_gives_a_failed_task_new_attempts(tmp_path: Path) -> None:
    """A failed run ends with exit code 1; after `run retry` it goes on at the tier that was asked for."""
    bad = [{"write": "broken", "text": "b"}]
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [bad, [{"run": "rm -f broken"}, *WORK["1"][0]]]})
    ground.configure(
        tiers=[{"tier": "standard", "attempts": 1}, {"tier": "high", "attempts": 1}], mend=0, escalate=False
    )
    assert ground.cli("--trust", "--merge", "never")[0] == 1
    assert "MAX_TIERS" not in ground.cli("diagnose")[1]
    assert ground.cli("retry", "1", "--tier", "high")[0] == 0
    assert ground.cli("--merge", "never")[0] == 0
    assert [one.attempt.tier for one in ground.state().task(1).attempts] == ["standard", "high"]


def test_a_task_completed_by_hand_is_never_merged(tmp_path: Path) -> None:
    """Its attempt is ended; what it has done so far stays on its branch."""
    ground = ready(tmp_path, [{"id": 1, "title": "One"}], {"1": [[*WORK["1"][0], {"hang": 300}]]})
    process = ground.start("--trust", "--merge", "never")
    branch = ground.root / ".git"
    until(lambda: at_work(ground))
    until(lambda: any((ground.worktrees / ground.run_id).glob("1-1/f1")))
    tasks = ground.root / ".nexus/state/tasks.json"
    (tmp_path / "tasks.json").write_text(tasks.read_text().replace('"in_progress"', '"completed"'))
    os.replace(tmp_path / "tasks.json", tasks)
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert branch.exists()
    assert "f1" not in ground.tree()
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1:f1") == "1"


def test_events_and_status_are_for_programs(tmp_path: Path) -> None:
    """With --events=- stdout has JSON lines only; the status file says how it ended."""
    ground = ready(tmp_path)
    status = tmp_path / "status.json"
    code, out, err = ground.cli("--trust", "--merge", "never", "--events=-", "--status-file", str(status))
    assert code == 0
    entries = [json.loads(line) for line in out.splitlines()]
    assert {"timestamp", "level", "stage", "message", "data"} <= entries[0].keys()
    assert entries[-1]["stage"] == "run_ended"
    assert "completed" in err
    assert json.loads(status.read_text())["run"]["status"] == "completed"
    assert ground.cli("--status-file", str(tmp_path))[0] == 2


def test_a_session_without_an_agent_is_named() -> None:
    """The line of an attempt names its agent, or says that a plain session does the task."""
    planned = ev.AttemptPlanned(attempt=1, tier="standard", strategy="tdd-lite", harness="codex", model="m")
    assert log_entries.message(planned) == "attempt 1 by a plain session (codex, m), tier standard, tdd-lite"
    named = planned.model_copy(update={"agent": "engineer"})
    assert log_entries.message(named) == "attempt 1 by engineer (codex, m), tier standard, tdd-lite"


def test_views_of_a_run(tmp_path: Path) -> None:
    """status, list, show, log and attach show the same run."""
    ground = ready(
        tmp_path,
        [{"id": 1, "title": "One", "owner": "engineer"}],
        {"1-engineer": WORK["1"], "tester": [[{"verdict": GOOD}]]},
    )
    ground.configure(review={"do": ["tester"]})
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    assert "1 of 1 tasks completed" in ground.cli("status")[1]
    assert "; 1 attempt, " in ground.cli("status")[1]
    assert ground.run_id in ground.cli("list")[1]
    assert "verdict of tester: approved" in ground.cli("show", ground.run_id)[1]
    assert "merged at" in ground.cli("log", "--task", "1")[1]
    assert "session of tester" in ground.cli("attach", "1")[1]
    assert ground.cli("show", "run-nothing")[0] == 2
    folder = ground.root / ".nexus/state/runs" / ground.run_id / "attempts/1-1"
    assert {"brief.md", "command.json", "verdict.json", "checks.json", "diff.patch", "result.json"} <= {
        path.name for path in folder.iterdir()
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir() if path.is_file())


def test_clean_keeps_work_that_is_not_merged(tmp_path: Path) -> None:
    """Files, worktrees and merged branches go; the integration branch stays until its work is merged."""
    ground = ready(tmp_path)
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    name = ground.run_id
    code, out, _ = ground.cli("clean", name)
    assert code == 0
    assert f"nexus/{name}/integration" in out
    assert git(ground.root, "show", f"nexus/{name}/integration:f2") == "2"
    assert not (ground.root / ".nexus/state/runs" / name).exists()
    assert not (ground.worktrees / name / "integration").exists()


def test_a_session_of_a_run_starts_no_run(tmp_path: Path) -> None:
    """NEXUS_RUN in the environment is refused, so that no agent starts agents."""
    script = {"1": [[{"run": "python3 -m nexus_mcp run > out.txt 2>&1; true"}]]}
    ground = ready(tmp_path, [{"id": 1, "title": "One"}], script)
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    assert "may not change runs" in ground.tree()["out.txt"] or "No module" in ground.tree()["out.txt"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_checkout_that_changed_unseen_pauses_the_run(tmp_path: Path, number: int) -> None:
    """A killed executor leaves its session at work: the next run names the part that changed and starts nothing; the
    one after it goes on. An executor that was stopped in order names the part itself.
    """
    evil = [*WORK["1"][0], {"run": "git config user.name Evil; touch config-is-changed"}, {"hang": 300}]
    ground = ready(tmp_path, [TWO[0]], {"1": [evil, [{"write": "f2", "text": "2"}]]})
    process = ground.start("--trust", "--merge", "never")
    until(lambda: any((ground.worktrees).glob("run-*/1-1/config-is-changed")))
    ground.find_run()
    process.send_signal(number)
    out = process.communicate(timeout=WAIT_S)[0]
    if number == signal.SIGKILL:
        code, out, _ = ground.cli("--merge", "auto")
        assert code == 3
        assert not [event for event in ground.log() if event.type == "collected"]
    assert "config of your checkout changed" in out
    assert ground.cli("--merge", "never")[0] == 0
    assert {"f1", "f2"} <= ground.tree().keys()
    assert len(ground.state().task(1).attempts) == 1


def test_a_lease_outlives_its_executor_until_it_is_freed(tmp_path: Path) -> None:
    """Another session that updates the task is warned: that the run works on it, that the run died, and no more."""
    ground = ready(tmp_path, TWO, {"1": [[{"hang": 300}], WORK["1"][0]], "2": WORK["2"]})
    payload = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "mcp__nexus__task_update"}

    def warning() -> str:
        text = json.dumps({**payload, "tool_input": {"id": 1, "status": "completed"}})
        command = [sys.executable, "-m", "nexus_mcp", "hook", "--native", "claude-code"]
        done = subprocess.run(
            command, cwd=ground.root, env=ground.environ(), input=text, capture_output=True, text=True, check=True
        )
        return done.stdout

    process = ground.start("--trust", "--merge", "never")
    until(lambda: at_work(ground))
    assert f'{ground.run_id}\\" works on task 1 now' in warning()
    process.kill()
    process.communicate(timeout=WAIT_S)
    assert "died" in warning()
    assert ground.cli("unlock")[1] == "The lock is free. Leases of task 1 were freed; 1 process was ended.\n"
    assert warning() == ""
    assert ground.cli("--merge", "never")[0] == 0


def test_a_ref_that_cannot_be_read_pauses_the_run(tmp_path: Path) -> None:
    """The executor cannot tell whether the checkout changed, so it merges nothing, and names the file."""
    evil = [*WORK["1"][0], {"run": 'mkfifo "$(git rev-parse --git-common-dir)/refs/tags/pipe"'}]
    ground = ready(tmp_path, [TWO[0]], {"1": [evil]})
    code, out, _ = ground.cli("--trust", "--merge", "auto")
    assert code == 3
    assert "refs/tags/pipe" in out
    assert not any(event.type == "merged" for event in ground.log())


TEXT_AGENT = """
import os, pathlib, sys
if os.environ["NEXUS_AGENT"] == "tester":
    print("VERDICT: pass\\naccept")
elif pathlib.Path(sys.argv[1]).exists():
    pathlib.Path("colour").write_text("blue")
else:
    pathlib.Path(sys.argv[1]).touch()
    print("I looked around.\\nSTATUS: blocked\\nWhich colour,\\nblue or red?")
print("DONE")
"""


def test_an_agent_that_prints_text_asks_in_several_lines(tmp_path: Path) -> None:
    """All lines are its last message, but not the one that only says that it is done."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One", "owner": "engineer", "acceptance": "a"}], {})
    (tmp_path / "agent.py").write_text(TEXT_AGENT)
    mine = {"command": [sys.executable, str(tmp_path / "agent.py"), str(tmp_path / "asked")], "done": "^DONE$"}
    ground.configure(harness="mine", drivers={"mine": mine}, review={"do": ["tester"]})
    assert ground.cli("--trust", "--merge", "never")[0] == 3
    (question,) = ground.state().open_questions()
    assert question.summary.endswith("Which colour,\nblue or red?")
    assert "Which colour, blue or red?" in ground.cli("status")[1]
    assert ground.cli("answer", "q1", "Blue")[0] == 0
    code, out, err = ground.cli("--merge", "never")
    assert code == 0, out + err
    assert ground.tree()["colour"] == "blue"
    assert "task 1: completed, attempt" in ground.cli("status")[1]
    assert ground.cli("unlock")[1] == "The lock is free, and no dead executor left a lease or a process.\n"
