"""Which parameters of a fixture's calls and events its assertions look at.

A parameter is asserted when
- the JSONPath of an assertion names it;
- an expected value is its value, or a scalar inside it, or has one as a whole word of a text or pattern. Of these,
  blank texts, booleans, null, 0, 1 and -1 say too little; a number expected of a `.length` is about something else;
- its value, whatever that is, is expected of a member that its name ends in: of an `id`, for `issue_id`;
- the path of an asserted file ends in its value, or uses it: {HARNESS_ID} shows `harness_id`;
- the expected message of an error names it or shows its value.

The value and the message are looked for in its own answer, and the value in files: in the answer to something else it
may stand for another reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nexus_mcp.conformance import jsonpath
from nexus_mcp.conformance.fixture import WHOLE_TEXT, Action, Asserts, Event, Fixture, Kill, Parallel, Step
from nexus_mcp.conformance.matchers import mismatch

_TRIES = 1000
_ESCAPED = re.compile(r"\\(\W)|\\\w")


def all_asserts(fixture: Fixture) -> Iterator[Asserts]:
    """Those of every step, lanes included, and the postcondition."""
    for step in fixture.steps:
        yield from _asserts_of(step)
    yield fixture.postcondition


def _asserts_of(step: Step) -> Iterator[Asserts]:
    if isinstance(step.do, Parallel):
        for lane in step.do.lanes:
            for inner in lane:
                yield from _asserts_of(inner)
    yield step.asserts


def parameters(fixture: Fixture) -> dict[str, list[Any]]:
    """Every parameter by its name, with the values that it gets."""
    found: dict[str, list[Any]] = {}
    for asked in fixture.asked:
        for name, value in asked.params.items():
            found.setdefault(name, []).append(value)
    return found


def answers(fixture: Fixture) -> Iterator[tuple[Action | Event, list[Asserts]]]:
    """What is asked, and all that is said about its answer; the postcondition is about the last one, outside lanes."""
    found = [(step, *one) for step in fixture.steps for one in _answers_of(step)]
    last = next((step for step, *_ in reversed(found) if not isinstance(step.do, Parallel)), None)
    for step, asked, asserts in found:
        yield asked, [asserts, fixture.postcondition] if step is last else [asserts]


def _answers_of(step: Step) -> Iterator[tuple[Action | Event, Asserts]]:
    do = step.do
    if isinstance(do, Parallel):
        for lane in do.lanes:
            for inner in lane:
                yield from _answers_of(inner)
    elif isinstance(do, Kill):
        yield do.action, step.asserts
    elif isinstance(do, (Action, Event)):
        yield do, step.asserts


def asserted(fixture: Fixture) -> set[str]:
    """The parameters that some assertion looks at."""
    every = list(all_asserts(fixture))
    files = [(path, wanted or {}) for asserts in every for path, wanted in asserts.state_files.items()]
    inside = [pair for _, wanted in files for pair in wanted.items()]
    named = {
        segment
        for query in (*(query for query, _ in inside), *(query for one in every for query in one.return_value or ()))
        if query != WHOLE_TEXT
        for segment in jsonpath.compile(query).segments
    }
    return {
        name
        for asked, own in answers(fixture)
        for name, value in asked.params.items()
        if name in named
        or any(_in_path(path, name, value) for path, _ in files)
        or any(_tells(query, expected, name, value) for query, expected in inside)
        or any(_in_answer(asserts, name, value) for asserts in own)
    }


def _in_answer(asserts: Asserts, name: str, value: Any) -> bool:
    pairs = (asserts.return_value or {}).items()
    return any(_tells(query, expected, name, value) for query, expected in pairs) or any(
        _in_message(message, name, value) for message in _messages(asserts)
    )


def _tells(query: str, expected: Any, name: str, value: Any) -> bool:
    return _shows(query, expected, list(_telling(value))) or (_ends_in(query, name) and _equal(expected, value))


def _ends_in(query: str, name: str) -> bool:
    """Whether the query selects a member that the parameter's name ends in, such as `id` for `issue_id`."""
    last = jsonpath.compile(query).segments[-1:] if query != WHOLE_TEXT else ()
    return any(isinstance(segment, str) and name.endswith(f"_{segment}") for segment in last)


def _equal(expected: Any, value: Any) -> bool:
    return not isinstance(expected, dict) and mismatch(expected, value) == ""


def _telling(value: Any) -> Iterator[str | int | float]:
    """The scalars of a value that are not met by chance."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _telling(item)
    elif isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value not in (0, 1, -1):
        yield value


def _shows(query: str, expected: Any, telling: list[str | int | float]) -> bool:
    if isinstance(expected, list):
        return any(_shows(query, item, telling) for item in expected)
    texts = [one for one in telling if isinstance(one, str)]
    if isinstance(expected, dict):
        return any(_has_word(_plain(expected), one) for one in texts)
    if isinstance(expected, str):
        return any(one == expected or (len(one) > 2 and _has_word(expected, one)) for one in texts)
    if isinstance(expected, bool) or expected is None or query.endswith(".length"):
        return False
    return any(one in (expected, str(expected)) for one in telling)


def _plain(matcher: dict[str, Any]) -> str:
    """The texts of a matcher's pattern, as a reader sees them: without backslashes, a blank for a class such as \\b."""
    return _ESCAPED.sub(lambda match: match[1] or " ", matcher.get("pattern", ""))


def _has_word(text: str, word: str) -> bool:
    """Whether the text has the word with no letter, digit or _ around it, among its first _TRIES occurrences."""
    place = -1
    for _ in range(_TRIES):
        place = text.find(word, place + 1)
        if place < 0:
            return False
        around = text[max(0, place - 1) : place] + text[place + len(word) : place + len(word) + 1]
        if not any(char.isalnum() or char == "_" for char in around):
            return True
    return False


def _in_path(path: str, name: str, value: Any) -> bool:
    if name == "harness_id" and "{HARNESS_ID}" in path:
        return True
    return any(isinstance(one, str) and f"/{path}".endswith(f"/{one}") for one in _telling(value))


def _messages(asserts: Asserts) -> Iterator[str]:
    """The texts of error messages that are expected."""
    if asserts.error_contains is not None:
        yield asserts.error_contains
    for query, expected in (asserts.return_value or {}).items():
        if jsonpath.compile(query).segments == ("error",):
            text = _plain(expected) if isinstance(expected, dict) else expected
            if isinstance(text, str):
                yield text


def _in_message(message: str, name: str, value: Any) -> bool:
    shown = [name] if isinstance(value, (list, dict, bool)) or value is None else [name, str(value)]
    return any(_has_word(message, word) for word in shown if word.strip())
