"""The report of a run in a browser: it fits a phone, and is readable in both schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.run import events as ev
from nexus_mcp.run.projection import RunRecord, project
from nexus_mcp.run.report_html import html
from tests.browser.conftest import AXE, DESKTOP, MOBILE

if TYPE_CHECKING:
    from pathlib import Path

LONG = "a_name_without_a_place_to_break_" * 8
DOCUMENT: dict[str, Any] = {
    "goal": "Make the shop ready",
    "tasks": [
        {"id": 1, "title": f"Rename {LONG}", "status": "completed"},
        {"id": 2, "title": "Two", "status": "pending"},
        {"id": 3, "title": "Three", "status": "pending"},
    ],
}
PLANNED = ev.AttemptPlanned(task=1, attempt=1, tier="high", strategy="none", harness="claude-code", agent="engineer")
LOG: list[ev.AnyEvent] = [
    ev.RunStarted(run="run-2026-02-25T10-00-00-000Z", pid=1, host="h", base="1" * 40),
    PLANNED,
    ev.Judged(task=1, attempt=1, ok=False, category="tests-failing", reason=LONG),
    ev.TaskPaused(task=2, reason=f"Which one? {LONG}"),
    ev.TaskBlocked(task=3, reason="task 2 is paused"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, MOBILE], ids=["desktop", "phone"])
def test_the_report_of_a_run_is_readable(browser: Any, tmp_path: Path, size: tuple[int, int], scheme: str) -> None:
    """With everything unfolded nothing is wider than the window, and axe finds no serious fault."""
    page = html(project(LOG, RunRecord()), DOCUMENT, LOG, merge="not yet", diffs={(1, 1): f"+{LONG}{LONG}\n"})
    (tmp_path / "report.html").write_text(page)
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    tab = context.new_page()
    tab.goto(f"file://{tmp_path}/report.html")
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    tab.evaluate(AXE)
    report = tab.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    serious = [one for one in report["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []
    context.close()
