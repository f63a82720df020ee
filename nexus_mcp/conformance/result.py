"""Define the result of a run as plain data, which the runner fills and reporters render."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PASSED = "passed"
FAILED = "failed"
NOT_RUN = "not run"

CHECKS = {
    "answer": "values in the answer",
    "shape": "exact keys of an answer or a file (the keys matcher)",
    "error": "whether the call fails, and with which message",
    "files": "state files afterwards",
    "unchanged": "files that must not change",
    "schema": "the answer matches the target's own output schema",
    "process": "the target answers, keeps running, and stays within bounds and inside its project",
}
"""The kinds of assertions, which are the columns of the report's matrix."""


class _Missing:
    """The type of MISSING, the value of a node that does not exist."""

    def __repr__(self) -> str:
        return "(missing)"


MISSING = _Missing()


@dataclass(frozen=True)
class Cut:
    """The evidence that was left out: `characters` of texts, and `items` of arrays and objects."""

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
class Leftover:
    """A path that a run could not delete, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class Assertion:
    """One assertion and its outcome.

    `kind` is one of CHECKS. `step` is for example "step 2", or "" for the postcondition. `file` is a path from the
    project root, "" for the answer. `path` is a JSONPath, "text" for the whole text of a file, or "". `seen` is MISSING
    if there is no node; then `parent` is the nearest existing node above it. `message` is the fault in one line, ""
    when the assertion passed. `cut` counts the parts left out of `expected` and `seen`.
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
    """One request and its response. `request` is for example "task_add", "event agent_spawn", "restart" or "kill
    task_close".

    `answer` is the payload, None when there was none. `error` is then the reason why there was no response, the message
    of a protocol error, or the text of the response. `description` is that of the event in the fixture. `cut` counts
    the parts that were left out of the answer, the error and `params`.
    """

    step: str
    request: str
    params: dict[str, Any] = field(default_factory=dict)
    answer: Any = None
    is_error: bool = False
    error: str = ""
    seconds: float = 0.0
    description: str = ""
    cut: Cut = Cut()

    @property
    def heading(self) -> str:
        """Return `step 2 event session_end (the harness shuts down)`: step, request and description."""
        why = f"({self.description})" if self.description else ""
        return " ".join(filter(None, (self.step, self.request, why)))


@dataclass(frozen=True)
class FixtureResult:
    """The result of one fixture. `reason` says why it was not run, or lists the kinds of failed assertions.

    `tools` are the tools and the events ("event agent_spawn") that the fixture uses, by their names in the contract,
    and "command run" if it runs an executor. `files` are the text files of the project after a failure, shortened.
    `repeats` counts the runs; the first failed one is shown. `expected` is the reason of the entry in the expected
    failures, "" without one. `cut` counts the parts left out of the evidence, which has bounds (limits.py). `level` is
    the first level that has the fixture. `missing_tools` are the tools for lack of which the fixture was not run, by
    their names in the contract.
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
    level: str = "full"
    missing_tools: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Assertion, ...]:
        """Return the assertions that failed."""
        return tuple(assertion for assertion in self.assertions if not assertion.passed)


@dataclass(frozen=True)
class RunResult:
    """The result of a whole run. `target` is the target as the user named it, `server` the name and version it reports.

    `left` lists the paths in the folder of the run that could not be deleted. `level` is the level of the run, "" if
    none was chosen. `is_selection` is true if not all fixtures of that level were chosen. `other_tools` are the first
    tools of the target that no fixture knows, by the target's names, shortened.
    """

    target: str
    server: str
    protocol: str
    started_at: str
    seconds: float
    results: tuple[FixtureResult, ...]
    left: tuple[Leftover, ...] = ()
    level: str = ""
    is_selection: bool = False
    other_tools: tuple[str, ...] = ()

    @property
    def missing_tools(self) -> tuple[str, ...]:
        """Return the tools that the target lacks, so that fixtures were not run, by their names in the contract."""
        return tuple(sorted({tool for result in self.results for tool in result.missing_tools}))

    @property
    def cut(self) -> Cut:
        """Return the amount that was left out of the evidence of all fixtures."""
        return sum((result.cut for result in self.results), Cut())

    def having(self, status: str) -> tuple[FixtureResult, ...]:
        """Return the results with this status."""
        return tuple(result for result in self.results if result.status == status)

    @property
    def unexpected_failures(self) -> tuple[FixtureResult, ...]:
        """Return the failures that the expected failures do not name."""
        return tuple(result for result in self.having(FAILED) if not result.expected)

    @property
    def healed_fixtures(self) -> tuple[FixtureResult, ...]:
        """Return the fixtures that pass although the expected failures name them."""
        return tuple(result for result in self.having(PASSED) if result.expected)

    @property
    def good(self) -> bool:
        """Return whether nothing failed unexpectedly, no expected failure passes, and everything was deleted."""
        return not self.unexpected_failures and not self.healed_fixtures and not self.left
