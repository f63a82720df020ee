"""The first line of a note."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.knowledge import index


@pytest.mark.requirement("knowledge.index")
@pytest.mark.parametrize(
    ("head", "tags"),
    [
        (b"<!-- tags: a, b -->\nText", ["a", "b"]),
        (b"<!-- tags: a, b -->", ["a", "b"]),
        (b"\xef\xbb\xbf<!--tags:a,b-->\r\nText", ["a", "b"]),
        (b"  <!--   Tags:  two words ,, x ,x -->  \nText", ["two words", "x"]),
        ("<!-- tags: größe, 日本 -->\n".encode(), ["größe", "日本"]),
        (b"<!-- tags: \xff -->\n", ["\ufffd"]),
        (b"<!-- tags: -->\n", []),
        (b"<!-- tags a, b -->\n", []),
        (b"<!-- a comment -->\n", []),
        (b"\n<!-- tags: a -->\n", []),
        (b"tags: a\n", []),
        (b"<!-- tags: a\nb -->\n", []),
        (b"<!-- tags: a --> more\n", []),
        (b"<!-->", []),
        (b"", []),
    ],
)
def test_tags_are_read_from_a_whole_first_line(head: bytes, tags: list[str]) -> None:
    """Only a comment that fills the first line and begins with `tags:` has tags."""
    assert index.read_tags(head) == tags


def test_number_and_length_of_tags_are_limited() -> None:
    """The number of tags and the length of each are limited."""
    many = index.tag_line(str(number) for number in range(100))
    assert index.read_tags(many.encode()) == [str(number) for number in range(index.MOST_TAGS)]
    assert index.read_tags(index.tag_line(["x" * (index.LONGEST_TAG + 1), "y"]).encode()) == ["y"]


@given(st.lists(st.text("abcäß -_", min_size=1).map(str.strip).filter(bool), max_size=8, unique=True))
def test_made_tag_line_is_read_back(tags: list[str]) -> None:
    """A line that was made names the tags it was made from."""
    assert index.read_tags(index.tag_line(tags).encode() + b"\nText") == tags


@given(st.binary())
def test_any_beginning_gives_tags_of_one_line(head: bytes) -> None:
    """For any beginning of a file, its tags are texts of one line."""
    assert all(tag and "\n" not in tag for tag in index.read_tags(head))
