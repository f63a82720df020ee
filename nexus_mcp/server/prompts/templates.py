"""Write prompts as templates, for clients that put the typed words in later.

OpenCode 1.18 asks for a prompt with `$1`, `$2` … as the values of its arguments. In the result it replaces each
placeholder by one word that the user typed, and the last placeholder by all further words. So the result cannot depend
on the words; it explains to the model how to read them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FENCE = "`" * 8
"""Longer than the runs of backticks that people type."""
_NOTHING = "If nothing stands there, the user typed nothing behind the command."
_EXPANDED = r"\$(?=\d|ARGUMENTS)|!(?=`)|(?<![\w`])@"
_HARMLESS = {"$": "$ ", "!": "! ", "@": "\uff20"}


def is_template(names: Sequence[str], values: dict[str, str]) -> bool:
    """Return whether a client asks for a template: every argument has the placeholder of its place as its value."""
    return bool(names) and values == {name: f"${place}" for place, name in enumerate(names, 1)}


def typed_words(title: str, values: dict[str, str]) -> str:
    """Return the section with the words that the user will have typed, below a title."""
    return f"{title}\n\n{typed(' '.join(values.values()))}\n\n({_NOTHING})"


def typed(text: str) -> str:
    """Return a text with placeholders between fences."""
    return f"{FENCE}\n{text}\n{FENCE}"


def without_expansions(text: str) -> str:
    """Return a text in which OpenCode expands nothing.

    OpenCode replaces $1 and $ARGUMENTS, runs each !`command`, and attaches each file behind an @, wherever these stand:
    also in the title of an issue.
    """
    import re

    return re.sub(_EXPANDED, lambda found: _HARMLESS[found.group()], text)
