"""Quote stored and foreign text for a model, so that it stays data. No other module does this.

Text for a model is placed in tags of a harness (`<system-reminder>`), in Markdown, and between our own words. Quoted
text cannot end any of these. A `<` where a tag could begin is written `&lt;`. Control, format and invisible characters
are written as escapes. A quotation mark or a fence within the text does not end the quotation. No code decodes a
quoted text: the original is in the file and in tool results (docs/decisions/0072).
"""

from __future__ import annotations

from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ESCAPED = "&lt;"
# `<` and the characters that become `<` when Unicode text is normalized to its compatibility form (NFKC).
_OPENING = "<\uff1c\ufe64"
_TICKS = "`\uff40\u1fef"
# Characters that may follow `<` without beginning a tag, a declaration or a special token of a model (`<|im_start|>`).
_HARMLESS = frozenset(" \"#$%&'()*+,-.:;<=>@[\\]^_`{}~0123456789")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+*@~")
_LEAST = 3  # backticks of a fence
_LONGEST_PATH = 300
_LONGEST_NAME = 200
_TAB = 4
MARK = "> "
"""The mark before each line of a quoted block."""


def inert(text: str) -> str:
    """Return `text` on one line, with nothing in it that begins a tag or cannot be seen.

    A second call changes nothing, so a text that is inert already may be passed, too.
    """
    shown = printable(text)
    if not any(char in shown for char in _OPENING):
        return shown
    return "".join(
        ESCAPED if char in _OPENING and shown[at + 1 : at + 2] not in _HARMLESS else char
        for at, char in enumerate(shown)
    )


def inert_lines(text: str) -> str:
    """Return `text` with each of its lines inert."""
    return "\n".join(map(inert, text.split("\n")))


def quote(text: str, most: int) -> str:
    """Return `text` between quotation marks, inert, backslashes and quotation marks in it escaped.

    A text of more than `most` characters is truncated, and a `…` follows the closing mark.
    """
    cut = text[:most]
    escaped = inert(cut.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{escaped}"' if len(cut) == len(text) else f'"{escaped}"…'


def quoted_name(text: str, most: int = _LONGEST_NAME) -> str:
    """Return a name, id or path unchanged if it has only ASCII letters, digits and `_-./:+*@~`, else quoted.

    An empty one is quoted, too, and one of more than `most` characters.
    """
    return text if 0 < len(text) <= most and _PLAIN.issuperset(text) else quote(text, most)


def line(text: object, most: int) -> str:
    """Return the first `most` characters of a stored text on one line, not between quotation marks; "" if `text` is no
    string. A `…` follows a truncated text.
    """
    plain = " ".join(text.split()) if isinstance(text, str) else ""
    return inert(plain[:most]) + ("…" if len(plain) > most else "")


def marked_lines(text: str, most: int, more: str) -> str:
    """Return a stored text line by line, each inert and behind MARK; `more` follows a truncated text."""
    cut = text[:most]
    lines = cut.strip("\r\n").replace("\r\n", "\n").expandtabs(_TAB).split("\n")
    marked = "\n".join(f"{MARK}{inert(one)}".rstrip() for one in lines)
    return marked if len(cut) == len(text) else f"{marked}\n{more}"


def fence(text: str) -> str:
    """Return the unchanged `text` between fences that are longer than any run of backticks in it.

    Use it for words that the model has to use unchanged: the user's own words in this request, which are no stored
    text.
    """
    longest = run = 0
    for char in text:
        run = run + 1 if char in _TICKS else 0
        longest = max(longest, run)
    fence = "`" * max(_LEAST, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def fault(error: Any, text: str = "") -> str:
    """Return a NexusError's `text` (by default its fault), inert, with the path in it quoted.

    A path with fewer than two slashes, such as one directly in .nexus, and one directly in .nexus/state stay unquoted:
    these names are ours.
    """
    path = getattr(error, "path", "") or getattr(error, "file", "")
    shown: str = text or error.fault
    ours = path.count("/") < 2 or (path.count("/") == 2 and path.startswith(".nexus/state/"))
    return inert(shown if ours else shown.replace(path, quote(path, _LONGEST_PATH)))
