"""One attempt at a fixture: its steps in a sandbox, and how all of its assertions come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.checks import answer_checks, file_checks
from nexus_mcp.conformance.fixture import Action, Asserts, Event, Kill, Parallel, WriteFile
from nexus_mcp.conformance.in_thread import in_thread
from nexus_mcp.conformance.patterns import Budget, budget
from nexus_mcp.conformance.processes.allowance import Allowance
from nexus_mcp.conformance.result import Assertion
from nexus_mcp.conformance.target import Place
from nexus_mcp.conformance.tokens import expand_path, settle
from nexus_mcp.conformance.trial.judging import described, earlier_faults, end_checks, step_checks
from nexus_mcp.conformance.trial.snapshot import part
from nexus_mcp.conformance.trial.steps import Steps
from nexus_mcp.conformance.trial.unchanged import strays, unchanged_checks
from nexus_mcp.conformance.trouble import TargetTrouble

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Fixture, Step
    from nexus_mcp.conformance.target import Target
    from nexus_mcp.conformance.trial.asking import Answer
    from nexus_mcp.conformance.trial.sandbox import Sandbox
    from nexus_mcp.conformance.trial.snapshot import Snapshot


class Trial:
    """Runs a fixture once, in a sandbox that was laid for it. `assertions` are what came out, in order."""

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
        self._post = self._settled(fixture.postcondition)
        self._baseline: Snapshot = {}

    async def run(self) -> None:
        """Everything, to the end of the server. Raises HarnessFault only; whatever the target does is an assertion."""
        budget.set(self._patterns)
        asked = [number for number, step in enumerate(self._fixture.steps, 1) if _has_answer(step)]
        label = ""
        last: Answer | None = None
        try:
            self._baseline = await in_thread(self._sandbox.snapshot)
            for number, step in enumerate(self._fixture.steps, 1):
                label = "" if self._fixture.single else f"step {number}"
                final = asked[-1:] == [number]
                answers = await self._step(step, label, final=final)
                last = answers[-1] if final and answers else last
            label = ""
            await self._end(last)
            await self.steps.end()
            if stray := await in_thread(self._strays):
                raise TargetTrouble(stray)
            self.assertions.append(Assertion("process", passed=True))
        except TargetTrouble as trouble:
            self.assertions.append(Assertion("process", passed=False, message=trouble.sentence, step=label))
        finally:
            self.steps.kill()

    async def _step(self, step: Step, label: str, *, final: bool) -> list[Answer]:
        asserts = self._settled(step.asserts)
        before = await in_thread(self._sandbox.snapshot) if asserts.unchanged else {}
        answers = [
            answer._replace(asserts=self._settled(answer.asserts)) for answer in await self.steps.do(step, label)
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
        """The postcondition. `last` is the answer it is about, None when a kill left none."""
        if last is not None and self._fixture.single:
            self.assertions += await in_thread(lambda: answer_checks(self._post, last.reply) + described(last))
        elif last is not None:
            self.assertions += await in_thread(lambda: end_checks(self._post, last.reply))
        self.assertions += await in_thread(lambda: file_checks(self._post, self._sandbox.read))
        self.assertions += unchanged_checks(self._post, self._baseline, await in_thread(self._sandbox.snapshot))

    def _strays(self) -> str:
        return strays(self._baseline, self._sandbox.snapshot(), self._sandbox)

    def _settled(self, asserts: Asserts) -> Asserts:
        return settle(asserts, self._sandbox.project, self._harness_id)

    async def _accept(self, path: str, *more: Snapshot) -> None:
        """What stands at a path now, and the folders on the way there, are the fixture's own doing."""
        now = await in_thread(self._sandbox.snapshot)
        above = [path[:place] for place, char in enumerate(path) if char == "/"]
        new = {**{folder: now[folder] for folder in above if folder in now}, **part(now, path)}
        for known in (self._baseline, *more):
            for gone in part(known, path):
                del known[gone]
            known.update(new)


def _judged(earlier: list[Answer], others: list[Answer], post: Asserts | None) -> list[Assertion]:
    """How the answers of a step come out."""
    found = [one for answer in earlier for one in earlier_faults(answer)]
    return found + [one for answer in others for one in step_checks(answer, post)]


def _has_answer(step: Step) -> bool:
    return isinstance(step.do, (Action, Event, Kill))
