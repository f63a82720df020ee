"""Whatever a message is, finding its tags ends well, exactly, and in time."""

from __future__ import annotations

from typing import Any, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.tags.parse import parse
from tests.tags.support import NAMES

PIECES = (
    *(
        "[plan]",
        "[D]",
        "[rule:x]",
        "[m:gc]",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "`",
        "``",
        "```",
        "~~~",
        "\\",
        "!",
        ":",
        "://",
    ),
    *(
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "\t",
        "- ",
        "> ",
        "# ",
        "1. ",
        '"',
        "'",
        "a",
        "/",
        "https://x/",
        "[a]: /b",
        "é",
        "\0",
        "\ud800",
    ),
)
messages = st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text()


@pytest.mark.requirement("tags.exact")
@given(messages)
def test_spans_are_exact(message: str) -> None:
    """Each span is a tag of the table between brackets; they are in order, and the texts between them."""
    tags = parse(message, NAMES)
    last = 0
    for tag in tags:
        assert last <= tag["start"] < tag["end"] <= len(message)
        inner = message[tag["start"] : tag["end"]]
        assert (inner[0], inner[-1]) == ("[", "]")
        name, _, variant = inner[1:-1].lower().partition(":")
        assert (name, variant.strip()) == (tag["tag"], tag["variant"])
        assert tag["tag"] in NAMES
        assert tag["text"] in message[tag["end"] :]
        last = tag["end"]


@given(messages)
def test_quoting_as_code_hides_every_tag(message: str) -> None:
    """Between fences longer than any run of marks in it a message has no tags."""
    fence = "`" * (len(message) + 3)
    assert parse(f"{fence}\n{message}\n{fence}\n", NAMES) == []


@given(messages)
def test_a_tag_on_its_own_is_found_after_anything_that_is_closed(message: str) -> None:
    """A tag in a message of its own is found, however the one before it was made: nothing is remembered."""
    parse(message, NAMES)
    assert [tag["tag"] for tag in parse("[run]", NAMES)] == ["run"]


class Counted(str):
    """A text that counts how many of its characters were looked at."""

    __slots__ = ("seen",)
    seen: int

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = str.__getitem__(self, key)
        self.seen += len(part) + 1
        return part

    def find(self, *arguments: Any) -> int:
        found = str.find(self, *arguments)
        _, start, end = (*arguments, 0, len(self))[:3] if len(arguments) < 3 else arguments
        self.seen += 1 + max(0, (min(end, len(self)) if found < 0 else found) - start)
        return found

    def rfind(self, *arguments: Any) -> int:
        found = str.rfind(self, *arguments)
        _, start, end = arguments
        self.seen += 1 + end - max(start, found)
        return found

    def startswith(self, prefix: Any, *arguments: Any) -> bool:
        self.seen += 1
        return str.startswith(self, prefix, *arguments)


def cost(unit: str, length: int) -> int:
    message = Counted("[d] x\n[zz]: /y\n" + (unit * (length // len(unit) + 1))[:length])
    message.seen = 0
    parse(message, NAMES)
    return message.seen


MOST = 40  # looks at a character, on the average
UNITS = (
    *(
        "[",
        "]",
        "`",
        "(",
        ")",
        "<",
        "\\",
        "[d]",
        "[d](",
        '[d](a "',
        "[d][",
        "[d][]",
        "[d]: /x\n",
        "``` ",
        "```\n",
        "~~~\n",
    ),
    *("[d]\n\n", "[d]( ( '", "[d](((", "[d](<", "<a:", "http://[d]", "> ", "- ", "1. ", "[[d]](x)", "`` ` ", "]([d]"),
    *("[d] ``` ` `` ````", "[m:" + "x" * 70 + "]", "[" * 300 + "]" * 300, "[a]", "a b ", "[d]:a/b\n[", "![d]("),
)


@pytest.mark.requirement("tags.linear")
@pytest.mark.parametrize("unit", UNITS)
def test_a_message_four_times_as_long_costs_four_times_as_much(unit: str) -> None:
    """The characters looked at grow as the message does, and no character is looked at often."""
    short, long = cost(unit, 4_000), cost(unit, 16_000)
    assert long <= 4.5 * short
    assert long <= MOST * 16_000


@pytest.mark.requirement("tags.linear")
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join))
def test_no_repetition_is_dear(unit: str) -> None:
    """Nor is any repetition of a few pieces."""
    assert cost(unit, 8_000) <= MOST * 8_000


def test_runs_of_backticks_of_every_length() -> None:
    """A thousand runs that are all of different lengths are looked at once."""
    message = Counted("[d]" + " ".join("`" * length for length in range(1, 1000)))
    message.seen = 0
    assert len(parse(message, NAMES)) == 1
    assert message.seen <= 10 * len(message)


@pytest.mark.requirement("tags.linear")
@pytest.mark.parametrize("unit", ["[`", "[]", "\\[d](`"])
def test_four_mebibytes_of_brackets_are_parsed(unit: str) -> None:
    """A message of 4 MiB of brackets and backticks is gone through."""
    length = 4 << 20
    tags = parse((unit * (length // len(unit) + 1))[:length], NAMES)
    assert tags == []
