"""Texts as a shell, JSON and TOML take them, with nothing in them that would act on the terminal that shows them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def shell_line(words: Iterable[str]) -> str:
    """The words for a shell. One with unprintable characters is written as bash and zsh take it: $'\\x1b'."""
    return " ".join(map(_shell_word, words))


def quoted(text: str) -> str:
    """The text as a string of JSON, which is one of TOML too."""
    import json

    written = json.dumps(text, ensure_ascii=False)
    # JSON leaves DEL as it is, in either mode.
    return "".join(c if c.isprintable() else "\\u007f" if c == "\x7f" else json.dumps(c)[1:-1] for c in written)


def quoted_list(texts: Iterable[str]) -> str:
    """The texts as an array of JSON, which is one of TOML too."""
    return f"[{', '.join(map(quoted, texts))}]"


def _shell_word(word: str) -> str:
    from shlex import quote

    if word.isprintable():
        return quote(word)
    escaped = (
        f"\\{char}"
        if char in "\\'"
        else char
        if char.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
        for char in word
    )
    return f"$'{''.join(escaped)}'"
