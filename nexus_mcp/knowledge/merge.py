"""Find the notes that a new text belongs to (merge before create), by shared tags and similar words."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

SHORTEST = 3
_MOST_KNOWN = 4096
_STOP_WORDS = frozenset(
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
# From this character on, most scripts have no blanks between words.
WIDE = "\u2e80"


class _BlankTable(dict[int, int]):
    """A table for str.translate: replaces all but letters and digits by blanks; filled on demand, up to a limit."""

    def __missing__(self, code: int) -> int:
        found = code if chr(code).isalnum() else 32
        if len(self) < _MOST_KNOWN:
            self[code] = found
        return found


_BLANKED = _BlankTable()


def words(text: str) -> list[str]:
    """Return the words of `text` in order of appearance, each once, in lower case, without stop words, numbers and
    words of fewer than SHORTEST characters.

    A word with a character from WIDE on is split into its overlapping pairs of characters.
    """
    found: dict[str, None] = {}
    for run in dict.fromkeys(text.casefold().translate(_BLANKED).split()):
        if not run.isascii() and max(run) >= WIDE:
            found.update(dict.fromkeys(run[at : at + 2] for at in range(max(1, len(run) - 1))))
        elif len(run) >= SHORTEST and run not in _STOP_WORDS and not run.isdecimal():
            found[run] = None
    return list(found)


def similarity(one: Collection[str], other: Collection[str]) -> float:
    """Return the Ochiai coefficient of two sets of words, from 0 to 1.

    It divides the number of common words by the geometric mean of both sizes. For a sentence and a note of a page that
    contains the sentence, it is far higher than the Jaccard index, which is close to 0 there.
    """
    if not one or not other:
        return 0.0
    common = len(set(one) & set(other))
    return float(common / (len(one) * len(other)) ** 0.5)


MOST = 3
_LEAST_WORDS = 2  # fewer common words may be chance
_FEW = 40  # with at most so many words, searching the note for each word is faster than splitting the note
_KEPT = 1000  # notes whose words are cached for the next text of the same message, about 75 KB each


class Note:
    """The parts of a note for comparisons, case-folded: its `tags`, and `text`, its beginning after the tag line.

    `words` are the words of `text`, None until they are cached.
    """

    __slots__ = ("path", "tags", "text", "words")

    def __init__(self, path: str, tags: list[str], text: str) -> None:
        self.path = path
        self.tags = frozenset(tag.casefold() for tag in tags)
        self.text = text.casefold()
        self.words: frozenset[str] | None = None


def find_matches(text: str, tags: Iterable[str], notes: Iterable[Note], policy: dict[str, Any]) -> list[str]:
    """Return the paths of the notes to which `text` with its own `tags` belongs: at most MOST, the most similar first.

    `policy` (vocabulary/memory-policy.yml, merge) sets the required number of common tags (a word of the text counts
    like a tag) and the required similarity; one of the two is enough.
    """
    own = frozenset(words(text))
    named = own.union(tag.casefold() for tag in tags)
    ranked = []
    # If c of the text's n words are common, the similarity is at most the square root of c / n.
    enough = max(_LEAST_WORDS, int(policy["min_similarity"] ** 2 * len(own)))
    for number, note in enumerate(notes):
        shared = len(named & note.tags)
        is_tagged = shared >= policy["min_shared_tags"]
        likeness = _likeness(own, note, _LEAST_WORDS if is_tagged else enough, keep=number < _KEPT)
        if is_tagged or likeness >= policy["min_similarity"]:
            ranked.append((-likeness, -shared, note.path))
    return [path for _, _, path in sorted(ranked)[:MOST]]


def _likeness(own: frozenset[str], note: Note, least: int, *, keep: bool) -> float:
    """Return the similarity; 0 if fewer than _LEAST_WORDS words are common.

    If fewer than `least` words occur in the text of the note, the result may be 0, too: then the note is not split.
    """
    theirs = note.words
    if theirs is None:
        if len(own) <= _FEW and not _may_have(own, note.text, least):
            return 0.0
        theirs = frozenset(words(note.text))
        if keep:
            note.words = theirs
    return similarity(own, theirs) if len(own & theirs) >= _LEAST_WORDS else 0.0


def _may_have(own: frozenset[str], text: str, least: int) -> bool:
    """Return whether at least `least` of the words occur in the text, perhaps as parts of words."""
    if len(own) < least:
        return False
    for word in own:
        if word in text:
            least -= 1
            if not least:
                return True
    return False
