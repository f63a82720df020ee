"""Make blocks of closed cycles: rows of a list, one cycle in full, and the differences of two."""

from __future__ import annotations

from nexus_mcp.cli.blocks import (
    ACTIVE,
    BLANK,
    DETAIL,
    DIM,
    GAP,
    GOOD,
    MAIN,
    NUMBER,
    PROBLEM,
    QUESTION,
    STRONG,
    Line,
    Table,
    heading,
    paragraphs,
    parts_of,
)
from nexus_mcp.cli.options import count_noun
from nexus_mcp.cli.task_lines import MARKS, TASK_INDENT
from nexus_mcp.state import plan as plans
from nexus_mcp.views import cycles, task_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from nexus_mcp.cli.blocks import Content, Part
    from nexus_mcp.views.cycles import CycleRow
    from nexus_mcp.views.matches import Match
    from nexus_mcp.views.task_rows import Row

NO_TOPIC = "(no plan)"
_KINDS = {
    cycles.SAME: ("=", DIM),
    cycles.CHANGED: ("~", ACTIVE),
    cycles.ADDED: ("+", GOOD),
    cycles.REMOVED: ("-", PROBLEM),
}
_TASK_TEXTS = (("context", "context"), ("approach", "approach"), ("acceptance", "done when"), ("risk", "risk"))
"""Field of a task, and its label."""
_DAY, _MINUTE = len("2026-11-03"), len("2026-11-03T14:00")
_INDENT = 5
_SHORT = 70
"""A title and a value with fewer characters together are on one line."""


def day(stamp: str) -> str:
    """Return the day of a stamp, `no date` without one."""
    return stamp[:_DAY] or "no date"


def minute(stamp: str) -> str:
    """Return a stamp as `2026-11-03 14:00`, `no date` without one."""
    return stamp[:_MINUTE].replace("T", " ") or "no date"


def topic_of(row: CycleRow | Mapping[str, Any]) -> str:
    """Return the topic of a cycle or decision, on one line; NO_TOPIC without one."""
    return " ".join(row["topic"].split()) or NO_TOPIC


def table(
    rows: Sequence[CycleRow], when: Callable[[str], str] = minute, found: Sequence[Match | None] | None = None
) -> Table:
    """Return a table with a row for each cycle: with the counts of its decisions and tasks or, if `found` is not None,
    with the place of the match.

    `when` returns the text for a stamp. On a terminal the text is an age, and the column of branches is left out if all
    rows have the same branch.
    """
    if found is not None:
        return Table(
            (NUMBER, DETAIL, MAIN, MAIN),
            [
                [(str(row["number"]), STRONG), (when(row["completed_at"]), DIM), topic_of(row), _match(match)]
                for row, match in zip(rows, found, strict=True)
            ],
        )
    has_branches = when is minute or len({row["branch"] for row in rows}) > 1
    return Table(
        (NUMBER, DETAIL, MAIN, DETAIL, DETAIL, DETAIL),
        [
            [
                (str(row["number"]), STRONG),
                (when(row["completed_at"]), DIM),
                topic_of(row),
                count_noun(row["decisions"], "decision"),
                f"{row['done']}/{row['tasks']} done" if row["tasks"] else "no tasks",
                (row["branch"] if has_branches else "", DIM),
            ]
            for row in rows
        ],
    )


def _match(match: Match | None) -> Content:
    if match is None:
        return ("in a field that nexus-mcp history does not show", DIM)
    return [(f"{match['field']}: ", DIM), match["before"], (match["hit"], STRONG), match["after"]]


def more(shown: int, matching: int) -> list[Line]:
    """Return a line about the rows that are not shown, and how to show them; [] if all are shown."""
    return [] if shown == matching else [Line((f"The newest {shown} of {matching}; -n {matching} shows all.", DIM))]


def nothing(total: int, none_yet: str, filters: Iterable[str]) -> list[Line]:
    """Return why nothing is shown: there is no cycle at all, or none that matches."""
    if not total:
        return [Line(none_yet)]
    which = " ".join(filter(None, filters)) or "that matches"
    verb = "is" if total == 1 else "are"
    return [Line(f"No cycle {which}; there {verb} {total} in all. nexus-mcp history lists them.")]


def in_full(view: Mapping[str, Any]) -> list[Line | Table]:
    """Return one cycle in full. `view` is a result of cycle_view in views/cycles.py."""
    plan = view["plan"]
    issues = plan["issues"] if plan else []
    facts = [
        f"closed {minute(view['completed_at'])} UTC" if view["completed_at"] else "no date",
        *([f"branch {view['branch']}"] if view["branch"] else ()),
        f"{view['decisions']} of {count_noun(len(issues), 'question')} decided",
        f"{view['done']} of {count_noun(view['tasks'], 'task')} done",
    ]
    blocks: list[Line | Table] = [heading(f"Cycle {view['number']}: {topic_of(view)}"), Line((" · ".join(facts), DIM))]
    research = _text(plan or {}, "research_summary")
    if research.strip():
        blocks += [BLANK, heading("Research"), *paragraphs(research, indent=2)]
    if issues:
        blocks += [BLANK, heading("Questions and decisions")]
        for issue in issues:
            blocks += _issue(issue)
    if view["rows"]:
        blocks += [BLANK, heading("Tasks")]
        texts = {task.get("id"): task for task in view["task_list"]}
        width = max(len(str(row["id"])) for row in view["rows"])
        for row in view["rows"]:
            blocks += _task(row, texts.get(row["id"], {}), width)
    return blocks


def _issue(issue: Mapping[str, Any]) -> list[Line]:
    lead: Content = f"{_format_number(issue.get('id')):>3}  "
    lines = [Line((_one_line(issue, "title"), STRONG), lead=lead)]
    if issue.get("status") == plans.DECIDED:
        first, *rest = paragraphs(_text(issue, "decision"), indent=_INDENT + 2)
        lines += [Line(*first.parts, lead=[" " * _INDENT, ("→ ", GOOD)]), *rest]
    else:
        lines.append(Line(("not decided", QUESTION), lead=" " * _INDENT))
    advice = issue.get("how_summary")
    for agent, text in advice.items() if isinstance(advice, dict) else ():
        if isinstance(text, str):
            lines += add_label(f"{agent} advised", text)
    return lines


def add_label(label: str, text: str, indent: int = _INDENT) -> list[Line]:
    """Return a stored text with a label: before a text of one line, or on a line above a longer text."""
    lines = paragraphs(text, indent=indent + 2)
    lead = " " * indent
    if len(lines) == 1:
        return [Line((f"{label}: ", DIM), " ".join(text.split()), lead=lead)]
    return [Line((f"{label}:", DIM), lead=lead), *lines]


def _task(row: Row, task: Mapping[str, Any], width: int) -> list[Line]:
    """Return a task, laid out as in task_lines.task_table; its id has `width` columns."""
    mark, style = MARKS[row["state"]]
    about: list[Part] = []
    if row["state"] != task_rows.DONE:
        about.append(("  not done", style))
    notes = [
        *([f"@{row['owner']}"] if row["owner"] else ()),
        *([f"after {', '.join(map(str, row['deps']))}"] if row["deps"] else ()),
        *([f"for question {row['plan_issue']}"] if row["plan_issue"] is not None else ()),
    ]
    about += [(f"  {' · '.join(notes)}", DIM)] if notes else []
    lead: list[Part] = [" " * TASK_INDENT, (mark, style), f"{' ' * GAP}{row['id']!s:>{width}}{' ' * GAP}"]
    lines = [Line((" ".join(row["title"].split()), STRONG), *about, lead=[*lead])]
    indent = sum(len(text) for text, _ in parts_of([*lead]))
    for name, label in _TASK_TEXTS:
        if _text(task, name).strip():
            lines += add_label(label, _text(task, name), indent)
    return lines


def differences(view: Mapping[str, Any]) -> list[Line | Table]:
    """Return how two cycles differ. `view` is a result of compare in views/cycles.py."""
    blocks: list[Line | Table] = [
        Line(
            (f"Cycle {row['number']}: {topic_of(row)}", STRONG),
            (f"  {minute(row['completed_at'])}  {row['branch']}", DIM),
            lead=[(f"{sign} ", style)],
        )
        for sign, style, row in (("-", PROBLEM, view["old"]), ("+", GOOD, view["new"]))
    ]
    for title, rows in (("Questions", view["issues"]), ("Tasks", view["tasks"])):
        same = sum(row["kind"] == cycles.SAME for row in rows)
        changed = [row for row in rows if row["kind"] != cycles.SAME]
        verb = "differs" if len(changed) == 1 else "differ"
        note = f"{len(changed)} {verb}, {same} equal" if rows else "none in either"
        blocks += [BLANK, heading(title, note)]
        for row in changed:
            blocks += _difference(row)
    return blocks


def _difference(row: Mapping[str, Any]) -> list[Line]:
    sign, style = _KINDS[row["kind"]]
    title = " ".join(row["title"].split()) or "(no title)"
    if row["kind"] != cycles.CHANGED:
        value = row["before"] or row["after"]
        if "\n" not in value and len(title) + len(value) < _SHORT:
            return [Line(title, *([(f"  {value}", DIM)] if value else ()), lead=[(f"{sign} ", style)])]
        return [Line(title, lead=[(f"{sign} ", style)]), *paragraphs(value, indent=4)]
    lines = [Line(title, lead=[(f"{sign} ", style)])]
    for mark, mark_style, text in (("- ", PROBLEM, row["before"]), ("+ ", GOOD, row["after"])):
        first, *rest = paragraphs(text if text.strip() else "(nothing)", indent=6)
        lines += [Line(*first.parts, lead=["    ", (mark, mark_style)]), *rest]
    return lines


def _one_line(row: Mapping[str, Any], name: str) -> str:
    return " ".join(_text(row, name).split()) or "(no title)"


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _format_number(value: object) -> str:
    return str(value) if isinstance(value, int | float) else "-"
