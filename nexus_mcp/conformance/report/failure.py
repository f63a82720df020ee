"""One assertion that does not hold, in words; the reports that have no table for it use these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.texts import one_line, shown
from nexus_mcp.conformance.result import MISSING

if TYPE_CHECKING:
    from nexus_mcp.conformance.result import Assertion


def place(assertion: Assertion) -> str:
    """Which step and which file, e.g. "step 2, .nexus/state/plan.json"; "answer" stands for the answer."""
    subject = assertion.file or ("answer" if assertion.path else "")
    return one_line(", ".join(part for part in (assertion.step, subject) if part), 300)


def seen(assertion: Assertion, limit: int = 200) -> str:
    """The value that was there; for a missing one the nearest node above it that exists."""
    if assertion.seen is not MISSING:
        return shown(assertion.seen, limit)
    nearest = f"; nearest parent {one_line(assertion.parent)}" if assertion.parent else ""
    return f"missing{nearest}"


def in_words(assertion: Assertion, limit: int = 200) -> str:
    """One line of at most `limit` characters and a few: kind, place, path and what is wrong."""
    head = ": ".join(dict.fromkeys(part for part in (assertion.kind, place(assertion)) if part))
    wrong = assertion.message
    if assertion.path:
        wrong = f"{assertion.path} {wrong or f'must be {shown(assertion.expected, limit)}'}"
    if assertion.seen is MISSING and assertion.parent:
        wrong += f"; nearest parent {assertion.parent}"
    return one_line(f"{head}: {wrong}", limit)


def note(assertion: Assertion) -> str:
    """What the expected and the seen value beside each other do not tell: in which way a matcher does not match."""
    return assertion.message if isinstance(assertion.expected, (dict, list)) else ""
