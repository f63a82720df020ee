"""Merge before create: which notes a new text belongs to."""

from __future__ import annotations

from nexus_mcp.knowledge.words import similarity, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST = 3
_LEAST_WORDS = 2  # fewer in common is chance


def belongs_to(text: str, tags: Iterable[str], notes: Iterable[dict[str, Any]], policy: dict[str, Any]) -> list[str]:
    """The paths of the notes that `text`, with its own `tags`, belongs to, the best first, MOST at most.

    `notes` are entries of the index with their "text". By `policy` (vocabulary/memory-policy.yml, merge) it is so many
    tags in common, a word of the text being as good as a tag of its own, or so much likeness.
    """
    own = words(text)
    named = {tag.casefold() for tag in tags} | set(own)
    ranked = []
    for note in notes:
        theirs = words(note["text"])
        shared = len(named & {tag.casefold() for tag in note["tags"]})
        likeness = similarity(own, theirs) if len(set(own) & set(theirs)) >= _LEAST_WORDS else 0.0
        if shared >= policy["min_shared_tags"] or likeness >= policy["min_similarity"]:
            ranked.append((-likeness, -shared, note["path"]))
    return [path for _, _, path in sorted(ranked)[:MOST]]
