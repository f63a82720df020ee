"""Render junit.xml: a test suite for each section (see matrix.section), a test case for each fixture.

The file is well-formed for any text of a target: characters that XML 1.0 forbids are escaped before anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from nexus_mcp.conformance.report.causes import causes
from nexus_mcp.conformance.report.matrix import assertions, by_section, level_note
from nexus_mcp.conformance.report.texts import (
    block,
    cut_note,
    format_indented,
    format_leftovers,
    format_rules,
    in_words,
    one_line,
    shorten,
)
from nexus_mcp.conformance.result import FAILED, NOT_RUN
from nexus_mcp.wording import rest_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.conformance.report.causes import Cause
    from nexus_mcp.conformance.result import FixtureResult, RunResult

LONGEST = 4000
"""The maximum number of characters of one parameter object, answer, error, file, stderr or description."""
HEALED = "passed, but the expected failures name it: remove the entry"


def to_junit(run: RunResult) -> str:
    """Return the text of junit.xml.

    A fixture that was not run and an expected failure count as skipped. A fixture that passed, but is expected to fail,
    counts as failed. If paths could not be deleted, a further suite has one failed test that names them.
    """
    sections = by_section(run.results)
    name = f"conformance of {run.server or run.target}"
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites name={_attribute(name)} {_counts(run.results, run.seconds, len(run.left) > 0)}>",
    ]
    facts = list(_properties(run))
    shared = {result.test_id: cause for cause in causes(run.unexpected_failures) for result in cause.results}
    for section, results in sections.items():
        seconds = sum(result.seconds for result in results)
        head = f"name={_attribute(section)} timestamp={_attribute(run.started_at)}"
        lines += [f"  <testsuite {head} {_counts(tuple(results), seconds)}>", *facts]
        for result in results:
            lines += _case(section, result, shared.get(result.test_id))
        lines.append("  </testsuite>")
    if run.left:
        text = _content("\n".join(format_leftovers(run.left)))
        lines.append('  <testsuite name="left behind" tests="1" failures="1" errors="0" skipped="0" time="0.000">')
        lines.append(f'    <testcase classname="conformance" name="left behind"><failure>{text}</failure></testcase>')
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _properties(run: RunResult) -> Iterator[str]:
    facts = {"level": level_note(run).removeprefix("level "), "missing tools": ", ".join(run.missing_tools)}
    known = {name: value for name, value in facts.items() if value}
    if known:
        yield "    <properties>"
        yield from (f'      <property name="{name}" value={_attribute(value)}/>' for name, value in known.items())
        yield "    </properties>"


def _case(section: str, result: FixtureResult, cause: Cause | None) -> Iterator[str]:
    head = f"classname={_attribute(f'conformance.{section}')} name={_attribute(result.test_id)}"
    yield f'    <testcase {head} file={_attribute(result.source)} time="{result.seconds:.3f}">'
    if _fails(result):
        kind = f" type={_attribute(cause.title)}" if cause else ""
        yield f"      <failure message={_attribute(_first(result))}{kind}>{_content(_story(result, cause))}</failure>"
    elif _is_skipped(result):
        reason = f"expected failure: {result.expected}" if result.status == FAILED else f"not run: {result.reason}"
        yield f"      <skipped message={_attribute(reason)}/>"
    yield "    </testcase>"


def _fails(result: FixtureResult) -> bool:
    return bool(result.expected) != (result.status == FAILED) and not _is_skipped(result)


def _is_skipped(result: FixtureResult) -> bool:
    return result.status == NOT_RUN or (result.status == FAILED and bool(result.expected))


def _counts(results: tuple[FixtureResult, ...], seconds: float, more: int = 0) -> str:
    failures, skipped = sum(map(_fails, results)) + more, sum(map(_is_skipped, results))
    return f'tests="{len(results) + more}" failures="{failures}" errors="0" skipped="{skipped}" time="{seconds:.3f}"'


def _first(result: FixtureResult) -> str:
    failures = [in_words(assertion) for assertion in assertions(result) if not assertion.passed]
    more = "".join(f" ({text})" for text in rest_line(len(failures) - 1))
    return f"{failures[0]}{more}" if failures else HEALED


def _story(result: FixtureResult, cause: Cause | None) -> str:
    """Return all about a failure: description, rules, failed assertions, requests and responses, files, stderr.

    If the report shows another failure as the example of the same cause, return only the first three, and the id of
    that failure.
    """
    parts = [one_line(result.description, LONGEST), *filter(None, [format_rules(result.test_id)]), ""]
    parts += [f"- {in_words(assertion, 600)}" for assertion in assertions(result) if not assertion.passed]
    if cause and cause.example is not result:
        return "\n".join([*parts, "", f"The same cause as {cause.example.test_id}, which has requests and files."])
    for exchange in result.exchanges:
        parts += ["", f"{one_line(exchange.heading, LONGEST)} {format_indented(exchange.params, LONGEST)}"]
        mark = "error" if exchange.is_error else "answer"
        parts.append(f"{mark}: {one_line(exchange.error, LONGEST) or format_indented(exchange.answer, LONGEST)}")
    for path, text in sorted(result.files.items()):
        parts += ["", f"{one_line(path)}:", shorten(text, LONGEST)]
    if result.stderr:
        parts += ["", "stderr:", shorten(result.stderr, LONGEST)]
    if result.cut:
        parts += ["", cut_note(result.cut)]
    return "\n".join(parts)


def _attribute(text: str) -> str:
    return quoteattr(one_line(text, 1000))


def _content(text: str) -> str:
    # U+FFFE and U+FFFF are not printable either, so only characters of XML 1.0 are left.
    return escape(block(text))
