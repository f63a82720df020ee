"""A fixture that failed, as pytest shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.failure import in_words, note, place, seen
from nexus_mcp.conformance.report.texts import one_line, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.conformance.result import Assertion, FixtureResult

LIMIT = 600
"""Characters of a value, of the params of a call, of an answer."""


class Failure(Exception):
    """The target failed a fixture."""

    def __init__(self, result: FixtureResult) -> None:
        super().__init__(result.test_id)
        self.result = result


def text(result: FixtureResult) -> str:
    """What the fixture says, what does not hold, and what was asked and answered on the way."""
    lines = [one_line(result.description, LIMIT), one_line(result.source, LIMIT), ""]
    if not result.failures:
        lines.append(one_line(result.reason, LIMIT))
    for assertion in result.failures:
        lines += _assertion(assertion)
    for exchange in result.exchanges:
        mark = "error" if exchange.is_error else "answer"
        answer = one_line(exchange.error, LIMIT) or shown(exchange.answer, LIMIT)
        lines += ["", one_line(f"{exchange.heading} ", LIMIT) + shown(exchange.params, LIMIT), f"  {mark}: {answer}"]
    return "\n".join(lines)


def _assertion(assertion: Assertion) -> Iterator[str]:
    if not assertion.path:
        yield in_words(assertion, LIMIT)
        return
    head = dict.fromkeys((assertion.kind, place(assertion), one_line(assertion.path, LIMIT)))
    yield ": ".join(head)
    yield f"    expected: {shown(assertion.expected, LIMIT)}"
    yield f"    seen:     {seen(assertion, LIMIT)}"
    if note(assertion):
        yield f"    {one_line(note(assertion), LIMIT)}"
