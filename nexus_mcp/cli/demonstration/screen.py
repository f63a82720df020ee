"""How the demo prints: calls and answers short enough to read, without colour where there is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from nexus_mcp.cli.demonstration.values import select, short

if TYPE_CHECKING:
    from nexus_mcp.cli.demonstration.script import Step
    from nexus_mcp.conformance.target import Outcome

EXCERPT_LINES = 20
MAX_WIDTH = 100


class Screen:
    """Prints to stdout; the width is the terminal's, 80 where there is none, and never above MAX_WIDTH."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._console.width = min(self._console.width, MAX_WIDTH)

    def line(self, text: str = "", style: str = "") -> None:
        """One paragraph, wrapped."""
        self._console.print(Text(text, style=style))

    def title(self, text: str) -> None:
        """The head of a chapter."""
        self._console.print()
        self._console.print(Rule(Text(text, style="bold"), align="left", style="dim"))

    def verbatim(self, text: str, style: str = "") -> None:
        """Lines for copying: never wrapped or cut, whatever the width."""
        self._console.print(Text(text, style=style), soft_wrap=True)

    def exchange(self, step: Step, outcome: Outcome) -> None:
        """A call and what came back."""
        if step.why:
            self._console.print()
            self.line(step.why, "italic")
        self._flow(Text(step.tool, style="bold cyan"), _cells(step.arguments), 4)
        shown, complete = select(outcome.value, step.show)
        cells = _cells(shown)
        if not complete:
            cells.append(Text("…", style="dim"))
        self._flow(Text("  ✗", style="bold red") if outcome.is_error else Text("  →", style="green"), cells, 4)

    def excerpt(self, text: str) -> None:
        """The first lines of a file, cut at the width."""
        lines = text.splitlines()
        for line in lines[:EXCERPT_LINES]:
            self._console.print(Text(f"  {line}", style="dim"), no_wrap=True, overflow="ellipsis")
        if len(lines) > EXCERPT_LINES:
            self.line(f"  … and {len(lines) - EXCERPT_LINES} lines more", "dim")

    def _flow(self, head: Text, cells: list[Text], indent: int) -> None:
        """`head`, then the cells beside each other as long as they fit; further lines are indented."""
        width = self._console.width
        line = head
        empty = False
        for cell in cells:
            gap = "" if empty else " " if line is head else "  "
            if line.cell_len + len(gap) + cell.cell_len <= width:
                line.append(gap).append_text(cell)
                line, empty = line.copy(), False
                continue
            if not empty:
                self._console.print(line)
            parts = cell.wrap(self._console, width - indent - 2)
            for number, part in enumerate(parts):
                line = Text(" " * (indent + (2 if number else 0))).append_text(part)
                if number < len(parts) - 1:
                    line.rstrip()
                    self._console.print(line)
        self._console.print(line)


def _cells(value: dict[str, Any]) -> list[Text]:
    """One cell for each member; an object alone in a list is spread out, of several each has a cell."""
    cells = []
    for name, member in value.items():
        label = Text(f"{name} ", style="dim")
        items = member if isinstance(member, list) and member and isinstance(member[0], dict) else []
        if len(items) == 1:
            inner = _cells(items[0])
            cells += [label.append_text(inner[0]), *inner[1:]]
        elif items:
            cells += [label.append_text(_plain(items[0])), *map(_plain, items[1:])]
        else:
            cells.append(label.append_text(_plain(member)))
    return cells


def _plain(value: Any) -> Text:
    return Text(short(value), style="not dim")
