"""Text output of the commands: UTF-8 in every locale, strings for JSON and TOML, lines that fit the terminal.

File names in `.nexus` and arguments of clients are UTF-8. Python takes the encoding of both from the locale when it
starts and cannot change the encoding later: with LC_ALL=POSIX and PYTHONUTF8=0 the encoding is ASCII, and file names
with other characters cannot be created. So the program restarts itself once, in UTF-8 mode.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH = 80
"""Columns of a line where stdout is no terminal."""
_NARROWEST, _WIDEST = 40, 120  # columns
_LAST_OF_FOUR = 0xFFFF
"""The last character that an escape of four hexadecimal digits can name."""


def ensure_utf8(*, is_program: bool) -> None:
    """Restart the program in UTF-8 mode if it runs with another encoding, and make stdout escape what it cannot encode.

    It restarts only if `is_program` is true: a process that merely calls `main` is not replaced. Return when no restart
    is needed or possible.
    """
    if is_program and sys.getfilesystemencoding() != "utf-8" and "utf8" not in sys._xoptions and sys.executable:
        # The arguments keep their bytes, and stdin was not read yet. If the system refuses, the process continues:
        # only names that it cannot encode fail.
        with suppress(OSError, ValueError):
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Show characters that the terminal's encoding lacks as escapes instead of failing.
        sys.stdout.reconfigure(errors="backslashreplace")


def json_string(text: str) -> str:
    """Return `text` as a string of JSON, with every unprintable character escaped."""
    import json

    written = json.dumps(text, ensure_ascii=False)
    # json.dumps leaves DEL as it is, with and without ensure_ascii.
    return "".join(c if c.isprintable() else "\\u007f" if c == "\x7f" else json.dumps(c)[1:-1] for c in written)


def toml_string(text: str) -> str:
    """Return `text` as a basic string of TOML, with every unprintable character escaped."""
    import json

    written = json.dumps(text, ensure_ascii=False)  # TOML has the escapes of JSON, but no surrogate pairs
    return "".join(
        c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) <= _LAST_OF_FOUR else f"\\U{ord(c):08x}" for c in written
    )


def escape_invisible(written: str) -> str:
    """Return JSON in which each control, format, bidirectional and invisible character is an escape of JSON.

    The values stay the same. Outside of strings, JSON on one line has none of these characters.
    """
    import json

    from nexus_mcp.log import UNSEEN

    if written.isascii() and written.isprintable():
        return written
    shown: dict[int, str] = {}
    for char in set(written):
        if not char.isprintable() or char in UNSEEN:
            # json.dumps leaves DEL as it is, with and without ensure_ascii.
            shown[ord(char)] = "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]
    return written.translate(shown) if shown else written


def json_array(texts: Iterable[str]) -> str:
    """Return `texts` as an array of JSON."""
    return f"[{', '.join(map(json_string, texts))}]"


def toml_array(texts: Iterable[str]) -> str:
    """Return `texts` as an array of TOML."""
    return f"[{', '.join(map(toml_string, texts))}]"


def width() -> int:
    """Return the columns of a line: WIDTH, or those of the terminal within _NARROWEST and _WIDEST."""
    if not sys.stdout.isatty():
        return WIDTH
    import shutil

    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


def wrap(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Return `text` in lines, with `first` before the first line and `rest` (default: `first`) before the others.

    A word longer than a line stays whole, so that names can be copied.
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
