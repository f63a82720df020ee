"""A new text finds the existing notes about the same subject."""

from __future__ import annotations

import pytest

from nexus_mcp.knowledge import merge
from nexus_mcp.knowledge.merge import Note, find_matches

POLICY = {"min_shared_tags": 2, "min_similarity": 0.3}
LOCKS = Note("memory/locks.md", ["Locks", "nfs"], "Locks are slow on NFS shares.")
CACHE = Note("memory/cache.md", ["cache"], "Warm the cache before measuring anything.")


@pytest.mark.requirement("memory.merge")
@pytest.mark.parametrize(
    ("text", "tags", "paths"),
    [
        ("Locks behave badly on nfs mounts", [], ["memory/locks.md"]),
        ("It behaves badly", ["LOCKS", "nfs"], ["memory/locks.md"]),
        ("Slow shares need servers", [], ["memory/locks.md"]),
        ("Measuring needs the cache warm: it is slow", [], ["memory/cache.md"]),
        ("Locks", [], []),
        ("A note on colours", ["locks"], []),
        ("", [], []),
    ],
)
def test_text_belongs_to_the_most_similar_note(text: str, tags: list[str], paths: list[str]) -> None:
    """To a note with two tags in common, or enough words; one word in common is chance."""
    assert find_matches(text, tags, [CACHE, LOCKS], POLICY) == paths


def test_the_best_comes_first() -> None:
    """At most three notes are returned, the most similar one first."""
    notes = [Note(f"memory/{number}.md", [], "slow locks shares " + "more words here " * number) for number in range(5)]
    assert find_matches("slow locks shares", [], notes, POLICY) == ["memory/0.md", "memory/1.md", "memory/2.md"]


@pytest.mark.parametrize("more", [0, 60])
def test_a_long_text_is_compared_as_a_short_one(more: int) -> None:
    """The number of words does not matter; a word that is only a part of another one is not common."""
    text = " ".join(["Locks shares", *(f"w{number}x" for number in range(more))])
    notes = [Note("memory/a.md", [], f"LOCKS, {text}"), Note("memory/b.md", [], f"unlockshares {text[6:].upper()[:1]}")]
    assert find_matches(text, [], notes, POLICY) == ["memory/a.md"]


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_matching_notes_do_not_depend_on_the_cache(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Long and short ones belong to the same notes whether the words of these were kept or not."""
    monkeypatch.setattr(merge, "_KEPT", kept)
    notes = [
        Note("memory/a.md", [], "Locks are slow on NFS shares."),
        Note("memory/b.md", [], "Warm caches " + "x1y " * 9),
    ]
    long = " ".join(f"word{number}" for number in range(60))
    asked = ["Locks slow", long, "Caches warm", f"Locks are slow on NFS shares {long[:200]}", "Locks slow"]
    found = [find_matches(text, [], notes, POLICY) for text in asked]
    assert found == [["memory/a.md"], [], ["memory/b.md"], ["memory/a.md"], ["memory/a.md"]]
    assert [note.words is not None for note in notes] == [kept > 0, kept > 1]
