"""Lines that are no wider than the terminal, for people."""

from __future__ import annotations

import sys

WIDTH = 80
"""Of what goes elsewhere."""
_NARROWEST, _WIDEST = 40, 120


def width() -> int:
    """How wide a line may be: as the terminal is, within reason."""
    if not sys.stdout.isatty():
        return WIDTH
    import shutil

    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """The text in lines; `first` is before the first of them, `rest` before the others, the same when left out.

    Only a word that is longer makes a line wider: a name is not cut in two.
    """
    import textwrap

    return textwrap.wrap(
        text,
        width(),
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
