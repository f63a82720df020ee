"""The words of a text, and the similarity of two texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.knowledge.merge import similarity, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Locks are slow on the NFS shares; locks!", ["locks", "slow", "nfs", "shares"]),
        ("task_add 2024 v2 x", ["task", "add"]),
        ("Größe", ["grösse"]),
        ("日本語 x 語", ["日本", "本語", "語"]),
        ("", []),
    ],
)
def test_words_are_distinct_and_lower_case(text: str, found: list[str]) -> None:
    """Each significant word counts once, in lower case; scripts without blanks count by pairs."""
    assert words(text) == found


def test_similarity_is_between_0_and_1() -> None:
    """Equal sets are alike wholly, sets with nothing in common not at all, a part in proportion."""
    assert similarity(["a", "b"], ["b", "a"]) == 1.0
    assert similarity(["a"], ["b"]) == 0.0
    assert similarity([], ["b"]) == 0.0
    assert similarity(["a", "b"], ["a", "b", "c", "d", "e", "f", "g", "h"]) == 0.5


@given(st.text(), st.text())
def test_similarity_is_a_share(one: str, other: str) -> None:
    """The similarity of any two texts is between 0 and 1, and symmetric."""
    found = similarity(words(one), words(other))
    assert 0.0 <= found <= 1.0 + 1e-9
    assert found == similarity(words(other), words(one))
