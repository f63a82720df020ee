"""Explain a fixture to the author of a server: its description, what it sends, what it expects and how to run it.

A rule of the contract is explained by its text and by the fixtures that judge it.
"""

from __future__ import annotations

import json
import shlex
import textwrap
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.authoring.contract import rules_of
from nexus_mcp.conformance.fixture import (
    CORE,
    WHOLE_TEXT,
    Action,
    Event,
    Kill,
    ListTools,
    Parallel,
    Restart,
    Run,
    WriteFile,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nexus_mcp.conformance.authoring.contract import Rule
    from nexus_mcp.conformance.fixture import Asserts, Fixture, Special, StateFiles, Step

VALUE = 2000
"""Characters of a value that are shown."""
WIDTH = 100
"""Columns of the text of a rule."""


def explain(fixture: Fixture, paths: Sequence[str] = ()) -> str:
    """Return the explanation of a fixture, in lines of plain text. `paths` are the files and folders from which it
    was loaded, if it is none of the packaged ones.
    """
    kinds = [f"level {fixture.level}", *([f"group {fixture.group}"] if fixture.group != CORE else [])]
    lines = [fixture.test_id, f"  {fixture.description}", "", f"{', '.join(kinds)}; {fixture.source}"]
    lines += _needs(fixture)
    if why := fixture.covers.get("description"):
        lines.append(f"Covers: {why}")
    lines += _rules(fixture.test_id)
    lines += ["", "Before:", *(f"  {line}" for line in _precondition(fixture))]
    for number, step in enumerate(fixture.steps, 1):
        lines += ["", *_step(step, "" if fixture.single else f"Step {number}: ")]
    after = list(_asserts(fixture.postcondition))
    if after:
        lines += ["", "Afterwards:", *(f"  {line}" for line in after)]
    lines += [
        "",
        "In every fixture: a call fails only where an error is expected, the text block is the JSON of",
        "structuredContent, and no file outside .nexus/ changes.",
        "",
        f"Run it alone: nexus-mcp conformance run {' '.join(_options(fixture, paths))}",
    ]
    return "\n".join(lines)


def _options(fixture: Fixture, paths: Sequence[str]) -> Iterator[str]:
    """Yield the options with which the fixture runs alone."""
    if fixture.needs_server or not fixture.needs_run:
        yield '--server "…"'
    if fixture.needs_events:
        yield '--event-command "… {type}"'
    if fixture.needs_run:
        yield '--run-command "… {status}"'
    yield from (f"--fixtures {shlex.quote(path)}" for path in paths)
    yield f"--only {fixture.test_id}"


def explain_rule(rule: Rule, fixtures: Iterable[Fixture]) -> str:
    """Return the explanation of a rule: its text, and the ids of the given fixtures that judge it, or the reason
    why none does.
    """
    lines = [rule.id, *_wrap(rule.text, "  ", "  ")]
    if rule.reason:
        return "\n".join([*lines, "", *_wrap(f"Not judged: {rule.reason}.")])
    judging = [fixture for fixture in fixtures if rule.is_judged_by(fixture.test_id)]
    if not judging:
        return "\n".join([*lines, "", "None of the chosen fixtures judges it."])
    lines += ["", "These fixtures judge it:", *(f"  {one.test_id}  {one.level}; {one.source}" for one in judging)]
    return "\n".join([*lines, "", "To see what one of them sends and expects: nexus-mcp conformance explain FIXTURE"])


def _rules(test_id: str) -> Iterator[str]:
    """Yield lines with the rules that the fixture judges, and their texts; nothing if it judges none."""
    found = rules_of(test_id)
    if found:
        yield from ("", "Judges these rules of the contract:")
    for rule in found:
        yield from _wrap(f"{rule.id}: {rule.text}", "  ", "    ")


def _wrap(text: str, first: str = "", further: str = "") -> list[str]:
    """Return a text in lines, with the indents `first` and `further`. No word is broken."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=further, break_on_hyphens=False, break_long_words=False
    )


def _needs(fixture: Fixture) -> Iterator[str]:
    if fixture.repeat > 1:
        yield f"Runs {fixture.repeat} times, each time in a new project."
    if fixture.needs_events:
        yield "Needs --event-command."
    if fixture.needs_run:
        yield "Needs an executor of tasks (--run-command)."
    if fixture.needs_process:
        yield "Needs a server that the runner starts (--server)."


def _precondition(fixture: Fixture) -> Iterator[str]:
    yield "an empty git repository, branch main" if fixture.git else "an empty folder in no git repository"
    for path, value in fixture.state_files.items():
        if value is None:
            yield f"{path} does not exist"
        else:
            yield f"{path} has {_json(value)}"
    for path, special in fixture.files.items():
        yield f"{path} is {_special(special)}"
    if fixture.executor:
        yield f"the agents of the executor and its settings: {_json(fixture.executor)}"


def _special(special: Special) -> str:
    if special.symlink is not None:
        return f"a link to {special.symlink}"
    return "an empty folder" if special.content is None else f"a file with {_bytes(special.content)}"


def _bytes(content: bytes) -> str:
    try:
        return _json(content.decode())
    except UnicodeDecodeError:
        return f"{len(content)} bytes that are no UTF-8"


def _step(step: Step, label: str) -> Iterator[str]:
    do = step.do
    times = f", {step.times} times" if step.times > 1 else ""
    yield f"{label}{_request(do)}{times}{f' ({step.description})' if step.description else ''}"
    if isinstance(do, Parallel):
        for number, lane in enumerate(do.lanes, 1):
            for inner in lane:
                yield from (f"  {line}" for line in _step(inner, f"server {number}: "))
    yield from (f"  {line}" for line in _asserts(step.asserts))


def _request(do: Any) -> str:
    if isinstance(do, Action):
        return f"call {do.tool} {_json(do.params)}"
    if isinstance(do, Event):
        return f"event {do.type} {_json(do.params)}{f' ({do.description})' if do.description else ''}"
    if isinstance(do, ListTools):
        return f"look at the list of tools: {', '.join(do.tools)}"
    if isinstance(do, Kill):
        again = "; without an answer the call is repeated" if do.retry else ""
        return f"{_request(do.action)}, and kill the server within {do.within_ms:g} ms{again}"
    if isinstance(do, Restart):
        return "end the server by closing its stdin, and start it again"
    if isinstance(do, WriteFile):
        if do.symlink is not None:
            return f"another program makes {do.path} a link to {do.symlink}"
        return (
            f"another program deletes {do.path}"
            if do.content is None
            else f"another program writes {do.path}: {_bytes(do.content)}"
        )
    if isinstance(do, Run):
        return " ".join(("run the executor to its end", *do.words))
    if isinstance(do, Parallel):
        return f"{len(do.lanes)} servers at once"
    raise TypeError(f"no words for a step of type {type(do).__name__}")


def _asserts(asserts: Asserts) -> Iterator[str]:
    if asserts.error_contains is not None:
        yield f"the answer is an error, and its message has {_json(asserts.error_contains)}"
    elif asserts.error is not None:
        yield "the answer is an error" if asserts.error else "the answer is no error"
    yield from (f"answer: {path} {_describe_expected(value)}" for path, value in (asserts.return_value or {}).items())
    yield from (f"whole result: {path} {_describe_expected(value)}" for path, value in (asserts.result or {}).items())
    yield from _files(asserts.state_files)
    if asserts.unchanged is True:
        yield "no file has changed"
    elif asserts.unchanged:
        yield f"unchanged: {', '.join(asserts.unchanged)}"


def _files(files: StateFiles) -> Iterator[str]:
    for path, wanted in files.items():
        if not wanted:
            yield f"{path} {'does not exist' if wanted is None else 'exists'}"
        for query, value in (wanted or {}).items():
            yield f"{path}: {'its text' if query == WHOLE_TEXT else query} {_describe_expected(value)}"


def _describe_expected(value: Any) -> str:
    """Return an expected value in words."""
    if not isinstance(value, dict):
        return f"is {_json(value)}{' or missing' if value is None else ''}"
    parts = [f"is of type {value['type']}"] if "type" in value else []
    words = {"min": "is at least", "max": "is at most", "minLength": "has a length of at least", "pattern": "matches"}
    parts += [f"{text} {_json(value[name])}" for name, text in words.items() if name in value]
    if "keys" in value:
        parts.append(f"has exactly the keys {', '.join(value['keys']) or '(none)'}")
    return " and ".join(parts)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE else f"{text[:VALUE]}… ({len(text):,} characters in all)"
