"""The report of a run: stored texts are data in both forms, and events and changes are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from nexus_mcp.quoting import inert
from nexus_mcp.run import events as ev
from nexus_mcp.run.projection import RunRecord, project
from nexus_mcp.run.report import markdown, next_commands, totals
from nexus_mcp.run.report_html import html
from tests.run.runs import Ground
from tests.support import Json

TITLE = "Let <script>alert(1)</script> & *stars* `code` \x1b[31m"
TASKS: list[Json] = [{"id": 1, "title": TITLE, "status": "pending"}]
DOCUMENT: Json = {"goal": "A <b>goal</b>", "tasks": TASKS}
PLANNED = ev.AttemptPlanned(task=1, attempt=1, tier="high", strategy="none", harness="<i>h</i>", agent="engineer")
PAUSED = ev.TaskPaused(task=1, reason=f"Why? {TITLE}")
LOG: list[ev.AnyEvent] = [PLANNED, PAUSED]


def test_stored_texts_are_shown_as_they_are_on_the_page() -> None:
    """Each is escaped once, wherever it stands; the control character of a title is gone."""
    page = html(project(LOG), DOCUMENT, LOG, diffs={(1, 1): f"+{TITLE}\n"})
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; *stars*") >= 5
    for wrong in ("<script>", "<b>", "<i>", "&amp;lt;", "\x1b", "\\*"):
        assert wrong not in page


def test_stored_texts_are_no_markup_in_markdown() -> None:
    """No tag, no emphasis, no code, no link and no image of a title has an effect."""
    text = markdown(project(LOG), DOCUMENT, LOG)
    assert "<script>" not in text
    assert "\\*stars\\* 'code'" in text


@pytest.mark.parametrize(
    "title",
    [
        "![x](http://h/p.png)",
        "[a](b)",
        "~~a~~ _b_ __c__ d_e",
        "a|b",
        "&lt;b&gt;",
        "\\[a](b)",
        "<i>",
        "List<String> & a < b",
    ],
)
def test_a_title_is_one_text_in_markdown(title: str) -> None:
    """A reader of Markdown sees the characters of the title, and nothing else is made of them."""
    document = {"goal": "", "tasks": [{"id": 1, "title": title, "status": "pending"}]}
    text = markdown(project(LOG), document, LOG)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    (heading,) = [token for token in tokens if token.type == "inline" and token.content.startswith("Task 1: ")]
    assert {child.type for child in heading.children or ()} <= {"text", "text_special"}
    assert "".join(child.content for child in heading.children or ()) == f"Task 1: {inert(title).replace('&lt;', '<')}"
    cells = [token for token in tokens if token.type == "inline" and token.content.startswith("1")]
    assert len({token.type for token in tokens if token.type == "td_open"}) == 1
    assert cells


def test_the_page_fits_a_phone() -> None:
    """A browser takes the width of the device, and the table has no more columns there."""
    page = html(project(LOG), DOCUMENT, LOG)
    assert '<meta name=viewport content="width=device-width,initial-scale=1">' in page
    assert "data-name=Why" in page


@pytest.mark.parametrize(("size", "is_cut"), [(100, False), (50_000, True)])
def test_the_changes_of_an_attempt_are_on_the_page(size: int, is_cut: bool) -> None:
    """A large diff is cut, and the page names the file with the rest."""
    page = html(project(LOG), DOCUMENT, LOG, diffs={(1, 1): "+" * size})
    assert "Changes of attempt 1" in page
    assert ("diff.patch in the folder of the attempt has the rest" in page) is is_cut


def test_the_report_of_a_run_has_checks_verdicts_and_changes(tmp_path: Path) -> None:
    """The page beside the log is written at the end of the run."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "f1", "text": "a line of the change\n"}]]})
    ground.configure()
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    page = (ground.root / ".nexus/state/runs" / ground.run_id / "report.html").read_text()
    for part in ("check test passes", "+a line of the change", "merged at", "Nothing."):
        assert part in page


def test_time_of_a_short_run_is_in_seconds() -> None:
    """0.0 minutes says nothing."""
    state = RunRecord(started_at="2026-01-01T00:00:00.000Z", updated_at="2026-01-01T00:00:07.000Z")
    assert "7 seconds" in totals(state, DOCUMENT)
    assert "2.0 minutes" in totals(
        RunRecord(started_at="2026-01-01T00:00:00.000Z", updated_at="2026-01-01T00:02:00.000Z"), DOCUMENT
    )


def test_a_merge_that_is_refused_is_no_next_command() -> None:
    """The last checks failed: the next command shows the work."""
    state = project([ev.Merged(commit="1"), ev.Verified(commit="1", reason="test fails")], RunRecord(run="run-x"))
    assert next_commands(state, {"tasks": []}, "test fails")[-1] == "git diff HEAD...nexus/run-x/integration"
    assert next_commands(project([], RunRecord(run="run-x")), {"tasks": []}, "no")[-1] == "nexus-mcp run merge run-x"
