"""Merge before create."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.knowledge.merge import belongs_to

POLICY = {"min_shared_tags": 2, "min_similarity": 0.3}
LOCKS = {"path": "memory/locks.md", "tags": ["locks", "nfs"], "text": "Locks are slow on NFS shares."}
CACHE = {"path": "memory/cache.md", "tags": ["cache"], "text": "Warm the cache before measuring anything."}


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
def test_where_a_text_belongs(text: str, tags: list[str], paths: list[str]) -> None:
    """To a note with two tags in common, or enough words; one word in common is chance."""
    assert belongs_to(text, tags, [CACHE, LOCKS], POLICY) == paths


def test_the_best_comes_first() -> None:
    """Of several notes the one most like the text, three at most."""
    notes: list[dict[str, Any]] = [
        {"path": f"memory/{number}.md", "tags": [], "text": "slow locks shares " + "more words here " * number}
        for number in range(5)
    ]
    assert belongs_to("slow locks shares", [], notes, POLICY) == ["memory/0.md", "memory/1.md", "memory/2.md"]
