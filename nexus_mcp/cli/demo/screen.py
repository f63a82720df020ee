"""Print calls and responses of the demo: shortened to be readable, and without colour where stdout is no terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.rule import Rule
from rich.text import Text

from nexus_mcp.cli.text_output import json_string
from nexus_mcp.conformance.report.terminal import RaisingConsole
from nexus_mcp.log import printable

if TYPE_CHECKING:
    from nexus_mcp.cli.demo.script import Step
    from nexus_mcp.conformance.failures import Reply

LONGEST_TEXT = 64  # characters
EXCERPT_LINES = 20
MAX_WIDTH = 100  # columns


def shorten(value: Any) -> str:
    """Return `value` as near-JSON: field names without quotes, long strings cut."""
    if isinstance(value, str):
        cut = value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1].rstrip() + "…"
        return json_string(cut)
    if isinstance(value, list):
        return f"[{', '.join(map(shorten, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {shorten(item)}' for name, item in value.items())}}}"
    return json.dumps(value)


def select(value: dict[str, Any], names: tuple[str, ...]) -> tuple[dict[str, Any], bool]:
    """Return the fields of `value` that `names` lists (all if it is empty), and whether `value` has no others.

    "task.id" is the field `id` of the field `task`.
    """
    if not names:
        return value, True
    chosen: dict[str, Any] = {}
    for name in names:
        field: Any = value
        for part in name.split("."):
            field = field[part]
        chosen[name.rpartition(".")[2]] = field
    return chosen, chosen == value


class Screen:
    """Prints to stdout; the width is that of the terminal, 80 without a terminal, and never above MAX_WIDTH."""

    def __init__(self) -> None:
        self._console = RaisingConsole(highlight=False, markup=False, emoji=False)
        self._console.width = min(self._console.width, MAX_WIDTH)

    def line(self, text: str = "", style: str = "") -> None:
        """Print one paragraph, wrapped."""
        self._console.print(Text(printable(text), style=style))

    def title(self, text: str) -> None:
        """Print the title of a chapter."""
        self._console.print()
        self._console.print(Rule(Text(text, style="bold"), align="left", style="dim"))

    def verbatim(self, text: str) -> None:
        """Print lines for copying: never wrapped or cut, whatever the width."""
        for line in text.split("\n"):
            self._console.print(Text(printable(line)), soft_wrap=True)

    def exchange(self, step: Step, reply: Reply) -> None:
        """Print a call and its response, whose payload is an object."""
        if step.why:
            self._console.print()
            self.line(step.why, "italic")
        self._fields(Text(step.tool, style="bold cyan"), step.arguments, 4)
        shown, complete = select(reply.payload, step.show)
        head = Text("  ✗", style="bold red") if reply.is_failure else Text("  →", style="green")
        self._fields(head, shown, 4, [] if complete else [Text("…", style="dim")])

    def excerpt(self, text: str) -> None:
        """Print the first lines of a file, cut at the width."""
        lines = text.splitlines()
        for line in lines[:EXCERPT_LINES]:
            self._console.print(Text(f"  {printable(line)}", style="dim"), no_wrap=True, overflow="ellipsis")
        if len(lines) > EXCERPT_LINES:
            self.line(f"  … and {len(lines) - EXCERPT_LINES} lines more", "dim")

    def _fields(self, head: Text, value: dict[str, Any], indent: int, more: list[Text] | None = None) -> None:
        """Print `head`, the fields of an object, and the cells `more`. Each object of a list gets its own rows."""
        cells: list[Text] = []
        for name, field in value.items():
            label = Text(f"{name} ", style="dim")
            if not (isinstance(field, list) and field and isinstance(field[0], dict)):
                cells.append(label.append(shorten(field), style="not dim"))
                continue
            if cells or head.plain.strip():
                self._flow(head, cells, indent)
            self._console.print(Text(f"{'':{indent}}{name}", style="dim"))
            for item in field:
                self._fields(Text(f"{'':{indent}}  -", style="dim"), item, indent + 4)
            head, cells = Text(" " * (indent - 1)), []
        cells += more or []
        if cells or head.plain.strip():
            self._flow(head, cells, indent)

    def _flow(self, head: Text, cells: list[Text], indent: int) -> None:
        """Print `head`, then the cells side by side, on further indented lines if needed."""
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
