"""A run on a terminal: the question of trust, progress, and the question before the merge."""

from __future__ import annotations

import io
import os
import pty
import select
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.cli.run.screen import Screen, time_left
from nexus_mcp.cli.run.work import _Terminal
from nexus_mcp.run import events as ev
from nexus_mcp.run.setup import Run
from tests.run.runs import Ground, git
from tests.run.test_command import TWO, WAIT_S, WORK, at_work, ready, until
from tests.support import Json

QUESTION = b"[y/N]"
SECONDS = 60
ASKS: dict[str, Json] = {"1": [[{"say": "STATUS: blocked\nWhich?"}]]}


def typed(
    ground: Ground,
    *words: str,
    before: Callable[[], object] = tuple,
    mark: bytes = QUESTION,
    answer: bytes | Callable[[], bytes] = b"y\n",
) -> tuple[int, str]:
    """Return (exit code, output) of `nexus-mcp run WORDS` on a terminal, with `answer` typed at each `mark` in the
    output; `before` is called before each.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ground.root)
        os.execve(sys.executable, [sys.executable, "-m", "nexus_mcp", "run", *words], ground.environ())
    output, answered = b"", 0
    while True:
        assert select.select([terminal], [], [], SECONDS)[0], output.decode(errors="replace")
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # Linux: the other end is closed
            break
        if not data:
            break
        output += data
        if output.count(mark) > answered:
            answered += 1
            before()
            os.write(terminal, answer if isinstance(answer, bytes) else answer())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ground.find_run()
    return code, output.decode(errors="replace")


def test_run_on_a_terminal_asks_for_trust_and_for_the_merge(tmp_path: Path) -> None:
    """Both questions are answered with y: the branch has the work at the end, and progress was shown."""
    ground = Ground(
        tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"run": "sleep 1"}, {"write": "f1", "text": "1\n"}]]}
    )
    ground.configure()
    code, output = typed(ground)
    assert code == 0, output
    assert output.count("[y/N]") == 2
    assert "0 of 1 tasks completed" in output
    assert "Your branch has the work." in output
    assert (ground.root / "f1").read_text() == "1\n"


@pytest.mark.parametrize(
    ("done", "took_ms", "left", "text"),
    [
        (0, 60_000, 5, ""),
        (2, 60_000, 0, ""),
        (2, 60_000, 1, ", less than 1 min left"),
        (2, 240_000, 3, ", about 6 min left"),
    ],
)
def test_the_time_left_follows_from_the_tasks_so_far(done: int, took_ms: int, left: int, text: str) -> None:
    """Without a completed task nothing is known."""
    assert time_left(done, took_ms, left) == text


def test_a_status_that_is_followed_replaces_itself(tmp_path: Path) -> None:
    """On a terminal the lines stand once; each task is there, and a waiting one names what it waits for."""
    ground = ready(tmp_path, TWO, {"1": [[{"hang": 300}]], "2": [[{"write": "f2", "text": "2"}]]})
    process = ground.start("--trust", "--merge", "never")
    until(lambda: at_work(ground))
    code, out = typed(ground, "status", "--follow", before=process.terminate, mark=b"task 2: waits for 1")
    process.communicate()
    assert code == 0
    first, *later = out.split("\x1b[2K")
    assert "task 1: running, implement, attempt 1, " in first
    assert later, "the lines were printed below each other"


def test_a_status_that_is_piped_is_printed_after_each_event(tmp_path: Path) -> None:
    """Without a terminal nothing is overwritten, and counts of 0 are left out."""
    ground = ready(tmp_path, TWO, ASKS)
    assert ground.cli("--trust", "--merge", "never")[0] == 3
    _, out, _ = ground.cli("status", "--follow")
    assert "\x1b" not in out
    assert "0 of 2 tasks completed, 1 paused, 1 blocked; 1 attempt, " in out
    assert out.count("nexus-mcp run answer q1 TEXT") == 1


def test_ctrl_c_at_the_question_about_the_merge_is_a_no(tmp_path: Path) -> None:
    """One Ctrl-C is enough: the run ends as interrupted, and the branch stays where it is."""
    ground = ready(tmp_path)
    head = git(ground.root, "rev-parse", "main")
    code, out = typed(ground, "--trust", mark=b"Move main to", answer=b"\x03")
    assert (code, git(ground.root, "rev-parse", "main")) == (130, head), out
    assert "Your branch has the work" not in out


def test_question_of_an_agent_is_answered_on_the_terminal(tmp_path: Path) -> None:
    """With its trigger on, the run waits, and the line that is typed goes into the session."""
    script = {"1": [[{"say": "STATUS: blocked\nDo it? [y/N]"}], [{"write": "f1", "text": "1\n"}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], script)
    ground.configure(questions={"triggers": {"story-ambiguity": True}})
    code, output = typed(ground, "--trust", "--merge", "never")
    assert code == 0, output
    assert [answer.by for answer in ground.state().answers.values()] == ["terminal"]
    assert ground.tree()["f1"] == "1"


def test_a_word_that_is_no_answer_is_refused_on_the_terminal(tmp_path: Path) -> None:
    """The person sees the answers, and the question stays open for the next line."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"exit": 1}]]})
    ground.configure(questions={"triggers": {"max-retries": True}}, tiers=[{"tier": "standard", "attempts": 1}])
    lines = [b"continue\n", b"skip\n"]
    code, output = typed(
        ground, "--trust", "--merge", "never", mark=b"question q1 ", answer=lambda: lines.pop(0) if lines else b"\n"
    )
    assert "The question q1 does not accept this answer. Its answers are retry, skip" in " ".join(output.split())
    assert (code, [one.answer for one in ground.state().answers.values()]) == (3, ["skip"])


def test_a_line_that_came_too_late_answers_no_other_question(tmp_path: Path) -> None:
    """The time of the first question was over when the person typed `yes`: the second one does not get it."""
    script = {"*": [[{"run": "echo KEY > $NEXUS_TASK.env"}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}], script)
    out = io.StringIO()

    def begin(run: Run) -> None:
        terminal = _Terminal(run, Screen(out, is_live=False), is_open=True)

        def look(event: ev.AnyEvent) -> None:
            terminal._watch(event)
            if isinstance(event, ev.Answered) and len(run.state.answers) == 1:
                terminal._take("yes")

        run.listeners.append(look)

    state = ground.run(before=begin, jobs=2, questions={"timeout_s": 2, "triggers": {"security-review": True}})
    assert [state.task(id_).state for id_ in (1, 2)] == ["failed", "failed"]
    assert "Your line was not taken" in out.getvalue()


@pytest.mark.parametrize("words", [(), ("--headless",)])
def test_a_reader_that_goes_away_does_not_end_the_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    """`nexus-mcp run | head`: the tasks are done, and the exit code is that of the run."""
    go = tmp_path / "go"
    waits: list[Json] = [{"run": f"until test -e {go}; do :; done"}, {"write": "f1", "text": "1\n"}]
    ground = ready(tmp_path, script={**WORK, "1": [waits]})
    with ground.start("--trust", "--merge", "never", *words) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        until(lambda: at_work(ground))
        process.stdout.close()
        go.touch()
        errors = process.stderr.read()
        assert (process.wait(WAIT_S), errors) == (0, "")
    assert {"f1", "f2"} <= ground.tree().keys()
