"""Render closed cycles and decisions as Markdown files of an export: a file for each month, and two lists."""

from __future__ import annotations

from nexus_mcp.rendering.export_parts import (
    HISTORY,
    NOTE,
    PLAN,
    TASKS,
    add_label,
    anchor,
    count,
    cycle_anchor,
    decision_and_advice,
    history_file,
    link,
    month_of,
    task_texts,
    title_of,
)
from nexus_mcp.rendering.markdown import block, inline
from nexus_mcp.rendering.report_parts import closing_line, stored_text
from nexus_mcp.views.cycles import cycle_view
from nexus_mcp.views.decisions import of_cycle
from nexus_mcp.views.task_rows import DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from nexus_mcp.views.decisions import Decision
    from nexus_mcp.views.task_rows import Row

NO_TOPIC = "tasks without a plan"


class HistoryPages:
    """The lines of the files about closed cycles and decisions. Add the cycles, newest first."""

    def __init__(self) -> None:
        self.months: dict[str, list[str]] = {}
        self.index = ["# History", "", NOTE, ""]
        self.decisions = ["# Decisions", "", NOTE, ""]
        self.cycle_count = self.decision_count = 0
        self._headed: set[str] = set()

    def add_plan(self, plan: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]]) -> None:
        """Add the decisions of the open plan; call it first."""
        found = list(of_cycle({"plan": plan, "tasks": list(tasks)}, None))
        if found:
            self.decisions += [f"## Open plan: {title_of(plan, 'topic')}", ""]
        for one in found:
            where = [link("open plan", PLAN, f"question-{one['issue']}")]
            where += [link(f"task {id_}", TASKS, f"task-{id_}") for id_ in one["tasks"]]
            self._add_decision(one, where)

    def add(self, number: int, cycle: Mapping[str, Any]) -> None:
        """Add a closed cycle."""
        view = cycle_view(number, cycle)
        month = month_of(view["completed_at"])
        file, name = history_file(month), cycle_anchor(number)
        lines = self.months.setdefault(month, [f"# History, {month}", "", NOTE, "", link("All months", HISTORY), ""])
        lines += _cycle(view)
        topic = inline(view["topic"]) or NO_TOPIC
        self.cycle_count += 1
        self._head(self.index, "index", month)
        numbers = f"{count(view['decisions'], 'decision')}, {view['done']} of {count(view['tasks'], 'task')} done"
        self.index.append(f"- {link(f'{number}: {topic}', file, name)}, {inline(view['completed_at'][:10])}: {numbers}")
        for one in of_cycle(cycle, number):
            self._head(self.decisions, "decisions", month)
            where = [f"{inline(one['at'][:10])}, {link(f'cycle {number}: {topic}', file, name)}"]
            where += [link(f"task {id_}", file, f"{name}-task-{id_}") for id_ in one["tasks"]]
            self._add_decision(one, where)

    def _head(self, lines: list[str], which: str, month: str) -> None:
        """Add the heading of a month to a list, if it is not there yet."""
        if f"{which} {month}" not in self._headed:
            self._headed.add(f"{which} {month}")
            lines += ["", f"## {month}", ""] if lines[-1] else [f"## {month}", ""]

    def _add_decision(self, one: Decision, where: Iterable[str]) -> None:
        self.decision_count += 1
        question = inline(one["question"]) or "Question"
        decision = one["decision"].strip()
        if "\n" in decision:
            self.decisions += [f"- **{question}**", "", block(decision, "  > "), ""]
        else:
            self.decisions += [f"- **{question}** {inline(decision)}".rstrip(), ""]
        self.decisions += [f"  {', '.join(where)}", ""]


def _cycle(view: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one cycle, in full."""
    name = cycle_anchor(view["number"])
    yield from (anchor(name), "", f"## {view['number']}: {inline(view['topic']) or NO_TOPIC}", "")
    yield from (inline(closing_line(view)), "")
    plan = view["plan"] or {}
    yield from add_label("Research", stored_text(plan, "research_summary"))
    issues = plan.get("issues", ())
    if issues:
        yield from ("### Questions", "")
    for issue in issues:
        id_ = _id(issue)
        place = "" if id_ is None else anchor(f"{name}-question-{id_}")
        yield from (f"- {place}**{title_of(issue)}**", "")
        yield from decision_and_advice(issue, "  ")
        mine = [row for row in view["rows"] if id_ is not None and row["plan_issue"] == id_]
        if mine:
            links = ", ".join(link(f"task {row['id']}", "", f"{name}-task-{row['id']}") for row in mine)
            yield from (f"  Carried out by {links}", "")
    if view["rows"]:
        yield from ("### Tasks", "")
    texts = {task.get("id"): task for task in view["task_list"]}
    known = {_id(issue) for issue in issues} - {None}
    for row in view["rows"]:
        yield from (_task_item(row, name, known), "")
        yield from task_texts(texts.get(row["id"], {}), "  ")


def _task_item(row: Row, name: str, known: set[Any]) -> str:
    box = "x" if row["state"] == DONE else " "
    notes = [
        *([inline(row["owner"])] if row["owner"] else ()),
        *([f"after {', '.join(map(str, row['deps']))}"] if row["deps"] else ()),
        *([_for_question(row["plan_issue"], name)] if row["plan_issue"] in known else ()),
    ]
    behind = f" ({', '.join(notes)})" if notes else ""
    place = anchor(f"{name}-task-{row['id']}")
    return f"- [{box}] {place}**{row['id']}: {inline(row['title'])}**{behind}"


def _id(issue: Mapping[str, Any]) -> int | None:
    """Return the id of a question, None if it is no integer: other programs may have written the file."""
    id_ = issue.get("id")
    return id_ if isinstance(id_, int) and not isinstance(id_, bool) else None


def _for_question(id_: object, name: str) -> str:
    return f"for {link(f'question {id_}', '', f'{name}-question-{id_}')}"
