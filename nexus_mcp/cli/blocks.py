"""Describe lines and tables for people, which nexus_mcp/cli/terminal.py prints as plain text or on a terminal.

A block, which is a Line or a Table, may hold stored text as it is: the printing code escapes each text of a block, and
reads no markup in it.
"""

from __future__ import annotations

from nexus_mcp.log import printable
from nexus_mcp.quoting import inert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Part = str | tuple[str, str]
    """A text, or (text, style)."""
    Content = Part | list[Part]
    """One part, or a list of parts that follow each other on a line."""
    Parts = list[tuple[str, str]]

HEADING, STRONG, DIM = "heading", "strong", "dim"
GOOD, ACTIVE, READY, QUESTION, PROBLEM = "good", "active", "ready", "question", "problem"
STYLES = {
    "": "",
    HEADING: "bold",
    STRONG: "bold",
    DIM: "dim",
    GOOD: "green",
    ACTIVE: "yellow",
    READY: "cyan",
    QUESTION: "magenta",
    PROBLEM: "bold red",
}
"""Name of a style -> its definition for rich. With `NO_COLOR` only bold and dim remain, so no meaning may depend on a
colour.
"""

LEAD, NUMBER, MAIN, DETAIL = "lead", "number", "main", "detail"
"""Kinds of columns. On a terminal, a MAIN cell wraps, and other cells are cut to one line. NUMBER is a LEAD that is
aligned to the right. If the terminal is too narrow for a table, each row is stacked: first the LEAD cells and the first
MAIN cell with text, below them the other cells, dim; both parts wrap.
"""
GAP = 2
"""Blanks between two columns."""
_BULLETS = ("- ", "* ")


class Line:
    """One line: `lead`, then `parts`. On a terminal it wraps; further lines are indented by the width of `lead`."""

    __slots__ = ("lead", "parts")

    def __init__(self, *parts: Part, lead: Content = "") -> None:
        self.lead = lead
        self.parts = list(parts)


class Table:
    """Rows of cells in columns of the kinds `columns`, indented by `indent` blanks, with `titles` above them.

    A column without text in any row is left out.
    """

    __slots__ = ("columns", "indent", "rows", "titles")

    def __init__(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Content]],
        *,
        titles: Sequence[str] = (),
        indent: int = 0,
    ) -> None:
        found = [list(row) for row in rows]
        used = [at for at in range(len(columns)) if any(_has_text(row[at]) for row in found)]
        self.columns = [columns[at] for at in used]
        self.rows = [[row[at] for at in used] for row in found]
        self.titles = [titles[at] for at in used] if titles else []
        self.indent = indent


def _has_text(content: Content) -> bool:
    return any(text for text, _ in parts_of(content))


BLANK = Line()
"""An empty line."""


def heading(text: str, note: str = "") -> Line:
    """Return a heading, with a `note` behind it."""
    return Line((text, HEADING), *([(f"  {note}", DIM)] if note else []))


def paragraphs(text: str, *, indent: int = 0, style: str = "") -> list[Line]:
    """Return a Line for each line of a stored text, after removing the line breaks at both ends of the text."""
    lines = text.replace("\r\n", "\n").expandtabs(4).strip("\n").split("\n")
    return [_indent_line(line.rstrip(), indent, style) for line in lines]


def _indent_line(line: str, indent: int, style: str) -> Line:
    text = line.lstrip(" ")
    lead = " " * (indent + len(line) - len(text))
    for mark in _BULLETS:
        if text.startswith(mark):
            lead, text = lead + mark, text.removeprefix(mark)
    return Line((text, style), lead=lead) if text else BLANK


def parts_of(content: Content) -> Parts:
    """Return the parts of `content` as (text, style)."""
    many = content if isinstance(content, list) else [content]
    return [(part, "") if isinstance(part, str) else part for part in many]


def escape(text: str, *, terminal: bool) -> str:
    """Return `text` on one line, without characters that control a terminal or, in a pipe, begin a tag for a model.

    On a terminal only people read it, so `<` stays as it is there.
    """
    return printable(text) if terminal else inert(text)
