"""Run one attempt at a fixture: its steps in a sandbox, then the outcome of all its assertions.

A step and the postcondition may both assert the last answer; the docstrings below define which of them decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nexus_mcp.conformance.checks import answer_checks, asserts_error_path, file_checks
from nexus_mcp.conformance.failures import TargetFailure, error_line
from nexus_mcp.conformance.fixture import Action, Asserts, Event, Kill, ListTools, Parallel, Run, WriteFile
from nexus_mcp.conformance.processes import killing
from nexus_mcp.conformance.processes.helper import Budget, budget
from nexus_mcp.conformance.processes.process import Allowance
from nexus_mcp.conformance.result import Assertion
from nexus_mcp.conformance.stopping import in_thread
from nexus_mcp.conformance.target import Place
from nexus_mcp.conformance.trial.executing import check_left
from nexus_mcp.conformance.trial.sandbox import OUTSIDE
from nexus_mcp.conformance.trial.snapshot import changed_paths, part
from nexus_mcp.conformance.trial.steps import Scene, Steps
from nexus_mcp.wording import join_first

if TYPE_CHECKING:
    from nexus_mcp.conformance.failures import Reply
    from nexus_mcp.conformance.fixture import Asserts, Fixture, Step
    from nexus_mcp.conformance.target import Target
    from nexus_mcp.conformance.trial.bench import Bench
    from nexus_mcp.conformance.trial.sandbox import Sandbox
    from nexus_mcp.conformance.trial.snapshot import Snapshot
    from nexus_mcp.conformance.trial.steps import Answer

_NAMED = 5


class Trial:
    """Run a fixture once, in a sandbox with its precondition. `assertions` has the outcomes so far, in order.

    The tokens of the fixture must have been replaced (tokens.fill_fixture).
    """

    def __init__(
        self,
        fixture: Fixture,
        target: Target,
        sandbox: Sandbox,
        mark: str,
        attempt: int = 0,
        *,
        at_once: int = 1,
        bench: Bench | None = None,
    ) -> None:
        self.assertions: list[Assertion] = []
        self._mark = mark
        self._has_run = bench is not None
        self._seconds = target.options.end_timeout
        self._fixture = fixture
        self._sandbox = sandbox
        self._patterns = Budget(target.options.timeout)
        place = Place(sandbox.project, mark, Allowance(at_once=at_once))
        self.steps = Steps(target, sandbox, place, attempt, Scene(fixture, bench) if bench is not None else None)
        self._baseline: Snapshot = {}

    async def run(self) -> None:
        """Run the steps in order, judge the postcondition, and end the server.

        The first TargetFailure becomes an assertion and ends the trial. Raise HarnessFault if no verdict is possible.
        """
        budget.set(self._patterns)
        answered = [number for number, step in enumerate(self._fixture.steps, 1) if _has_answer(step)]
        label = ""
        last: Answer | None = None
        try:
            self._baseline = await in_thread(self._sandbox.snapshot)
            for number, step in enumerate(self._fixture.steps, 1):
                label = "" if self._fixture.single else f"step {number}"
                final = answered[-1:] == [number]
                answers = await self._step(step, label, final=final)
                last = answers[-1] if final and answers else last
            label = ""
            await in_thread(lambda: self._judge_end(last))
            await self.steps.end()
            if self._has_run:
                await check_left(self._mark, self._seconds)
            await in_thread(self._check_strays)
            self.assertions.append(Assertion("process", passed=True))
        except TargetFailure as failure:
            self.steps.kill()
            # The message of a failed start has a line of stderr already.
            named = "" if failure.stderr else error_line(self.steps.stderr)
            message = failure.sentence + (f' (its stderr: "{named}")' if named else "")
            self.assertions.append(Assertion("process", passed=False, message=message, step=label))
        finally:
            self.steps.kill()
            if self._has_run:
                killing.kill_marked(self._mark)

    async def _step(self, step: Step, label: str, *, final: bool) -> list[Answer]:
        before = await in_thread(self._sandbox.snapshot) if step.asserts.unchanged else {}
        answers = await self.steps.do(step, label)
        if not self._fixture.single:  # the step of a fixture with one call has no assertions of its own
            await in_thread(lambda: self._judge_step(step, label, answers, before, final=final))
        return answers

    def _judge_step(self, step: Step, label: str, answers: list[Answer], before: Snapshot, *, final: bool) -> None:
        if isinstance(step.do, WriteFile):
            self._accept(step.do.path, before)
        earlier = 0 if isinstance(step.do, Parallel) else max(0, len(answers) - 1)
        self.assertions += [one for answer in answers[:earlier] for one in earlier_faults(answer)]
        post = self._fixture.postcondition if final else None
        self.assertions += [one for answer in answers[earlier:] for one in step_checks(answer, post)]
        self.assertions += file_checks(step.asserts, self._sandbox.read, label)
        if step.asserts.unchanged:
            self.assertions += unchanged_checks(step.asserts, before, self._sandbox.snapshot(), label)

    def _judge_end(self, last: Answer | None) -> None:
        """Judge the postcondition. `last` is the answer that it asserts, None without one, as after a kill."""
        post = self._fixture.postcondition
        if last is not None and self._fixture.single:
            self.assertions += answer_checks(post, last.reply) + schema_checks(last)
        elif last is not None:
            self.assertions += end_checks(post, last.reply)
        self.assertions += file_checks(post, self._sandbox.read)
        self.assertions += unchanged_checks(post, self._baseline, self._sandbox.snapshot())

    def _check_strays(self) -> None:
        before, after = self._baseline, self._sandbox.snapshot()
        if self._has_run:  # the executor makes branches and worktrees, and writes into the bench
            before, after = (_inside(whole) for whole in (before, after))
        if stray := describe_strays(before, after, self._sandbox):
            raise TargetFailure(stray)

    def _accept(self, path: str, before: Snapshot) -> None:
        """Record that the fixture itself wrote the present content of a path and created its parent folders."""
        now = self._sandbox.snapshot()
        above = [path[:place] for place, char in enumerate(path) if char == "/"]
        new = {**{folder: now[folder] for folder in above if folder in now}, **part(now, path)}
        for known in (self._baseline, before):
            for old_path in part(known, path):
                del known[old_path]
            known.update(new)


def step_checks(answer: Answer, postcondition: Asserts | None) -> list[Assertion]:
    """Return the outcomes for a step's answer.

    `postcondition` is None if it asserts another answer. If it asserts this answer and expects an error, an error is
    not a fault here, unless the step itself asserts something about an error.
    """
    found = answer_checks(answer.asserts, answer.reply, answer.label)
    if postcondition is not None and _asserts_error(postcondition) and not _asserts_error(answer.asserts):
        found = _without("error", found)
    return found + schema_checks(answer)


def earlier_faults(answer: Answer) -> list[Assertion]:
    """Return the faults of an answer to a request that the same step repeats later.

    The other assertions of the step apply to the last answer only. An earlier answer must match the tool's output
    schema and the step's `error` and `error_contains`. If the step asserts nothing about an error, the answer must not
    be one.
    """
    asserts = answer.asserts
    relevant = asserts if _asserts_error(asserts) else replace(asserts, return_value=None, result=None)
    checks = answer_checks(relevant, answer.reply, answer.label)
    return [one for one in checks if not one.passed and one.kind in ("error", "schema")]


def end_checks(postcondition: Asserts, reply: Reply) -> list[Assertion]:
    """Return the outcomes of the postcondition for the last answer; the assertions of its step come separately."""
    found = _without("schema", answer_checks(postcondition, reply))
    return found if _asserts_error(postcondition) else _without("error", found)


def schema_checks(answer: Answer) -> list[Assertion]:
    """Return the passed check of the target's own output schema; [] if there is no schema, or the answer is an error or
    breaks the schema.
    """
    reply = answer.reply
    if reply.described and not reply.is_failure and not reply.schema_fault:
        return [Assertion("schema", passed=True, step=answer.label)]
    return []


def unchanged_checks(asserts: Asserts, before: Snapshot, after: Snapshot, step: str = "") -> list[Assertion]:
    """Return the outcomes of `unchanged`, in whose paths the tokens are already replaced."""
    if asserts.unchanged is None:
        return []
    if asserts.unchanged is True:
        return [_outcome(changed_paths(_inside(before), _inside(after)), step, "")]
    return [_outcome(changed_paths(part(before, path), part(after, path)), step, path) for path in asserts.unchanged]


def describe_strays(before: Snapshot, after: Snapshot, sandbox: Sandbox) -> str:
    """Return the message of a TargetFailure about files outside of `.nexus` that the target changed, or about links
    that it made to places outside of its project; "" if there are none.
    """
    differ = changed_paths(before, after)
    touched = [path for path in differ if path != ".nexus" and not path.startswith(".nexus/")]
    outside = [path for path in touched if path.startswith(OUTSIDE)]
    if outside:
        return f"wrote outside of its project: {join_first(outside, _NAMED)}{_or_another(sandbox)}"
    if touched:
        return f"changed files outside .nexus: {join_first(touched, _NAMED)}{_or_another(sandbox)}"
    # A link of the fixture that was only renamed is not new: its target is known.
    known = set(before.values())
    links = [path for path in differ if after.get(path, "").startswith("-> ") and after[path] not in known]
    ways = [path for path in links if sandbox.leads_out(path)]
    return f"made a link that leads out of its project: {join_first(ways, _NAMED)}" if ways else ""


def _asserts_error(asserts: Asserts) -> bool:
    return asserts.error is not None or asserts.error_contains is not None or asserts_error_path(asserts)


def _without(kind: str, assertions: list[Assertion]) -> list[Assertion]:
    return [assertion for assertion in assertions if assertion.kind != kind]


def _has_answer(step: Step) -> bool:
    return isinstance(step.do, (Action, Event, Kill, ListTools, Run))


def _or_another(sandbox: Sandbox) -> str:
    return " (or another target of this run did so at the same time)" if sandbox.in_company else ""


def _inside(whole: Snapshot) -> Snapshot:
    return {path: what for path, what in whole.items() if not f"{path}/".startswith((OUTSIDE, ".git/"))}


def _outcome(paths: list[str], step: str, file: str) -> Assertion:
    message = f"must be unchanged, but changed: {join_first(paths, _NAMED)}" if paths else ""
    return Assertion("unchanged", not paths, message, step, file)
