"""Write prompts as templates, for clients that insert the user's words later.

OpenCode 1.18 asks for a prompt with `$1`, `$2` … as the values of its arguments. In the result OpenCode replaces
the last placeholder by all remaining words that the user typed, and each other placeholder by one word. So the result
cannot depend on the words, but it explains to the model how to read them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FENCE = "`" * 8
"""A fence that is longer than any run of backticks that people usually type."""
_NOTHING = "If this block is empty, the user typed nothing after the command."
_EXPANDED = r"\$(?=\d|ARGUMENTS)|!(?=`)|(?<![\w`])@"
_HARMLESS = {"$": "$ ", "!": "! ", "@": "\uff20"}


def is_template(names: Sequence[str], values: dict[str, str]) -> bool:
    """Return whether a client requests a template: the value of each argument is the placeholder for its place."""
    return bool(names) and values == {name: f"${place}" for place, name in enumerate(names, 1)}


def typed_words(title: str, values: dict[str, str]) -> str:
    """Return a section with a title, the placeholders for the words of the user, and a note about an empty block."""
    return f"{title}\n\n{fence_typed(' '.join(values.values()))}\n\n({_NOTHING})"


def fence_typed(text: str) -> str:
    """Return `text`, which has placeholders, in a fenced block."""
    return f"{FENCE}\n{text}\n{FENCE}"


def without_expansions(text: str) -> str:
    """Return `text`, changed so that OpenCode expands nothing in it.

    OpenCode replaces $1 and $ARGUMENTS, runs each !`command`, and attaches each file named after an @. It does so
    everywhere in the text, for example in the title of an issue.
    """
    import re

    return re.sub(_EXPANDED, lambda found: _HARMLESS[found.group()], text)
