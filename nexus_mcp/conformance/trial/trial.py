"""Run one attempt at a fixture: its steps in a sandbox, then the outcome of all its assertions.

A step and the postcondition may both assert the last answer; the functions below say which of them decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nexus_mcp.conformance import jsonpath
from nexus_mcp.conformance.checks import answer_checks, file_checks
from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.fixture import Action, Asserts, Event, Kill, Parallel, WriteFile
from nexus_mcp.conformance.patterns import Budget, budget
from nexus_mcp.conformance.processes.pipes import Allowance
from nexus_mcp.conformance.result import Assertion
from nexus_mcp.conformance.target import Place
from nexus_mcp.conformance.threads import in_thread
from nexus_mcp.conformance.tokens import expand_path, replace_tokens
from nexus_mcp.conformance.trial.snapshot import part
from nexus_mcp.conformance.trial.steps import Steps
from nexus_mcp.conformance.trial.unchanged import describe_strays, unchanged_checks

if TYPE_CHECKING:
    from nexus_mcp.conformance.failures import Reply
    from nexus_mcp.conformance.fixture import Fixture, Step
    from nexus_mcp.conformance.target import Target
    from nexus_mcp.conformance.trial.sandbox import Sandbox
    from nexus_mcp.conformance.trial.snapshot import Snapshot
    from nexus_mcp.conformance.trial.steps import Answer


class Trial:
    """Run a fixture once, in a sandbox with its precondition. `assertions` are the outcomes, in order."""

    def __init__(
        self, fixture: Fixture, target: Target, sandbox: Sandbox, mark: str, attempt: int = 0, *, at_once: int = 1
    ) -> None:
        self.assertions: list[Assertion] = []
        self._fixture = fixture
        self._sandbox = sandbox
        self._patterns = Budget(target.options.timeout)
        self._harness_id = fixture.harness_id or target.options.harness_id
        place = Place(sandbox.project, mark, Allowance(at_once=at_once))
        self.steps = Steps(target, sandbox, place, self._harness_id, attempt)
        self._post = self._with_tokens_replaced(fixture.postcondition)
        self._baseline: Snapshot = {}

    async def run(self) -> None:
        """Run all steps, to the end of the server.

        Raises only HarnessFault; every fault of the target becomes an assertion.
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
            await self._end(last)
            await self.steps.end()
            if stray := await in_thread(self._strays):
                raise TargetFailure(stray)
            self.assertions.append(Assertion("process", passed=True))
        except TargetFailure as failure:
            self.assertions.append(Assertion("process", passed=False, message=failure.sentence, step=label))
        finally:
            self.steps.kill()

    async def _step(self, step: Step, label: str, *, final: bool) -> list[Answer]:
        asserts = self._with_tokens_replaced(step.asserts)
        before = await in_thread(self._sandbox.snapshot) if asserts.unchanged else {}
        answers = [
            answer._replace(asserts=self._with_tokens_replaced(answer.asserts))
            for answer in await self.steps.do(step, label)
        ]
        if isinstance(step.do, WriteFile):
            await self._accept(expand_path(step.do.path, self._harness_id), before)
        if not self._fixture.single:
            earlier = [] if isinstance(step.do, Parallel) else answers[:-1]
            post = self._post if final else None
            self.assertions += await in_thread(lambda: _judged(earlier, answers[len(earlier) :], post))
        self.assertions += await in_thread(lambda: file_checks(asserts, self._sandbox.read, label))
        if asserts.unchanged:
            self.assertions += unchanged_checks(asserts, before, await in_thread(self._sandbox.snapshot), label)
        return answers

    async def _end(self, last: Answer | None) -> None:
        """Judge the postcondition. `last` is the answer it is about, None when a kill prevented it."""
        if last is not None and self._fixture.single:
            self.assertions += await in_thread(lambda: answer_checks(self._post, last.reply) + schema_checks(last))
        elif last is not None:
            self.assertions += await in_thread(lambda: end_checks(self._post, last.reply))
        self.assertions += await in_thread(lambda: file_checks(self._post, self._sandbox.read))
        self.assertions += unchanged_checks(self._post, self._baseline, await in_thread(self._sandbox.snapshot))

    def _strays(self) -> str:
        return describe_strays(self._baseline, self._sandbox.snapshot(), self._sandbox)

    def _with_tokens_replaced(self, asserts: Asserts) -> Asserts:
        return replace_tokens(asserts, self._sandbox.project, self._harness_id)

    async def _accept(self, path: str, *more: Snapshot) -> None:
        """Add a path and its parent folders, as they are now, to what the fixture itself wrote."""
        now = await in_thread(self._sandbox.snapshot)
        above = [path[:place] for place, char in enumerate(path) if char == "/"]
        new = {**{folder: now[folder] for folder in above if folder in now}, **part(now, path)}
        for known in (self._baseline, *more):
            for gone in part(known, path):
                del known[gone]
            known.update(new)


def step_checks(answer: Answer, postcondition: Asserts | None) -> list[Assertion]:
    """Return the outcomes for a step's answer.

    `postcondition`, when it is about the same answer, may allow an error.
    """
    found = answer_checks(answer.asserts, answer.reply, answer.label)
    if postcondition is not None and _asserts_error(postcondition) and not _asserts_error(answer.asserts):
        found = _without("error", found)
    return found + schema_checks(answer)


def earlier_faults(answer: Answer) -> list[Assertion]:
    """Return what is wrong with an answer that the same step repeats later.

    The step's assertions are for the last answer. This one must only not be an error, or be one as they demand.
    """
    asserts = answer.asserts
    relevant = asserts if _asserts_error(asserts) else replace(asserts, return_value=None, result=None)
    checks = answer_checks(relevant, answer.reply, answer.label)
    return [one for one in checks if not one.passed and one.kind in ("error", "schema")]


def end_checks(postcondition: Asserts, reply: Reply) -> list[Assertion]:
    """Return the outcomes for the last of several answers against the postcondition; its step has judged it already."""
    found = _without("schema", answer_checks(postcondition, reply))
    return found if _asserts_error(postcondition) else _without("error", found)


def schema_checks(answer: Answer) -> list[Assertion]:
    """Return the passed check of the target's own output schema, if it has one and the answer matches."""
    if answer.described and not answer.reply.schema_fault:
        return [Assertion("schema", passed=True, step=answer.label)]
    return []


def _asserts_error(asserts: Asserts) -> bool:
    paths = asserts.return_value or ()
    named = any(jsonpath.compile(path).segments[:1] == ("error",) for path in paths)
    return asserts.error is not None or asserts.error_contains is not None or named


def _without(kind: str, assertions: list[Assertion]) -> list[Assertion]:
    return [assertion for assertion in assertions if assertion.kind != kind]


def _judged(earlier: list[Answer], others: list[Answer], post: Asserts | None) -> list[Assertion]:
    """Return the outcomes for the answers of a step."""
    found = [one for answer in earlier for one in earlier_faults(answer)]
    return found + [one for answer in others for one in step_checks(answer, post)]


def _has_answer(step: Step) -> bool:
    return isinstance(step.do, (Action, Event, Kill))
