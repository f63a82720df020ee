"""`nexus-mcp report`: the decisions and the work of a period."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from tests.cli import example_history
from tests.cli.support import nexus_on_terminal
from tests.cli.test_history_views import Capture, run, run_json
from tests.rendering.support import HOSTILE
from tests.rendering.test_html import Reader
from tests.support import Project

PERIOD = ("--since", "2026-11-04", "--until", "2026-11-11")


@pytest.fixture
def example(project: Project) -> Project:
    example_history.write(project.root)
    return project


def test_markdown_has_the_cycles_of_the_period(example: Project, capsys: Capture) -> None:
    """A report has its period, its numbers, and each cycle with decisions and tasks."""
    code, out, err = run(example, capsys, "report", *PERIOD)
    assert (code, err) == (0, "")
    assert out.startswith("# Report, 2026-11-04 to 2026-11-11\n\n1 cycle closed · 2 decisions · 3 of 3 tasks done\n")
    assert "## Links survive a restart\n\nCycle 2, closed 2026-11-10 11:05 UTC on main\n" in out
    assert "- **What happens with a broken file?** It stays, and the error says where it is broken.\n" in out
    assert "  > - `os.replace` changes it in one step\n" in out
    assert "- [x] Write the store (engineer)\n" in out
    assert "## Now" not in out


def test_a_report_until_now_ends_with_what_is_open(example: Project, capsys: Capture) -> None:
    """Without --until the open plan, its questions and the unfinished tasks come last."""
    _, out, _ = run(example, capsys, "report", "--since", "2026-11-01")
    now = out.partition("## Now\n\n")[2]
    assert now.startswith("Plan: **Version 1.0**, 1 of 2 questions decided\n\nOpen questions:\n\n- Which platforms?\n")
    assert "In progress:\n\n- 2: Freeze the format (engineer)\n" in now
    assert "- 5: Release (after 3, 4)\n" in now
    assert len(re.findall(r"^## ", out, re.MULTILINE)) == 4


def test_a_period_without_a_cycle_says_so(example: Project, capsys: Capture) -> None:
    """An empty period is a report of its own, with exit code 0; stderr has the next step."""
    code, out, err = run(example, capsys, "report", "--since", "2020-01-01", "--until", "2020-02-01")
    assert (code, err) == (
        0,
        "nexus-mcp: No cycle was closed in this period; there are 3 in all. nexus-mcp history lists them.\n",
    )
    assert out.splitlines()[2:] == [
        "0 cycles closed · 0 decisions · 0 of 0 tasks done",
        "",
        "No cycle was closed in this period.",
    ]


def test_json_keeps_the_schema(example: Project, capsys: Capture) -> None:
    """--json prints the view, and excludes a format."""
    view = run_json(example, capsys, "report", "report", *PERIOD)
    assert view["totals"] == {"cycles": 1, "decisions": 2, "tasks": 3, "done": 3}
    code, _, err = run(example, capsys, "report", "--json", "--format", "md")
    assert (code, err) == (2, "nexus-mcp: --json and --format exclude each other. Use one of them.\n")


def test_a_period_that_ends_before_it_begins_is_refused(example: Project, capsys: Capture) -> None:
    """--until has to be after --since."""
    code, out, err = run(example, capsys, "report", "--since", "2026-11-04", "--until", "2026-11-04")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("nexus-mcp: --until is not after --since, so the period is empty. Name an earlier --since")


def test_a_page_is_not_printed_on_a_terminal(example: Project) -> None:
    """On a terminal the HTML page is refused, with what to add to the command."""
    ran = nexus_on_terminal("report", "--format", "html", "--project", str(example.root))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("Add > report.html to the command.\n")


def test_an_unreadable_file_is_named_and_the_rest_is_there(example: Project, capsys: Capture) -> None:
    """A task list that cannot be read is a line with its next step; the decisions are reported. Exit code 1."""
    example.put("state/tasks.json", '{"secret')
    for form in ("md", "html"):
        code, out, err = run(example, capsys, "report", "--since", "2026-11-01", "--format", form)
        assert (code, err) == (1, "")
        assert ".nexus/state/tasks.json" in out
        assert "Where are links stored?" in out
        assert "secret" not in out


def _put_hostile(project: Project) -> None:
    cycles = []
    for text in HOSTILE:
        issue = {"id": 1, "title": text, "status": "decided", "decision": f"{text}\n\n{text}"}
        tasks = [{"id": 1, "title": text, "context": text, "status": "completed", "owner": text, "deps": []}]
        plan = {"id": 1, "topic": text, "issues": [issue, {"id": 2, "title": text, "status": "pending"}]}
        cycles.append({"completed_at": "2026-11-10T00:00:00.000Z", "branch": text, "plan": plan, "tasks": tasks})
    project.put("history.json", {"cycles": cycles})


def test_hostile_text_is_text_in_the_markdown(example: Project, capsys: Capture) -> None:
    """Headings and items are ours only: stored text adds no heading, HTML, link or image."""
    _put_hostile(example)
    _, out, _ = run(example, capsys, "report", *PERIOD)
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(out)
    inner = [child.type for token in parsed for child in token.children or ()]
    assert not {"html_inline", "link_open", "image"} & set(inner)
    kinds = [token.type for token in parsed]
    assert "html_block" not in kinds
    assert kinds.count("heading_open") == 1 + len(HOSTILE)
    assert not {"\x1b", "\u202e"} & set(out)


def test_hostile_text_is_text_on_the_page(example: Project, capsys: Capture) -> None:
    """The page has its own elements only, loads nothing, and runs nothing."""
    _put_hostile(example)
    _, out, _ = run(example, capsys, "report", "--format", "html", *PERIOD)
    read = Reader(out)
    tags = {tag for tag, _ in read.elements}
    assert not {"script", "img", "iframe", "object", "link", "base", "form", "svg"} & tags
    names = {name for _, attributes in read.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "style", "srcset", "action")]
    links = [attributes["href"] for tag, attributes in read.elements if tag == "a"]
    assert all(str(link).startswith("http") for link in links)
    assert sum(tag == "article" for tag, _ in read.elements) == len(HOSTILE)
    assert "url(" not in out


def test_the_page_says_the_same_as_the_markdown(example: Project, capsys: Capture) -> None:
    """Each topic, question, decision, task and open question is on the page."""
    _, out, _ = run(example, capsys, "report", "--format", "html", "--since", "2026-11-01")
    shown = " ".join(Reader(out).texts)
    for text in (
        "Links in a database",
        "Where are links stored?",
        "50 000 rows",
        "Move the old file over",
        "Which platforms?",
    ):
        assert text in shown
    assert out.startswith("<!doctype html>\n")


def test_a_period_that_begins_in_the_future_is_refused(example: Project, capsys: Capture) -> None:
    """No report has its end before its beginning."""
    code, out, err = run(example, capsys, "report", "--since", "2099-01-01")
    assert (code, out) == (2, "")
    assert err.startswith("nexus-mcp: --since is in the future, so the period is empty. Name an earlier --since")
