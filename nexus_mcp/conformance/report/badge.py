"""badge.json: the endpoint format of shields.io, for a badge in a README."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.summary import totals

if TYPE_CHECKING:
    from nexus_mcp.conformance.result import RunResult

LABEL = "nexus conformance"


def to_badge(run: RunResult) -> str:
    """One JSON object with schemaVersion, label, message and color.

    Green is for a run in which every fixture was run and passed; expected failures and fixtures that were not run
    show in number and colour.
    """
    count = totals(run)
    asked = len(run.results) - count.not_run
    passed = count.passed + count.healed
    message = f"{passed}/{asked} passed" + (f", {count.not_run} not run" if count.not_run else "")
    value = {"schemaVersion": 1, "label": LABEL, "message": message, "color": _color(run, asked, passed)}
    return json.dumps(value, indent=2) + "\n"


def _color(run: RunResult, asked: int, passed: int) -> str:
    if not asked:
        return "lightgrey"
    if not run.good:
        return "red"
    return "brightgreen" if passed == len(run.results) else "green" if passed == asked else "yellow"
