"""The report as JSON, of the shape of schemas/doctor/report.schema.json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nexus_mcp.doctor.finding import Finding, Report

FORMAT = 1
"""Grows when a member changes its meaning or goes."""


def to_json(report: Report) -> str:
    """The text, without a newline at the end. In ASCII: names of files may be bytes that are no text, or mislead."""
    return json.dumps(document(report), indent=2)


def document(report: Report) -> dict[str, Any]:
    """The report as a JSON value."""
    return {
        "format": FORMAT,
        "project": report.project,
        "healthy": report.healthy,
        "entries": report.entries,
        "totals": report.totals,
        "findings": [_finding(finding) for finding in report.findings],
        "more": report.more,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "pointer": finding.pointer,
        "problem": finding.problem,
        "next_step": finding.next_step,
    }
