"""The view `report` as Markdown: for a changelog, a stand-up, a review."""

from __future__ import annotations

from nexus_mcp.rendering import report_parts as parts
from nexus_mcp.rendering.markdown import block, inline
from nexus_mcp.views.task_rows import DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def report_markdown(report: Mapping[str, Any], today: str) -> str:
    """Return the report as Markdown. `today` is a stamp."""
    lines = [f"# {parts.title(report, today)}", "", inline(parts.totals(report))]
    if not report["cycles"]:
        lines += ["", parts.NOTHING]
    for cycle in report["cycles"]:
        lines += _cycle(cycle)
    if not report["until"]:  # a report of a past period does not show the present state
        lines += _now(report["status"])
    return "\n".join(lines) + "\n"


def _cycle(cycle: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"## {inline(cycle['topic']) or parts.NO_TOPIC}", "")
    yield inline(parts.closing_line(cycle))
    decided = parts.decided_issues(cycle)
    if decided:
        yield from ("", "Decisions:", "")
        for issue in decided:
            yield from decision_item(issue)
    if cycle["rows"]:
        yield from ("", "Tasks:", "")
        for row in cycle["rows"]:
            yield task_item(row)


def decision_item(issue: Mapping[str, Any]) -> Iterator[str]:
    """Yield a list item with a question and its decision."""
    question, decision = parts.stored_text(issue, "title"), parts.stored_text(issue, "decision").strip()
    if "\n" in decision:
        yield f"- **{inline(question) or 'Question'}**"
        yield ""
        yield block(decision, "  > ")
        yield ""
    else:
        yield f"- **{inline(question) or 'Question'}** {inline(decision)}".rstrip()


def task_item(row: Mapping[str, Any]) -> str:
    """Return a list item with a box for a task."""
    notes = [
        *(["not done"] if row["state"] != DONE else ()),
        *([inline(row["owner"])] if row["owner"] else ()),
    ]
    box = "x" if row["state"] == DONE else " "
    return f"- [{box}] {inline(row['title']) or '(no title)'}{' (' + ', '.join(notes) + ')' if notes else ''}"


def _now(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield the open plan and the unfinished tasks."""
    yield from ("", "## Now", "")
    plan, tasks = status["plan"], parts.unfinished_groups(status)
    for fault in status["faults"]:
        yield from (f"{inline(fault['problem'])}. {inline(fault['next_step'])}".rstrip(), "")
    if plan is not None:
        decided, total = plan["decided"], len(plan["issues"])
        yield f"Plan: **{inline(plan['topic'])}**, {decided} of {total} questions decided"
        questions = parts.open_questions(plan)
        if questions:
            yield from ("", "Open questions:", "")
            yield from (f"- {inline(parts.stored_text(issue, 'title'))}" for issue in questions)
    for heading, rows in tasks:
        yield from ("", f"{heading}:", "")
        yield from (f"- {_present(row)}" for row in rows)
    if plan is None and not tasks and not status["faults"]:
        yield "No plan and no task is open."


def _present(row: Mapping[str, Any]) -> str:
    notes = [
        *([inline(row["owner"])] if row["owner"] else ()),
        *([f"after {', '.join(map(str, row['waits_for']))}"] if row["waits_for"] else ()),
    ]
    return f"{row['id']}: {inline(row['title'])}{' (' + ', '.join(notes) + ')' if notes else ''}"
