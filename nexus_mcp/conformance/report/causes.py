"""Group failed fixtures by cause: one bug of a server usually fails many fixtures in the same way.

A cause is an assertion without its numbers, ids, times and paths of this machine. A fixture belongs to the cause that
explains the most failures, because a fixture that fails in several ways often shows one bug and its effects.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.checks import MUST_FAIL
from nexus_mcp.conformance.fixture import CORE, LEVELS
from nexus_mcp.conformance.matchers import KEYS_FOLLOW
from nexus_mcp.conformance.report.matrix import assertions, tool_of
from nexus_mcp.conformance.report.texts import format_value, in_words
from nexus_mcp.conformance.result import MISSING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from nexus_mcp.conformance.result import Assertion, FixtureResult

TITLE = 160
"""Characters of a title."""
_LOOKED_AT = 2000
_ITEMS = 5
_QUOTE = ' "'
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|…)')
EXPLAINED = "as the text)"
"""The end of a message with an explanation of failures.explain_text, which is in parentheses."""
_PATTERN = 60
LIST_TOOLS = "list_tools"
_TOOL = re.compile(r"^\$\.[a-z0-9_]+")
_WORD = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_VARYING = (
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)?"), "TIME"),
    (re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b|\b[0-9a-f]{16,}\b"), "ID"),
    (re.compile(r"(?:/[\w.@+~-]+){3,}"), "PATH"),
    (re.compile(r"has no tool \S+"), "has no tool"),
    (re.compile(r"[0-9]+"), "N"),
)
"""Parts of texts that differ from fixture to fixture, and their replacements."""


@dataclass(frozen=True)
class Cause:
    """One way to fail. `title` is the failed assertion of the first fixture in words, without its step.

    `results` are the fixtures, the simplest first, which is the example. `assertions` has the failed assertion of each,
    in the same order.
    """

    title: str
    results: tuple[FixtureResult, ...]
    assertions: tuple[Assertion, ...]

    @property
    def assertion(self) -> Assertion:
        """Return the failed assertion of the example."""
        return self.assertions[0]

    @property
    def example(self) -> FixtureResult:
        """Return the fixture that a report shows in full."""
        return self.results[0]

    @property
    def group(self) -> str:
        """Return core when a fixture of the core has this cause, else the group of the first fixture."""
        return CORE if any(result.group == CORE for result in self.results) else self.example.group

    @property
    def tools(self) -> dict[str, int]:
        """Return the tools and events with this cause, the most frequent first, each with its number of fixtures."""
        return dict(Counter(map(tool_of, self.results, self.assertions)).most_common())


def causes(results: Sequence[FixtureResult]) -> list[Cause]:
    """Return the causes of these failed fixtures: those of the core first, then by size, the largest first."""
    by_id = {result.test_id: result for result in sorted(results, key=lambda result: result.test_id)}
    failed = {test_id: _failed_by_key(result) for test_id, result in by_id.items()}
    members: dict[Hashable, set[str]] = {}
    for test_id, keys in failed.items():
        for key in keys:
            members.setdefault(key, set()).add(test_id)
    found = []
    while any(members.values()):
        # max returns the first of several with the same size: keys come in the order of the fixtures.
        key = max(members, key=lambda one: len(members[one]))
        ids = sorted(members[key], key=lambda test_id: _simplicity(by_id[test_id]))
        failures = tuple(failed[test_id][key] for test_id in ids)
        found.append(Cause(title(failures[0]), tuple(by_id[test_id] for test_id in ids), failures))
        for others in members.values():
            others.difference_update(ids)
    return sorted(found, key=lambda cause: (cause.group != CORE, -len(cause.results)))


def title(assertion: Assertion) -> str:
    """Return a failed assertion in one line, without its step: steps differ between fixtures with the same cause.

    A long pattern is left out, because the value that was seen says more. The text of an SDK is left out, too.
    """
    message = assertion.message
    head, _, why = message.rpartition(" (")
    if why.endswith(EXPLAINED):
        # The text of an SDK is long, and differs from call to call.
        message = f"{head.partition(':')[0].partition(_QUOTE)[0]}: {why[:-1]}"
    if isinstance(assertion.expected, dict) and len(str(assertion.expected.get("pattern", ""))) > _PATTERN:
        message = f"does not match the pattern, is {format_value(assertion.seen, _PATTERN)}"
    return in_words(replace(assertion, step="", parent="", message=message), TITLE)


def key_of(assertion: Assertion) -> Hashable:
    """Return the key that all failed assertions of one cause share."""
    where = (assertion.kind, general(assertion.file), general(assertion.path))
    if not assertion.path:
        message, _, why = assertion.message[:_LOOKED_AT].rpartition(" (")
        if why.endswith(EXPLAINED):
            # The wording of an SDK differs from call to call.
            return (*where, _QUOTED.sub('""', message), why)
        if assertion.message.startswith(MUST_FAIL):
            return (*where, MUST_FAIL)
        return (*where, general(assertion.message))
    if assertion.seen is MISSING:
        return (*where, "missing")
    if isinstance(assertion.expected, dict) and "keys" in assertion.expected and KEYS_FOLLOW in assertion.message:
        # Use the message, because the record of a large object is only its beginning.
        return (*where, general(assertion.message.partition(KEYS_FOLLOW)[0]))
    return (*where, _outline(assertion.expected), _outline(assertion.seen))


def general(text: str) -> str:
    """Return the beginning of the text, with the parts replaced that vary between fixtures.

    These parts are numbers, ids, times, paths, and the names of missing tools.
    """
    text = text[:_LOOKED_AT]
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text


def _simplicity(result: FixtureResult) -> tuple[int, int, int, str]:
    """Return the sort key of a fixture: level, number of failed assertions, number of requests, id."""
    return (LEVELS.index(result.level), len(result.failures), len(result.exchanges), result.test_id)


def _failed_by_key(result: FixtureResult) -> dict[Hashable, Assertion]:
    found: dict[Hashable, Assertion] = {}
    looks = {exchange.step for exchange in result.exchanges if exchange.request == LIST_TOOLS}
    for assertion in assertions(result):
        if not assertion.passed:
            found.setdefault(key_of(_about_any_tool(assertion) if assertion.step in looks else assertion), assertion)
    return found


def _about_any_tool(assertion: Assertion) -> Assertion:
    """Return an assertion about a list of tools without the name of the tool in its JSONPath."""
    return replace(assertion, path=_TOOL.sub("$.TOOL", assertion.path))


def _outline(value: Any) -> Hashable:
    """Return a value without the parts that vary.

    A word such as `pending` stays. A text with numbers, ids, times or paths stays with these replaced. Any other text
    becomes "text".
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return general(value) if _WORD.fullmatch(value) or general(value) != value else "text"
    if isinstance(value, list):
        return ("array", *(_outline(item) for item in value[:_ITEMS]))
    if isinstance(value, dict):
        return ("object", *sorted((str(name), str(_outline(member))) for name, member in value.items()))
    return type(value).__name__
