"""Render the view `report` as an HTML page without other files, for a screen and for paper."""

from __future__ import annotations

from nexus_mcp.rendering import report_parts as parts
from nexus_mcp.rendering.graph_labels import MARKS
from nexus_mcp.rendering.html import markdown, page, text
from nexus_mcp.views.task_rows import DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any


def report_html(report: Mapping[str, Any], today: str) -> str:
    """Return the report as a page. `today` is a stamp."""
    title = parts.title(report, today)
    lines = [f"<h1>{text(title)}</h1>", f'<p class="totals">{text(parts.totals(report))}</p>']
    if not report["cycles"]:
        lines.append(f"<p>{parts.NOTHING}</p>")
    for cycle in report["cycles"]:
        lines += _cycle(cycle)
    if not report["until"]:  # a report of a past period does not show the present state
        lines += _now(report["status"])
    return page(title, "\n".join(lines) + "\n")


def _cycle(cycle: Mapping[str, Any]) -> Iterator[str]:
    yield f'<article id="cycle-{cycle["number"]}">'
    yield f"<h2>{text(cycle['topic'] or parts.NO_TOPIC)}</h2>"
    yield f'<p class="dim">{text(parts.closing_line(cycle))}</p>'
    decided = parts.decided_issues(cycle)
    if decided:
        yield "<h3>Decisions</h3>\n<dl>"
        for issue in decided:
            yield f"<dt>{text(parts.stored_text(issue, 'title') or 'Question')}</dt>"
            yield f"<dd>{markdown(parts.stored_text(issue, 'decision'))}</dd>"
        yield "</dl>"
    if cycle["rows"]:
        yield "<h3>Tasks</h3>"
        yield from _tasks(cycle["rows"])
    yield "</article>"


def _tasks(rows: Iterable[Mapping[str, Any]], *, is_present: bool = False) -> Iterator[str]:
    yield '<ul class="tasks">'
    for row in rows:
        done = row["state"] == DONE
        name = "done" if done else "open"
        word = "" if done or is_present else '<span class="word">not done</span>'
        owner = f'<span class="owner">@{text(row["owner"])}</span>' if row["owner"] else ""
        number = f"{row['id']}: " if is_present else ""
        after = f'<span class="owner">after {", ".join(map(str, row["waits_for"]))}</span>' if row["waits_for"] else ""
        yield (
            f'<li class="{name}"><span class="mark" aria-hidden="true">{MARKS[row["state"]]}</span>'
            f"{number}{text(row['title'] or '(no title)')}{word}{owner}{after if is_present else ''}</li>"
        )
    yield "</ul>"


def _now(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield the open plan and the unfinished tasks."""
    plan, tasks = status["plan"], parts.unfinished_groups(status)
    yield '<article id="now">\n<h2>Now</h2>'
    for fault in status["faults"]:
        yield f"<p>{text(fault['problem'])}. {text(fault['next_step'])}</p>"
    if plan is not None:
        count = f"{plan['decided']} of {len(plan['issues'])} questions decided"
        yield f"<p>Plan: <strong>{text(plan['topic'])}</strong>, {count}</p>"
        questions = parts.open_questions(plan)
        if questions:
            yield "<h3>Open questions</h3>\n<ul>"
            yield from (f"<li>{text(parts.stored_text(issue, 'title'))}</li>" for issue in questions)
            yield "</ul>"
    for heading, rows in tasks:
        yield f"<h3>{heading}</h3>"
        yield from _tasks(rows, is_present=True)
    if plan is None and not tasks and not status["faults"]:
        yield "<p>No plan and no task is open.</p>"
    yield "</article>"
