"""Print the blocks of nexus_mcp/cli/blocks.py on a terminal with rich: with styles, and in lines that fit the width.

The layout is our own: on a narrow terminal rich would cut words or columns, and we stack the cells of a row instead.
Texts are rich.text objects throughout: rich reads no markup in them.
"""

from __future__ import annotations

import os
import shutil
from typing import IO, TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.text import Text

from nexus_mcp.cli.blocks import DIM, GAP, LEAD, MAIN, NUMBER, STYLES, Line, Table, escape, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nexus_mcp.cli.blocks import Content

_LEAST_WIDTH = 8
_LEAST_MAIN = 24
"""The minimum width of a MAIN column that wraps; if the terminal has less room, the table is stacked."""
_WIDEST_CELL = 32
"""A wider cell of a column that does not wrap is cut."""
_WIDEST_LINE = 110
"""The maximum width of a line of text that is not in a table, because longer lines are hard to read."""
_LEAST_TEXT = 10
"""The minimum width of a text beside its lead; with less room, the text begins on the next line."""
_INDENT = 2


class _Console(Console):
    """A console that raises when the reader of its output goes away; rich's own would end the process with code 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


class Terminal:
    """stdout as a terminal of `width` columns."""

    is_terminal = True

    def __init__(self, file: IO[str], width: int | None = None) -> None:
        environ = dict(os.environ)
        environ.pop("COLUMNS", None)  # with COLUMNS=0 rich prints nothing; `width` is used
        self._fixed = width
        self.console = _Console(
            file=file,
            force_terminal=True,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ=environ,
        )
        self.measure()

    def measure(self) -> None:
        """Set the width: the fixed one, or the present width of the terminal."""
        width = self._fixed or shutil.get_terminal_size().columns
        self.width = max(width, _LEAST_WIDTH)
        self.console.width = self.width

    def show(self, blocks: Iterable[Line | Table]) -> None:
        """Print the blocks. Raise OSError."""
        for line in self.lines(blocks):
            self.console.print(line, soft_wrap=True)

    def lines(self, blocks: Iterable[Line | Table]) -> Iterator[Text]:
        """Yield the lines of the blocks, none wider than `width`."""
        for block in blocks:
            yield from self._line(block) if isinstance(block, Line) else self._table(block)

    def _line(self, block: Line) -> Iterator[Text]:
        lead = _text(block.lead)
        yield from self._hanging(lead, _text(block.parts), min(self.width, _WIDEST_LINE))

    def _hanging(self, lead: Text, text: Text, width: int, more: int = 0) -> Iterator[Text]:
        """Yield `lead` and `text` in lines. Indent the second and later lines by the width of the lead plus `more`."""
        room = width - lead.cell_len - more
        if room < min(_LEAST_TEXT, text.cell_len):
            if lead.plain.strip():
                yield from _wrap(self.console, lead, width)
            lead, room = Text(" " * _INDENT), width - _INDENT - more
        for line in _wrap(self.console, text, room):
            yield _strip(Text.assemble(lead, line))
            lead, more = Text(" " * (lead.cell_len + more)), 0

    def _table(self, table: Table) -> Iterator[Text]:
        rows = [[_text(cell) for cell in row] for row in table.rows]
        titles = [_text((title, DIM)) for title in table.titles]
        widths = _widths(table.columns, [titles, *rows] if titles else rows, self.width - table.indent)
        if widths is None:
            for row in rows:
                yield from self._stack(table, row)
            return
        for row in [titles, *rows] if titles else rows:
            yield from self._side_by_side(table, row, widths)

    def _side_by_side(self, table: Table, row: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
        columns = []
        for kind, text, width in zip(table.columns, row, widths, strict=True):
            if kind == MAIN:
                columns.append(_wrap(self.console, text, max(width, 1)))
                continue
            one = text.copy()
            one.truncate(max(width, 1), overflow="ellipsis")
            if kind == NUMBER:
                one.pad_left(width - one.cell_len)
            columns.append([one])
        for number in range(max(map(len, columns))):
            line = Text(" " * table.indent)
            for at, (column, width) in enumerate(zip(columns, widths, strict=True)):
                one = column[number] if number < len(column) else Text()
                line.append_text(one)
                line.append(" " * (width - one.cell_len + GAP * (at + 1 < len(columns))))
            yield _strip(line)

    def _stack(self, table: Table, row: Sequence[Text]) -> Iterator[Text]:
        lead, text, rest = Text(" " * table.indent), Text(), []
        for kind, one in zip(table.columns, row, strict=True):
            if kind in (LEAD, NUMBER):
                lead.append_text(one).append(" " * GAP) if one.plain else None
            elif kind == MAIN and not text.plain:
                text = one
            elif one.plain:
                rest.append(one)
        # Without a lead, only the indent shows where the next row begins.
        more = _INDENT if lead.cell_len == table.indent else 0
        yield from self._hanging(lead, text, self.width, more)
        if rest:
            joined = Text(" · ", style=STYLES[DIM]).join(rest)
            joined.stylize_before(STYLES[DIM])
            below = lead.cell_len if self.width - lead.cell_len >= _LEAST_TEXT else _INDENT
            yield from self._hanging(Text(" " * (below + more)), joined, self.width)


def _text(content: Content) -> Text:
    return Text.assemble(*((escape(text, terminal=True), STYLES[style]) for text, style in parts_of(content)))


def _wrap(console: Console, text: Text, width: int) -> list[Text]:
    """Return `text` in lines; a word is divided only if it is wider than a line."""
    lines = list(text.wrap(console, max(width, 2), overflow="fold"))  # a wide character needs 2 columns
    return [_strip(line) for line in lines] or [Text()]


def _strip(text: Text) -> Text:
    text.rstrip()
    return text


def _widths(columns: Sequence[str], rows: Sequence[Sequence[Text]], room: int) -> list[int] | None:
    """Return the width of each column, None if the columns do not fit beside each other."""
    natural = [max((row[at].cell_len for row in rows), default=0) for at in range(len(columns))]
    widths = [width if kind == MAIN else min(width, _WIDEST_CELL) for kind, width in zip(columns, natural, strict=True)]
    mains = sorted((at for at, kind in enumerate(columns) if kind == MAIN), key=lambda at: widths[at])
    left = room - GAP * (len(columns) - 1) - sum(width for at, width in enumerate(widths) if at not in mains)
    # Two texts that wrap beside each other are hard to read.
    if left < sum(widths[at] if len(mains) > 1 else min(widths[at], _LEAST_MAIN) for at in mains):
        return None
    for number, at in enumerate(mains):  # the smallest first, so that the others get the room that it leaves
        widths[at] = min(widths[at], left // (len(mains) - number))
        left -= widths[at]
    return widths
