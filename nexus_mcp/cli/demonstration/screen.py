"""How the demo prints: calls and answers short enough to read, without colour where there is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from nexus_mcp.cli.demonstration.values import select, short
from nexus_mcp.log import printable

if TYPE_CHECKING:
    from nexus_mcp.cli.demonstration.script import Step
    from nexus_mcp.conformance.reply import Reply

EXCERPT_LINES = 20
MAX_WIDTH = 100


class _Console(Console):
    """Rich's own would end the process with code 1 and say nothing when the reader of the output goes away."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


class Screen:
    """Prints to stdout; the width is the terminal's, 80 where there is none, and never above MAX_WIDTH."""

    def __init__(self) -> None:
        self._console = _Console(highlight=False, markup=False, emoji=False)
        self._console.width = min(self._console.width, MAX_WIDTH)

    def line(self, text: str = "", style: str = "") -> None:
        """One paragraph, wrapped."""
        self._console.print(Text(printable(text), style=style))

    def title(self, text: str) -> None:
        """The head of a chapter."""
        self._console.print()
        self._console.print(Rule(Text(text, style="bold"), align="left", style="dim"))

    def verbatim(self, text: str) -> None:
        """Lines for copying: never wrapped or cut, whatever the width."""
        for line in text.split("\n"):
            self._console.print(Text(printable(line)), soft_wrap=True)

    def exchange(self, step: Step, reply: Reply) -> None:
        """A call and its answer, whose payload is an object."""
        if step.why:
            self._console.print()
            self.line(step.why, "italic")
        self._members(Text(step.tool, style="bold cyan"), step.arguments, 4)
        shown, complete = select(reply.payload, step.show)
        head = Text("  ✗", style="bold red") if reply.failed else Text("  →", style="green")
        self._members(head, shown, 4, [] if complete else [Text("…", style="dim")])

    def excerpt(self, text: str) -> None:
        """The first lines of a file, cut at the width."""
        lines = text.splitlines()
        for line in lines[:EXCERPT_LINES]:
            self._console.print(Text(f"  {printable(line)}", style="dim"), no_wrap=True, overflow="ellipsis")
        if len(lines) > EXCERPT_LINES:
            self.line(f"  … and {len(lines) - EXCERPT_LINES} lines more", "dim")

    def _members(self, head: Text, value: dict[str, Any], indent: int, more: list[Text] | None = None) -> None:
        """`head` and the members of an object, then `more`. The objects of a list have rows of their own."""
        cells: list[Text] = []
        for name, member in value.items():
            label = Text(f"{name} ", style="dim")
            if not (isinstance(member, list) and member and isinstance(member[0], dict)):
                cells.append(label.append(short(member), style="not dim"))
                continue
            if cells or head.plain.strip():
                self._flow(head, cells, indent)
            self._console.print(Text(f"{'':{indent}}{name}", style="dim"))
            for item in member:
                self._members(Text(f"{'':{indent}}  -", style="dim"), item, indent + 4)
            head, cells = Text(" " * (indent - 1)), []
        cells += more or []
        if cells or head.plain.strip():
            self._flow(head, cells, indent)

    def _flow(self, head: Text, cells: list[Text], indent: int) -> None:
        """`head`, then the cells beside each other as long as they fit; further lines are indented."""
        width = self._console.width
        line, gap = head, " "
        for cell in cells:
            if line.cell_len + len(gap) + cell.cell_len <= width:
                line, gap = line.copy().append(gap).append_text(cell), "  "
                continue
            if line.plain.strip():
                self._console.print(line)
            parts = cell.wrap(self._console, width - indent - 2)
            for number, part in enumerate(parts):
                line, gap = Text(" " * (indent + (2 if number else 0))).append_text(part), "  "
                if number < len(parts) - 1:
                    line.rstrip()
                    self._console.print(line)
        self._console.print(line)
