"""Render badge.json, the endpoint format of shields.io, for a badge in a README."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.matrix import totals

if TYPE_CHECKING:
    from nexus_mcp.conformance.result import RunResult

LABEL = "nexus conformance"


def to_badge(run: RunResult) -> str:
    """Return one JSON object with schemaVersion, label, message and color.

    Green is for a run in which every fixture was run and passed; expected failures and fixtures that were not run
    change number and colour.
    """
    count = totals(run)
    run_count = len(run.results) - count.not_run
    passed = count.passed + count.healed
    message = f"{passed}/{run_count} passed" + (f", {count.not_run} not run" if count.not_run else "")
    value = {"schemaVersion": 1, "label": LABEL, "message": message, "color": _color(run, run_count, passed)}
    return json.dumps(value, indent=2) + "\n"


def _color(run: RunResult, run_count: int, passed: int) -> str:
    if not run_count:
        return "lightgrey"
    if not run.good:
        return "red"
    return "brightgreen" if passed == len(run.results) else "green" if passed == run_count else "yellow"
