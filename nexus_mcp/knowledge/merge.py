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
_KEPT = 1000  # notes whose words are kept for the next text of the same message: some 75 KB each


class Note:
    """What a text is compared with: the `tags` of a note, and `text`, what it says at its beginning behind them.

    Both are as they are compared, without case.
    """

    __slots__ = ("path", "tags", "text", "words")

    def __init__(self, path: str, tags: list[str], text: str) -> None:
        self.path = path
        self.tags = frozenset(tag.casefold() for tag in tags)
        self.text = text.casefold()
        self.words: frozenset[str] | None = None


def belongs_to(text: str, tags: Iterable[str], notes: Iterable[Note], policy: dict[str, Any]) -> list[str]:
    """The paths of the notes that `text`, with its own `tags`, belongs to, the best first, MOST at most.

    By `policy` (vocabulary/memory-policy.yml, merge) it is so many tags in common, a word of the text being as good as
    a tag of its own, or so much likeness.
    """
    own = frozenset(words(text))
    named = own.union(tag.casefold() for tag in tags)
    ranked = []
    # With c words in common of n the likeness is at most the root of c / n.
    enough = max(_LEAST_WORDS, int(policy["min_similarity"] ** 2 * len(own)))
    for number, note in enumerate(notes):
        shared = len(named & note.tags)
        is_tagged = shared >= policy["min_shared_tags"]
        likeness = _likeness(own, note, _LEAST_WORDS if is_tagged else enough, keep=number < _KEPT)
        if is_tagged or likeness >= policy["min_similarity"]:
            ranked.append((-likeness, -shared, note.path))
    return [path for _, _, path in sorted(ranked)[:MOST]]


def _likeness(own: frozenset[str], note: Note, least: int, *, keep: bool) -> float:
    """How like it is; none when fewer than `least` words can be in common."""
    theirs = note.words
    if theirs is None:
        if len(own) <= _FEW and not _may_have(own, note.text, least):
            return 0.0
        theirs = frozenset(words(note.text))
        if keep:
            note.words = theirs
    return similarity(own, theirs) if len(own & theirs) >= _LEAST_WORDS else 0.0


def _may_have(own: frozenset[str], text: str, least: int) -> bool:
    """Whether so many of the words can be in the text: each word of a text is a part of it."""
    if len(own) < least:
        return False
    for word in own:
        if word in text:
            least -= 1
            if not least:
                return True
    return False
