"""Which of two places that speak of one answer has the say: its step, or the postcondition. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nexus_mcp.conformance import jsonpath
from nexus_mcp.conformance.checks import answer_checks
from nexus_mcp.conformance.fixture import Asserts
from nexus_mcp.conformance.result import Assertion

if TYPE_CHECKING:
    from nexus_mcp.conformance.reply import Reply
    from nexus_mcp.conformance.trial.asking import Answer


def step_checks(answer: Answer, postcondition: Asserts | None) -> list[Assertion]:
    """How a step's answer comes out. `postcondition` when that is about it too: it may say then that it is an error."""
    found = answer_checks(answer.asserts, answer.reply, answer.label)
    if postcondition is not None and _speaks_of_error(postcondition) and not _speaks_of_error(answer.asserts):
        found = _without("error", found)
    return found + described(answer)


def earlier_faults(answer: Answer) -> list[Assertion]:
    """What is wrong with an answer that others of the same step follow: those are asserted, this one is only no error,
    or one as they are."""
    asserts = answer.asserts
    said = asserts if _speaks_of_error(asserts) else replace(asserts, return_value=None, result=None)
    checks = answer_checks(said, answer.reply, answer.label)
    return [one for one in checks if not one.passed and one.kind in ("error", "schema")]


def end_checks(postcondition: Asserts, reply: Reply) -> list[Assertion]:
    """How the last answer of several steps comes out against the postcondition; its step has judged it already."""
    found = _without("schema", answer_checks(postcondition, reply))
    return found if _speaks_of_error(postcondition) else _without("error", found)


def described(answer: Answer) -> list[Assertion]:
    """That the answer keeps the target's own output schema, when it does and there is one."""
    if answer.described and not answer.reply.schema_fault:
        return [Assertion("schema", passed=True, step=answer.label)]
    return []


def _speaks_of_error(asserts: Asserts) -> bool:
    paths = asserts.return_value or ()
    named = any(jsonpath.compile(path).segments[:1] == ("error",) for path in paths)
    return asserts.error is not None or asserts.error_contains is not None or named


def _without(kind: str, assertions: list[Assertion]) -> list[Assertion]:
    return [assertion for assertion in assertions if assertion.kind != kind]
