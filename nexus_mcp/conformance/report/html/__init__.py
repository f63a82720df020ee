"""Render report.html: one page without network, scripts or fonts.

`el` escapes every text, and a content security policy in the page forbids everything but its own style.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.html.evidence import failures, fixtures, not_run_list
from nexus_mcp.conformance.report.html.head import heading, matrix_section, navigation
from nexus_mcp.conformance.report.html.markup import Html, el
from nexus_mcp.conformance.report.matrix import verdict

if TYPE_CHECKING:
    from nexus_mcp.conformance.result import RunResult

_STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.css")


def to_html(run: RunResult) -> str:
    """Return the text of the page."""
    with open(_STYLE, encoding="utf-8") as file:
        style = file.read()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"{verdict(run)}: conformance of {run.server or run.target}"),
        el("style", Html(style)),
    )
    sections = (matrix_section(run), *failures(run), not_run_list(run), fixtures(run))
    body = el("body", heading(run), navigation(run), el("main", *sections))
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"
