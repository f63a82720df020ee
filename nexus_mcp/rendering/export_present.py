"""The open plan and the present tasks as Markdown files of an export, each with links to the other."""

from __future__ import annotations

from nexus_mcp.rendering.export_parts import (
    NOTE,
    PLAN,
    TASKS,
    add_label,
    anchor,
    decision_and_advice,
    link,
    task_texts,
    title_of,
)
from nexus_mcp.rendering.graph_labels import counts_line, critical_line, cycle_lines
from nexus_mcp.rendering.markdown import inline
from nexus_mcp.rendering.mermaid import mermaid
from nexus_mcp.rendering.report_parts import STATES, stored_text
from nexus_mcp.views.graph import graph
from nexus_mcp.views.task_rows import DONE, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from nexus_mcp.views.task_rows import Row

_HEADINGS = (*STATES, (DONE, "Done"))


def plan_page(plan: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page of the open plan."""
    yield from (f"# Plan: {title_of(plan, 'topic')}", "", NOTE, "")
    yield from (f"Plan {plan['id']}, started {inline(plan['created_at'][:10])}.", "")
    yield from add_label("Research", stored_text(plan, "research_summary"))
    yield from ("## Questions", "")
    for issue in plan["issues"]:
        yield from (anchor(f"question-{issue['id']}"), "", f"### {issue['id']}: {title_of(issue)}", "")
        yield from decision_and_advice(issue)
        mine = [task for task in tasks if task.get("plan_issue") == issue["id"]]
        if mine:
            yield "Carried out by:"
            yield ""
            yield from (f"- {_task_link(task)}" for task in mine)
            yield ""


def _task_link(task: Mapping[str, Any]) -> str:
    return link(f"task {task['id']}: {title_of(task)}", TASKS, f"task-{task['id']}")


def tasks_page(document: Mapping[str, Any], plan: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the lines of the page of the present tasks."""
    tasks = document["tasks"]
    view = graph(tasks)
    yield from ("# Tasks", "", NOTE, "", f"{counts_line(view)}.", "")
    yield from add_label("Goal", document["goal"])
    for decision in document["decisions"]:
        yield from add_label("Binding for all tasks", decision)
    yield from (line for sentence in cycle_lines(view) for line in (sentence, ""))
    yield from (line for line in (critical_line(view), "") if critical_line(view))
    if view["edges"]:
        yield from ("```mermaid", mermaid(view).rstrip("\n"), "```", "")
    texts = {task["id"]: task for task in tasks}
    found = rows(tasks)
    for state, heading in _HEADINGS:
        there = [row for row in found if row["state"] == state]
        if there:
            yield from (f"## {heading}", "")
            for row in there:
                yield from _task(row, texts[row["id"]], plan, texts)


def _task(
    row: Row, task: Mapping[str, Any], plan: Mapping[str, Any] | None, known: Mapping[Any, object]
) -> Iterator[str]:
    yield from (anchor(f"task-{row['id']}"), "", f"### {row['id']}: {title_of(task)}", "")
    facts = [
        *([f"Owner: {inline(row['owner'])}"] if row["owner"] else ()),
        *([f"After: {_ids(row['deps'], known)}"] if row["deps"] else ()),
        *([f"Blocks: {_ids(row['blocks'], known)}"] if row["blocks"] else ()),
    ]
    issues = plan["issues"] if plan else ()
    for issue in issues:
        if row["plan_issue"] is not None and issue["id"] == row["plan_issue"]:
            question = link(f"{issue['id']}: {title_of(issue)}", PLAN, f"question-{issue['id']}")
            facts.append(f"For question {question}")
    if facts:
        yield from (*(f"- {fact}" for fact in facts), "")
    yield from task_texts(task)


def _ids(ids: Sequence[int | float], known: Mapping[Any, object]) -> str:
    return ", ".join(link(str(id_), "", f"task-{id_}") if id_ in known else f"{id_} (missing)" for id_ in ids)
