"""Read the verdict of a verifier or reviewer, and derive the outcome of the attempt from it.

The field names are those of the verdict file of nax, another program that runs agents (specification v0.10.1), so that
tools for nax work. The optional fields at the end are ours. schemas/run/verdict.schema.json is generated from this
model.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, model_validator

from nexus_mcp.run.outcome import Category, Outcome

MAX_BYTES = 1 << 20
"""A larger text does not count as a verdict."""
_LONGEST_REASON = 4000
_WORDS = {"pass": True, "accept": True, "fail": False, "accept after musts": False, "reject": False}
_Text = Annotated[str, Field(max_length=20_000)]
_Number = Annotated[int, Field(ge=0, strict=True)]


class _Part(BaseModel):
    # A model writes the verdict: unknown fields are ignored, and values are not converted.
    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        """Drop null fields: some harnesses demand all fields, so a model writes null for a field without a value."""
        return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value


class Tests(_Part):
    """The results of the tests that the verifier ran."""

    allPassing: StrictBool
    passCount: _Number = 0
    failCount: _Number = 0


class TestModifications(_Part):
    """Whether tests were changed, and whether that was legitimate."""

    detected: StrictBool = False
    files: list[_Text] = []
    legitimate: StrictBool = True
    reasoning: _Text = ""


class Criterion(_Part):
    """One acceptance criterion."""

    criterion: _Text
    met: StrictBool
    note: _Text = ""


class AcceptanceCriteria(_Part):
    """Whether all acceptance criteria are met."""

    allMet: StrictBool = True
    criteria: list[Criterion] = []


class Quality(_Part):
    """How good the code is."""

    rating: Literal["good", "acceptable", "poor"] = "acceptable"
    issues: list[_Text] = []


class Finding(_Part):
    """One finding of a reviewer."""

    severity: Literal["must", "should", "could"]
    place: _Text = ""
    what: _Text
    how: _Text = ""
    want: _Text = ""


class Evidence(_Part):
    """A command that shows that a criterion is met, and its output."""

    criterion: _Text = ""
    command: _Text
    output: _Text = ""


class Verdict(_Part):
    """A verdict, version 1. `version`, `approved` and `tests` are required: a text without them is no verdict."""

    version: Literal[1]
    approved: StrictBool
    tests: Tests
    testModifications: TestModifications = TestModifications()
    acceptanceCriteria: AcceptanceCriteria = AcceptanceCriteria()
    quality: Quality = Quality()
    fixes: list[_Text] = []
    reasoning: _Text = ""
    findings: list[Finding] = []
    evidence: list[Evidence] = []
    agent: str | None = None
    agent_id: str | None = None


def read(text: str | bytes) -> Verdict | None:
    """Return the verdict in a text, None if it is too long, no JSON, or has a missing or invalid field."""
    if len(text) > MAX_BYTES:
        return None
    try:
        return Verdict.model_validate_json(text)
    except (ValidationError, RecursionError):
        return None


def fault(text: str | bytes) -> str:
    """Return why a text is no verdict, without quoting it."""
    if len(text) > MAX_BYTES:
        return f"it is larger than the {MAX_BYTES >> 20} MiB that are read."
    try:
        Verdict.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))[:200]
        return f"{place}: {first['msg']}." if place else f"{first['msg'][:200]}."
    except RecursionError:
        return "it is nested too deeply."
    return "it is one."


def in_message(message: str) -> Verdict | None:
    """Return the verdict in a last message: the JSON object in it, or the fixed form `VERDICT: pass`; else None.

    The fixed form of our testers and reviewers has `pass`, `fail` or `cannot tell`, or `accept`, `accept after musts`
    or `reject`; `cannot tell` is no verdict.
    """
    start, end = message.find("{"), message.rfind("}")
    found = read(message[start : end + 1]) if 0 <= start < end else None
    if found is not None:
        return found
    for line in message.splitlines():
        head, colon, rest = line.strip().lstrip("*").partition(":")
        word = rest.strip().strip("*.").casefold()
        if colon and head.strip("* ").casefold() == "verdict" and word in _WORDS:
            approved = _WORDS[word]
            reasoning = "" if approved else message[:_LONGEST_REASON]
            return Verdict(version=1, approved=approved, tests=Tests(allPassing=True), reasoning=reasoning)
    return None


def categorize(verdict: Verdict | None, *, checks_ok: bool) -> Outcome:
    """Return the outcome of an attempt whose sessions ended well, from the verdict and from the project's checks.

    If the checks do not pass, the attempt never succeeds. The order of the rules and the reason texts are nax's.
    """
    if verdict is None:
        return (
            _success() if checks_ok else _failure("tests-failing", "Tests failing after all sessions (no verdict file)")
        )
    if verdict.approved:
        return (
            _success()
            if checks_ok
            else _failure("tests-failing", "Tests failing: the verdict approves, our checks fail")
        )
    changes = verdict.testModifications
    if changes.detected and not changes.legitimate:
        files = ", ".join(changes.files)
        reason = f"Verifier rejected: illegitimate test modifications in {files}. {changes.reasoning}"
        return _failure("verifier-rejected", reason)
    if not verdict.tests.allPassing:
        reason = f"Tests failing: {verdict.tests.failCount} failures. {verdict.reasoning}"
        return _failure("tests-failing", reason, failures=verdict.tests.failCount)
    if not verdict.acceptanceCriteria.allMet:
        unmet = "; ".join(one.criterion for one in verdict.acceptanceCriteria.criteria if not one.met)
        return _failure("verifier-rejected", f"Acceptance criteria not met: {unmet}")
    if verdict.quality.rating == "poor":
        return _failure("verifier-rejected", f"Poor code quality: {'; '.join(verdict.quality.issues)}")
    return _failure("verifier-rejected", verdict.reasoning or "Verifier rejected without specific reason")


def _success() -> Outcome:
    return Outcome()


def _failure(category: Category, reason: str, failures: int | None = None) -> Outcome:
    return Outcome(category=category, reason=reason.strip(), failures=failures)
