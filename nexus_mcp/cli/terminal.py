"""Show lines and tables on stdout: as plain text, or fitted to a terminal.

    screen = open_screen()
    screen.show([heading("Ready"), Table((LEAD, MAIN, DETAIL), [[("4", READY), "Write the parser", "engineer"]])])

In a pipe, the output is plain text: a line for each row, neither wrapped nor cut, without escape sequences. rich is not
imported. On a terminal, rich_terminal.py fits the output into the width. `FORCE_COLOR`, `NO_COLOR` and `TERM=dumb` have
the same effect as in rich.
"""

from __future__ import annotations

import os
import sys
import unicodedata

from nexus_mcp.cli.blocks import GAP, NUMBER, Line, escape, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nexus_mcp.cli.blocks import Content, Table
    from nexus_mcp.cli.rich_terminal import Terminal

_WIDEST_PADDING = 100
"""A wider cell of plain text does not widen its column for the other rows."""


class PlainText:
    """stdout as plain text. `width` is 0: no line is wrapped or cut."""

    is_terminal = False
    width = 0

    def show(self, blocks: Iterable[Line | Table]) -> None:
        """Print the blocks. Raise OSError."""
        for block in blocks:
            for text in plain_lines(block):
                print(text)


if TYPE_CHECKING:
    Screen = PlainText | Terminal


def open_screen() -> Screen:
    """Return the screen for stdout: plain text, or a terminal."""
    if not is_terminal(os.environ):
        return PlainText()
    from nexus_mcp.cli.rich_terminal import Terminal

    return Terminal(sys.stdout)


def is_terminal(environ: Mapping[str, str]) -> bool:
    """Return whether stdout takes escape sequences and has a width, by the same variables as rich."""
    compatible = environ.get("TTY_COMPATIBLE", "")
    if compatible in ("0", "1"):
        return compatible == "1"
    forced = environ.get("FORCE_COLOR")
    return sys.stdout.isatty() if forced is None else forced != ""


def plain_lines(block: Line | Table) -> Iterator[str]:
    """Yield a block as lines of plain text, without blanks at their ends."""
    if isinstance(block, Line):
        yield (_plain(block.lead) + _plain(block.parts)).rstrip()
        return
    rows = [[_plain(cell) for cell in row] for row in ([block.titles] if block.titles else []) + block.rows]
    sizes = [[cells(text) for text in row] for row in rows]
    widths = [
        max((size for size in column if size <= _WIDEST_PADDING), default=0) for column in zip(*sizes, strict=True)
    ]
    for row, size in zip(rows, sizes, strict=True):
        padded = []
        for text, used, width, kind in zip(row, size, widths, block.columns, strict=True):
            padding = " " * max(0, width - used)
            padded.append(padding + text if kind == NUMBER else text + padding)
        yield (" " * block.indent + (" " * GAP).join(padded)).rstrip()


def cells(text: str) -> int:
    """Return how many columns of a terminal `text` takes: wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else unicodedata.category(char) not in ("Mn", "Me")
        for char in text
    )


def _plain(content: Content) -> str:
    return "".join(escape(text, terminal=False) for text, _ in parts_of(content))
