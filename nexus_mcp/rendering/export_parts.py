"""Render the parts that the files of an export share: names, anchors, links, and stored texts of questions and tasks.

An anchor is an empty element with an id. Ids that a site derives from headings are not used: they would change with the
stored text.
"""

from __future__ import annotations

import re

from nexus_mcp.rendering.markdown import block, inline
from nexus_mcp.rendering.report_parts import stored_text
from nexus_mcp.state import plan as plans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

INDEX, PLAN, TASKS, DECISIONS, HISTORY = "README.md", "plan.md", "tasks.md", "decisions.md", "history.md"
NOTE = "Written by `nexus-mcp export md`. The next export replaces this file."
NO_TITLE = "(no title)"
TASK_TEXTS = (("context", "Context"), ("approach", "Approach"), ("acceptance", "Done when"), ("risk", "Risk"))
_MONTH = re.compile(r"\d{4}-\d{2}(?=-\d{2})")
_UNDATED = "undated"


def month_of(stamp: str) -> str:
    """Return the month of a stamp, `undated` for any other text."""
    found = _MONTH.match(stamp)
    return found[0] if found else _UNDATED


def history_file(month: str) -> str:
    """Return the name of the file with the cycles of a month."""
    return f"history-{month}.md"


def cycle_anchor(number: int) -> str:
    """Return the anchor of a closed cycle in its file."""
    return f"cycle-{number}"


def anchor(name: str) -> str:
    """Return an anchor."""
    return f'<a id="{name}"></a>'


def link(text: str, file: str, name: str = "") -> str:
    """Return a link to the anchor `name` in `file`, to the file without a name. `text` is Markdown.

    A `file` of "" means the file with the link.
    """
    return f"[{text}]({file}{'#' + name if name else ''})"


def title_of(row: Mapping[str, Any], name: str = "title") -> str:
    """Return a title as Markdown, NO_TITLE if there is none."""
    return inline(stored_text(row, name)) or NO_TITLE


def add_label(label: str, text: str, margin: str = "") -> Iterator[str]:
    """Yield a paragraph with a stored text: on one line, or as a quotation below its label; no line for a blank one."""
    if "\n" in text.strip():
        yield from (f"{margin}{label}:", margin, block(text, f"{margin}> "), margin)
    elif text.strip():
        yield from (f"{margin}{label}: {inline(text)}", margin)


def decision_and_advice(issue: Mapping[str, Any], margin: str = "") -> Iterator[str]:
    """Yield the decision about a question, and the advice of agents."""
    if issue.get("status") != plans.DECIDED:
        yield from (f"{margin}Not decided.", margin)
    else:
        yield from add_label("Decision", stored_text(issue, "decision") or "(none)", margin)
    advice = issue.get("how_summary")
    for agent, text in advice.items() if isinstance(advice, dict) else ():
        if isinstance(text, str):
            yield from add_label(f"{inline(agent) or 'An agent'} advised", text, margin)


def task_texts(task: Mapping[str, Any], margin: str = "") -> Iterator[str]:
    """Yield the longer texts of a task."""
    for name, label in TASK_TEXTS:
        yield from add_label(label, stored_text(task, name), margin)


def count(number: int, noun: str) -> str:
    """Return number and noun: `2 cycles`."""
    return f"{number} {noun}{'s' * (number != 1)}"
