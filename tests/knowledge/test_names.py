"""Valid, invalid and derived names of notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.errors import PathRefused
from nexus_mcp.knowledge import notes

PATTERN = r"^[a-z0-9][a-z0-9-]*\.md$"


@pytest.mark.requirement("memory.names")
@pytest.mark.parametrize("name", ["a.md", "empirical-lock-order.md", "0-1.md", "external-x.md"])
def test_note_names_follow_the_policy(name: str) -> None:
    """Lower-case letters, digits and hyphens, with or without one of the prefixes."""
    assert notes.check_name(name, PATTERN, ".nexus/memory") == name


@pytest.mark.requirement("memory.names")
@pytest.mark.parametrize(
    "name",
    [
        *("", ".md", "-a.md", "A.md", "a.txt", "a.md\n", "a.md/", "../a.md", "a/b.md", "/a.md", "a\\b.md", "é.md"),
        *("con.md", "nul.md", f"{'a' * 98}.md", "a.md\0", "..", "a .md", "\u202ea.md", "x" * 5000),
    ],
)
def test_other_names_are_refused(name: str) -> None:
    """Whatever could leave the folder, or be another file elsewhere, is refused on one short line."""
    with pytest.raises(PathRefused) as raised:
        notes.check_name(name, PATTERN, ".nexus/memory")
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("lock-order.md: Take both.", "lock-order.md", "Take both."),
        ("lock-order.md:Take both.", "lock-order.md", "Take both."),
        ("../x.md: leave", "../x.md", "leave"),
        ("x.md:", "x.md", ""),
        ("a.MD: hi", "a.MD", "hi"),
        ("Read x.md: it helps", "", "Read x.md: it helps"),
        ("Note: it helps", "", "Note: it helps"),
        ("x.md", "", "x.md"),
    ],
)
def test_given_name_is_the_word_before_the_colon(text: str, name: str, rest: str) -> None:
    """A name is the first word, with a colon behind it."""
    assert notes.split_name(text) == (name, rest)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Locks are slow on NFS shares today", "locks-slow-nfs-shares.md"),
        ("Über Größe", "uber-groe.md"),
        ("日本語のメモ", "note-edcec92a.md"),
        ("con", "note-con.md"),
        ("12 34", "note-edd38164.md"),
    ],
)
def test_made_name_has_the_first_words(text: str, name: str) -> None:
    """The first words of a text, or its checksum where they have no Latin letters."""
    assert notes.make_name(text, ()) == name


def test_taken_name_gets_a_number() -> None:
    """A number is put behind it."""
    assert notes.make_name("Slow locks", {"slow-locks.md", "slow-locks-2.md"}) == "slow-locks-3.md"


@given(st.text())
def test_a_made_name_is_one_by_the_policy(text: str) -> None:
    """Whatever the text is."""
    made = notes.make_name(text, ())
    assert notes.check_name(made, PATTERN, "x") == made
