"""The words of a text that say what it is about, and how alike two texts are by them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

SHORTEST = 3
_MOST_KNOWN = 4096
# Words that say nothing of what a text is about.
_EMPTY = frozenset(
    (
        *("about", "after", "all", "also", "and", "any", "are", "because", "been", "before", "but", "can", "cannot"),
        *("did", "does", "each", "else", "every", "few", "for", "from", "had", "has", "have", "here", "how", "into"),
        *("its", "just", "let", "may", "might", "more", "most", "must", "never", "not", "now", "off", "once", "one"),
        *("only", "other", "our", "out", "over", "own", "same", "shall", "should", "since", "some", "such", "than"),
        *("that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "too", "under"),
        *("until", "use", "used", "very", "was", "were", "what", "when", "where", "which", "while", "who", "why"),
        *("will", "with", "without", "would", "you", "your"),
    )
)
WIDE = "\u2e80"  # from here on scripts do not put blanks between words


class _Blanked(dict[int, int]):
    """For str.translate: a blank for what is no letter and no digit. Filled as characters come, up to a bound."""

    def __missing__(self, code: int) -> int:
        found = code if chr(code).isalnum() else 32
        if len(self) < _MOST_KNOWN:
            self[code] = found
        return found


_BLANKED = _Blanked()


def words(text: str) -> list[str]:
    """The words of `text` in the order in which they come first, each once, in lower case, without empty ones.

    A run of a script that puts no blanks between words is taken by pairs of characters.
    """
    found: dict[str, None] = {}
    for run in dict.fromkeys(text.casefold().translate(_BLANKED).split()):
        if not run.isascii() and max(run) >= WIDE:
            found.update(dict.fromkeys(run[at : at + 2] for at in range(max(1, len(run) - 1))))
        elif len(run) >= SHORTEST and run not in _EMPTY and not run.isdecimal():
            found[run] = None
    return list(found)


def similarity(one: Collection[str], other: Collection[str]) -> float:
    """From 0 to 1: the words in common, by the geometric mean of the numbers of words (the Ochiai coefficient).

    Unlike a share of all words of both (Jaccard) it finds a sentence in a note of a page.
    """
    if not one or not other:
        return 0.0
    common = len(set(one) & set(other))
    return float(common / (len(one) * len(other)) ** 0.5)
