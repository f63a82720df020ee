"""Render plan, tasks, decisions and history as Markdown files that link to each other."""

from __future__ import annotations

from nexus_mcp.rendering import export_parts as parts
from nexus_mcp.rendering.export_history import HistoryPages
from nexus_mcp.rendering.export_present import plan_page, tasks_page
from nexus_mcp.rendering.graph_labels import counts_line
from nexus_mcp.state import plan as plans
from nexus_mcp.views.graph import graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any


def export_files(
    plan: dict[str, Any] | None, tasks: dict[str, Any] | None, cycles: Iterable[tuple[int, Mapping[str, Any]]]
) -> dict[str, bytes]:
    """Return the files, name → bytes. `cycles` are (number, cycle), newest first. The same state always gives the same
    files.
    """
    present = tasks["tasks"] if tasks else []
    history = HistoryPages()
    if plan is not None:
        history.add_plan(plan, present)
    for number, cycle in cycles:
        history.add(number, cycle)
    if not history.cycle_count:
        history.index.append("No cycle is closed yet.")
    if not history.decision_count:
        history.decisions.append("Nothing is decided yet.")
    pages: dict[str, Iterable[str]] = {
        parts.INDEX: _index(plan, tasks, history),
        **({parts.PLAN: plan_page(plan, present)} if plan is not None else {}),
        **({parts.TASKS: tasks_page(tasks, plan)} if tasks is not None else {}),
        parts.DECISIONS: history.decisions,
        parts.HISTORY: history.index,
        **{parts.history_file(month): lines for month, lines in history.months.items()},
    }
    return {name: _bytes(lines) for name, lines in pages.items()}


def _index(plan: dict[str, Any] | None, tasks: dict[str, Any] | None, history: HistoryPages) -> Iterator[str]:
    yield from ("# Plan, tasks and history", "", parts.NOTE, "")
    if plan is None:
        yield "- No plan is open"
    else:
        decided = f"{len(plans.decided_issues(plan))} of {parts.count(len(plan['issues']), 'question')} decided"
        yield f"- {parts.link('Plan', parts.PLAN)}: {parts.title_of(plan, 'topic')}, {decided}"
    if tasks is None or not tasks["tasks"]:
        yield "- No task is open"
    else:
        yield f"- {parts.link('Tasks', parts.TASKS)}: {counts_line(graph(tasks['tasks']))}"
    yield f"- {parts.link('Decisions', parts.DECISIONS)}: {history.decision_count}"
    yield f"- {parts.link('History', parts.HISTORY)}: {parts.count(history.cycle_count, 'closed cycle')}"


def _bytes(lines: Iterable[str]) -> bytes:
    """Return a page: no two empty lines in a row, and a newline at the end."""
    shown: list[str] = []
    for line in lines:
        if line.strip() or (shown and shown[-1]):
            shown.append(line.rstrip())
    return ("\n".join(shown).rstrip("\n") + "\n").encode("utf-8", "replace")
