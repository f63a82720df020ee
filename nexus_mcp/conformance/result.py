"""What a run found out, as plain data: the runner makes it, the reporters show it, nothing in here prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PASSED = "passed"
FAILED = "failed"
NOT_RUN = "not run"

CHECKS = {
    "answer": "values in the answer",
    "shape": "exact members of an answer or a file (the keys matcher)",
    "error": "the call fails, or does not, with this message",
    "files": "state files afterwards",
    "unchanged": "files left as they were",
    "schema": "the answer keeps the target's own output schema",
    "process": "the target answers, lives, stays within bounds and inside its project",
}
"""The kinds of assertions, as the columns of the report's matrix."""


class _Missing:
    """Stands for a node that is not there."""

    def __repr__(self) -> str:
        return "(missing)"


MISSING = _Missing()


@dataclass(frozen=True)
class Cut:
    """How much of the evidence was left out: `characters` of texts, and `items` of arrays and objects."""

    characters: int = 0
    items: int = 0

    def __add__(self, other: Cut) -> Cut:
        return Cut(self.characters + other.characters, self.items + other.items)

    def __bool__(self) -> bool:
        return bool(self.characters or self.items)

    def __str__(self) -> str:
        parts = [
            f"{number:,} {name}" for number, name in ((self.characters, "characters"), (self.items, "items")) if number
        ]
        return " and ".join(parts)


@dataclass(frozen=True)
class Left:
    """What a run could not delete: a path, and why it could not."""

    path: str
    reason: str


@dataclass(frozen=True)
class Assertion:
    """One assertion and how it came out.

    `kind` is one of CHECKS. `step` is "" for the postcondition, else "step 2". `file` is a path from the project root,
    "" for the answer; `path` is a JSONPath, or "". `seen` is MISSING where there is no node, and `parent` is then the
    nearest node above it that exists. `message` says in one line what is wrong, "" when it holds.
    `cut` is what was left out of the two values.
    """

    kind: str
    passed: bool
    message: str = ""
    step: str = ""
    file: str = ""
    path: str = ""
    expected: Any = None
    seen: Any = None
    parent: str = ""
    cut: Cut = Cut()


@dataclass(frozen=True)
class Exchange:
    """What was asked, and what came back. `asked` is "task_add", "event agent_spawn", "restart", "kill task_close".

    `answer` is the payload, None when there was none; `error` says why not, or is the text of a protocol error.
    `description` is that of the event in the fixture, `cut` what was left out of the answer, the error and `params`.
    """

    step: str
    asked: str
    params: dict[str, Any] = field(default_factory=dict)
    answer: Any = None
    is_error: bool = False
    error: str = ""
    seconds: float = 0.0
    description: str = ""
    cut: Cut = Cut()

    @property
    def heading(self) -> str:
        """`step 2 event session_end (the harness shuts down)`: which step, what was asked, and why."""
        why = f"({self.description})" if self.description else ""
        return " ".join(filter(None, (self.step, self.asked, why)))


@dataclass(frozen=True)
class FixtureResult:
    """What came of one fixture. `reason` says why it was not run, or in a word why it failed.

    `tools` are the abstract names of the tools and the events ("event agent_spawn") that it asks. `files` are the
    text files of the project after a failure, shortened. `repeats` counts the runs that were made; the first that
    failed is shown. `expected` is the reason of the entry in the expected failures, "" when there is none. `cut` is
    what was left out of the evidence, which has bounds (limits.py).
    """

    test_id: str
    description: str
    source: str
    group: str
    tools: tuple[str, ...]
    status: str
    reason: str = ""
    assertions: tuple[Assertion, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    stderr: str = ""
    seconds: float = 0.0
    repeats: int = 1
    expected: str = ""
    cut: Cut = Cut()

    @property
    def failures(self) -> tuple[Assertion, ...]:
        """The assertions that do not hold."""
        return tuple(assertion for assertion in self.assertions if not assertion.passed)


@dataclass(frozen=True)
class RunResult:
    """A whole run. `target` is how it was asked for, `server` the name and version it gives itself.

    `left` is what of the run's own folder could not be deleted, empty when all is gone.
    """

    target: str
    server: str
    protocol: str
    started_at: str
    seconds: float
    results: tuple[FixtureResult, ...]
    left: tuple[Left, ...] = ()

    @property
    def cut(self) -> Cut:
        """What was left out of the evidence of all fixtures."""
        return sum((result.cut for result in self.results), Cut())

    def having(self, status: str) -> tuple[FixtureResult, ...]:
        """The results with this status."""
        return tuple(result for result in self.results if result.status == status)

    @property
    def unexpected(self) -> tuple[FixtureResult, ...]:
        """Failures that no entry of the expected failures names."""
        return tuple(result for result in self.having(FAILED) if not result.expected)

    @property
    def healed(self) -> tuple[FixtureResult, ...]:
        """Fixtures that pass although the expected failures name them."""
        return tuple(result for result in self.having(PASSED) if result.expected)

    @property
    def good(self) -> bool:
        """Nothing failed that was not expected to, nothing passes that was expected to fail, nothing is left behind."""
        return not self.unexpected and not self.healed and not self.left
