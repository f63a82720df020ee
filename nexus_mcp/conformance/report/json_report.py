"""Render result.json, described by schemas/conformance/result.schema.json, and badge.json, in shields.io's format."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.authoring.contract import rules_of
from nexus_mcp.conformance.report.causes import causes
from nexus_mcp.conformance.report.matrix import last_line, level_note, totals
from nexus_mcp.conformance.report.texts import escape, plain
from nexus_mcp.conformance.result import MISSING

if TYPE_CHECKING:
    from nexus_mcp.conformance.report.causes import Cause
    from nexus_mcp.conformance.result import Assertion, Exchange, FixtureResult, RunResult

FORMAT = 1
"""Increases when a field changes its meaning or disappears."""
LABEL = "nexus conformance"


def to_json(run: RunResult) -> str:
    """Return the text of result.json, fixtures in the order of their ids, with all recorded evidence."""
    return json_text(document(run))


def json_text(value: Any) -> str:
    """Return the text of a JSON file with this value."""
    # Escaped as in JSON: lone surrogates, which UTF-8 cannot encode, and characters that could mislead a terminal.
    return escape(json.dumps(value, ensure_ascii=False, indent=2), "\n") + "\n"


def document(run: RunResult) -> dict[str, Any]:
    """Return the run as a JSON value."""
    return {
        "format": FORMAT,
        **{name: getattr(run, name) for name in ("target", "server", "protocol", "started_at")},
        "seconds": round(run.seconds, 3),
        "good": run.good,
        "level": run.level,
        "is_selection": run.is_selection,
        "summary": last_line(run),
        "totals": asdict(totals(run)),
        "missing_tools": list(run.missing_tools),
        "other_tools": list(run.other_tools),
        "cut": asdict(run.cut),
        "left_behind": [asdict(one) for one in run.left],
        "causes": [_cause(cause) for cause in causes(run.unexpected_failures)],
        "results": [_result(result) for result in sorted(run.results, key=lambda result: result.test_id)],
    }


def to_badge(run: RunResult) -> str:
    """Return one JSON object with schemaVersion, label, message and color.

    The color is lightgrey if no fixture was run, else red if the run is not good, else yellow if a fixture failed as
    expected, else green if a fixture was not run, else brightgreen.
    """
    count = totals(run)
    run_count = len(run.results) - count.not_run
    passed = count.passed + count.healed
    message = f"{passed}/{run_count} passed" + (f", {count.not_run} not run" if count.not_run else "")
    message = "; ".join(filter(None, (message, level_note(run))))
    value = {"schemaVersion": 1, "label": LABEL, "message": message, "color": _color(run, run_count, passed)}
    return json.dumps(value, indent=2) + "\n"


def _cause(cause: Cause) -> dict[str, Any]:
    assertion = cause.assertion
    return {
        "title": cause.title,
        "group": cause.group,
        **{name: getattr(assertion, name) for name in ("kind", "file", "path")},
        "tools": cause.tools,
        "fixtures": [result.test_id for result in cause.results],
    }


def _result(result: FixtureResult) -> dict[str, Any]:
    return {
        **{name: getattr(result, name) for name in ("test_id", "description", "source", "group", "level")},
        "rules": [rule.id for rule in rules_of(result.test_id)],
        "tools": list(result.tools),
        "status": result.status,
        "reason": result.reason,
        "missing_tools": list(result.missing_tools),
        "expected_failure": result.expected,
        "seconds": round(result.seconds, 3),
        "repeats": result.repeats,
        "assertions": [_assertion(assertion) for assertion in result.assertions],
        "exchanges": [_exchange(exchange) for exchange in result.exchanges],
        "files": dict(sorted(result.files.items())),
        "stderr": result.stderr,
        "cut": asdict(result.cut),
    }


def _assertion(assertion: Assertion) -> dict[str, Any]:
    members = ("kind", "passed", "message", "step", "file", "path")
    value: dict[str, Any] = {name: getattr(assertion, name) for name in members}
    # Some assertions check no value: for these, `expected: null` would read as an expected null.
    if assertion.path or assertion.expected is not None or assertion.seen is not None:
        value["expected"] = plain(assertion.expected)
        missing = assertion.seen is MISSING
        value["missing"] = missing
        if missing:
            value["parent"] = assertion.parent
        else:
            value["seen"] = plain(assertion.seen)
    return value


def _exchange(exchange: Exchange) -> dict[str, Any]:
    return {
        "step": exchange.step,
        "asked": exchange.request,
        **({"description": exchange.description} if exchange.description else {}),
        "params": plain(exchange.params),
        "answer": plain(exchange.answer),
        "is_error": exchange.is_error,
        "error": exchange.error,
        "seconds": round(exchange.seconds, 3),
    }


def _color(run: RunResult, run_count: int, passed: int) -> str:
    if not run_count:
        return "lightgrey"
    if not run.good:
        return "red"
    return "brightgreen" if passed == len(run.results) else "green" if passed == run_count else "yellow"
