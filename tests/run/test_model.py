"""The decisions of a run as a model: random sessions, checks, verdicts, merges and kills drive the pure core.

The machine plays the effects and writes the events that the engine writes. Whatever happens: one attempt of a task at
a time, no completion without a passing own check or an accepting reviewer, every run ends, and the same log gives the
same state.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.run import events as ev
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.decide import (
    Action,
    Ask,
    Complete,
    Fail,
    Halt,
    Mend,
    Merge,
    Pause,
    Retry,
    Skip,
    Start,
    Task,
    decide,
    decide_unjudged,
)
from nexus_mcp.run.judging import Facts, judge
from nexus_mcp.run.outcome import Category, Outcome
from nexus_mcp.run.projection import RunRecord, apply, project
from nexus_mcp.run.ready import plan
from nexus_mcp.run.stages import next_stage
from nexus_mcp.run.triggers import ROWS
from tests.run.runs import GOOD
from tests.support import Json

TASKS: list[Json] = [
    {"id": 1, "title": "One", "deps": []},
    {"id": 2, "title": "Two", "deps": [1]},
    {"id": 3, "title": "Three", "deps": []},
]
MOST_STEPS = 3000
MOST_ANSWERS = 30
ASKS = {"questions": {"triggers": dict.fromkeys(ROWS, True)}, "max_cost_usd": 5.0}
BAD = {**GOOD, "approved": False, "reasoning": "no"}
COMPLETED = "completed"


class Machine:
    """Plays the effects of a run with random results, one step of one task at a time."""

    def __init__(self, data: st.DataObject, config: RunConfig, *, has_checks: bool, reviewers: tuple[str, ...]) -> None:
        self.data = data
        self.config = config
        self.has_checks = has_checks
        self.reviewers = reviewers
        self.tasks = [{**task, "status": "pending"} for task in TASKS]
        self.log: list[ev.AnyEvent] = []
        self.state = RunRecord()
        self.emit(ev.RunStarted(run="r", pid=1, host="h", base="b"))

    def emit(self, event: ev.Event, task: int | None = None) -> None:
        update: dict[str, object] = {"seq": len(self.log) + 1}
        if task is not None:
            last = self.state.task(task).last
            number = event.attempt if event.attempt is not None else last and last.attempt.number
            update |= {"task": task, "attempt": number}
        made: ev.AnyEvent = event.model_copy(update=update)  # type: ignore[assignment]
        self.log.append(made)
        self.state = apply(self.state, made)

    def draw(self, *values: object) -> object:
        return self.data.draw(st.sampled_from(values))

    def step(self) -> bool:
        """Do one step of a random task that can take one; return whether there was one."""
        found = plan(self.tasks, self.state, {}, chosen=None, is_isolated=True)
        for id_, reason in found.blocked.items():
            if self.state.task(id_).state != "blocked":
                self.emit(ev.TaskBlocked(task=id_, reason=reason), id_)
        running = [id_ for id_, task in self.state.tasks.items() if task.state in ("ready", "running", "merging")]
        able = sorted({*found.ready, *running})
        if not able or self.state.paused is not None:
            return False
        id_ = self.data.draw(st.sampled_from(able))
        if self.state.task(id_).state not in ("ready", "running", "merging"):
            self.emit(ev.TaskReady(), id_)
        self.act(id_)
        return True

    def act(self, id_: int) -> None:
        record = self.state.task(id_)
        task = Task(id_, "test-after", is_work=True, can_resume=True)
        self.perform(id_, decide(task, record.facts(), self.config, self.state.usage(0.0)))

    def perform(self, id_: int, action: Action | None) -> None:
        match action:
            case None:
                self.stage(id_)
            case Start():
                number = self.state.task(id_).next_number
                planned = ev.AttemptPlanned(attempt=number, tier=action.tier, strategy=action.strategy, harness="h")
                self.emit(planned, id_)
            case Mend():
                self.emit(ev.Mended(findings=action.findings), id_)
            case Merge():
                how = self.draw("merged", "merged", "conflict", "regression")
                if how == "merged":
                    self.emit(ev.Merged(commit=f"m{len(self.log)}"), id_)
                else:
                    category: Category = "merge-conflict" if how == "conflict" else "regression"
                    self.emit(ev.Judged(ok=False, category=category, reason=str(how)), id_)
            case Complete():
                self.check_completion(id_)
                self.tasks[id_ - 1]["status"] = COMPLETED
                self.emit(ev.TaskDone(), id_)
            case Pause():
                self.emit(ev.TaskPaused(reason=action.reason), id_)
                if action.scope == "run":
                    self.emit(ev.Paused(reason=action.reason))
            case Fail():
                self.emit(ev.TaskFailed(reason=action.reason), id_)
            case Skip():
                self.emit(ev.TaskSkipped(reason=action.reason), id_)
            case Retry():
                self.emit(ev.TaskRetried(), id_)
            case Halt():
                self.emit(ev.Paused(reason=action.reason))
            case Ask() if self.config.questions.asks(action.trigger):
                self.ask(id_, action)
            case Ask():
                self.emit(ev.TaskPaused(reason=action.question), id_)

    def ask(self, id_: int, action: Ask) -> None:
        """Ask, and answer with a word or a text; at some questions the executor dies before the answer or after it."""
        task = None if ROWS[action.trigger].is_of_run else id_
        known = [one for one in self.state.open_questions() if (one.task, one.trigger) == (task, action.trigger)]
        name = known[0].id if known else f"q{len(self.state.questions) + 1}"
        if not known:
            self.emit(ev.Question(id=name, trigger=action.trigger, summary=action.question), task)
        assert len([one for one in self.state.open_questions() if one.task == task]) == 1
        if self.draw(False, False, False, True):
            self.emit(ev.RunStarted(run="r", pid=2, host="h", base="b"))
            return
        fallback = ROWS[action.trigger].fallback
        few = len(self.state.questions) < MOST_ANSWERS  # a person who always asks for more never ends
        answer = self.draw(*ROWS[action.trigger].answers, "Change it") if few else fallback
        self.emit(ev.Answered(id=name, answer=str(answer), by="person"), task)
        if self.draw(False, False, False, True):
            self.emit(ev.RunStarted(run="r", pid=2, host="h", base="b"))

    def stage(self, id_: int) -> None:
        """Do one stage of an attempt, with a random result; at some, the executor dies and goes on."""
        record = self.state.task(id_).last
        assert record is not None
        stage = next_stage(record, self.reviewers, has_checks=self.has_checks)
        match stage.name:
            case "worktree":
                self.emit(ev.WorktreeMade(path="/w", branch="b", fence=len(self.log)), id_)
            case "session" | "advise":
                self.emit(ev.ProcessStarted(role=stage.role, agent="a", pid=1, create_time=1.0), id_)
                if self.draw(False, False, False, True):
                    self.emit(ev.RunStarted(run="r", pid=2, host="h", base="b"))  # killed here
                    return
                code = self.draw(0, 0, 0, 1)
                if stage.role == "owner":
                    self.emit(ev.Usage(cost_usd=float(str(self.draw(0.0, 0.5)))), id_)
                self.emit(ev.ProcessEnded(code=int(str(code)), done=bool(self.draw(True, True, True, False))), id_)
            case "await":
                self.emit(ev.Resumed(), id_)
            case "collect":
                files = [str(self.draw("f", "f", ".env"))] if self.draw(True, True, False) else []
                refused = str(self.draw("", "", "", "no"))
                self.emit(ev.Collected(files=files, commit=f"c{len(self.log)}", refused=refused), id_)
            case "checks":
                ok = bool(self.draw(True, True, False))
                known = not ok and bool(self.draw(False, True))
                self.emit(ev.Check(name="test", ok=ok, known=known, failures=None if ok else 1), id_)
            case "review":
                self.emit(ev.VerdictGiven(agent=stage.agent, verdict=self.draw(GOOD, GOOD, BAD, None)), id_)  # type: ignore[arg-type]
            case "judge":
                facts = Facts(is_work=True, may_edit=True, has_reviewers=bool(self.reviewers))
                outcome = judge(record, facts, self.config)
                if isinstance(outcome, Outcome):
                    self.emit(ev.Judged(ok=outcome.ok, category=outcome.category, reason=outcome.reason), id_)
                else:
                    task = Task(id_, "test-after", is_work=True, can_resume=True)
                    self.perform(id_, decide_unjudged(task, self.state.task(id_).facts(), self.config, outcome))

    def check_completion(self, id_: int) -> None:
        """Assert that the attempt was verified by a passing check or an accepting reviewer, and merged."""
        record = self.state.task(id_).last
        assert record is not None
        assert record.attempt.is_merged
        approvals = [one.verdict and one.verdict["approved"] for one in record.verdicts]
        assert any(check.ok for check in record.checks) or (approvals and all(approvals))
        assert all(check.ok or check.known for check in record.checks)
        assert all(approvals)
        assert record.files

    def check(self) -> None:
        """Assert what holds after each step."""
        for task in self.state.tasks.values():
            running = [one for one in task.attempts[task.budget_from :] if one.attempt.outcome is None]
            assert len(running) <= 1
            assert running in ([], [task.last])
            numbers = [one.attempt.number for one in task.attempts]
            assert numbers == sorted(set(numbers))
            for dep in TASKS[task.id - 1]["deps"] if task.attempts else ():
                last = self.state.task(dep).last
                assert last is not None
                assert last.attempt.is_merged


@settings(max_examples=150)
@given(
    data=st.data(),
    mend=st.integers(0, 2),
    budgets=st.lists(st.integers(1, 2), min_size=1, max_size=2),
    judges=st.sampled_from([(True, ()), (True, ("tester",)), (False, ("tester", "reviewer"))]),
    asks=st.sampled_from([{}, ASKS]),
)
def test_every_run_ends_and_completes_only_what_is_verified(
    data: st.DataObject, mend: int, budgets: list[int], judges: tuple[bool, tuple[str, ...]], asks: Json
) -> None:
    """Random results of every effect, and kills between them, keep all rules; the end is a state with a name."""
    tiers = [{"tier": tier, "attempts": n} for tier, n in zip(("standard", "high"), budgets, strict=False)]
    config = RunConfig.model_validate({"tiers": tiers, "mend": mend, **asks})
    has_checks, reviewers = judges
    machine = Machine(data, config, has_checks=has_checks, reviewers=reviewers)
    steps = 0
    while machine.step():
        machine.check()
        steps += 1
        assert steps < MOST_STEPS, "the run does not end"
    ends = {id_: task.state for id_, task in machine.state.tasks.items()}
    is_paused = machine.state.paused is not None
    assert is_paused or set(ends.values()) <= {"completed", "failed", "paused", "blocked", "skipped"}
    assert is_paused or set(ends) == {1, 2, 3}


@settings(max_examples=50)
@given(data=st.data(), at=st.integers(1, 200))
def test_the_state_follows_from_the_log_alone(data: st.DataObject, at: int) -> None:
    """A fold over the written lines gives the state that the run had, also from any point in the middle."""
    machine = Machine(data, RunConfig.model_validate(ASKS), has_checks=True, reviewers=("tester",))
    while machine.step():
        pass
    lines = [ev.render(event) for event in machine.log]
    parsed = [event for event in map(ev.parse, lines) if event is not None]
    assert len(parsed) == len(lines)
    assert project(parsed) == machine.state
    assert project(parsed[at:], project(parsed[:at])) == machine.state
