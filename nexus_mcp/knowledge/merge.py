"""Merge before create: which notes a new text belongs to."""

from __future__ import annotations

from nexus_mcp.knowledge.words import similarity, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST = 3
_LEAST_WORDS = 2  # fewer in common is chance
_FEW = 40  # so many words are looked for one by one sooner than all words of a note are taken


class Note:
    """What a text is compared with: the `tags` of a note, and `text`, what it says at its beginning behind them.

    Both are as they are compared, without case.
    """

    __slots__ = ("path", "tags", "text")

    def __init__(self, path: str, tags: list[str], text: str) -> None:
        self.path = path
        self.tags = frozenset(tag.casefold() for tag in tags)
        self.text = text.casefold()


def belongs_to(text: str, tags: Iterable[str], notes: Iterable[Note], policy: dict[str, Any]) -> list[str]:
    """The paths of the notes that `text`, with its own `tags`, belongs to, the best first, MOST at most.

    By `policy` (vocabulary/memory-policy.yml, merge) it is so many tags in common, a word of the text being as good as
    a tag of its own, or so much likeness.
    """
    own = frozenset(words(text))
    named = own.union(tag.casefold() for tag in tags)
    ranked = []
    for note in notes:
        shared = len(named & note.tags)
        likeness = _likeness(own, note)
        if shared >= policy["min_shared_tags"] or likeness >= policy["min_similarity"]:
            ranked.append((-likeness, -shared, note.path))
    return [path for _, _, path in sorted(ranked)[:MOST]]


def _likeness(own: frozenset[str], note: Note) -> float:
    # A word of a text is a part of it.
    if len(own) <= _FEW and sum(word in note.text for word in own) < _LEAST_WORDS:
        return 0.0
    theirs = frozenset(words(note.text))
    return similarity(own, theirs) if len(own & theirs) >= _LEAST_WORDS else 0.0
