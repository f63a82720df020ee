"""For any message the parser ends in time and returns exact positions."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

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
def test_each_span_is_a_known_tag_in_brackets(message: str) -> None:
    """Each span is a tag of the table in brackets; the spans are in order, and the texts lie between them."""
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
    """A tag in a message of its own is found after any earlier message: the parser keeps no state."""
    parse(message, NAMES)
    assert [tag["tag"] for tag in parse("[run]", NAMES)] == ["run"]


def cost(unit: str, length: int) -> int:
    """Return the number of Python lines that run while the tags of this message are found."""
    message = ("[d] `x`\n[zz]: /y\n" + unit * (length // len(unit) + 1))[:length]
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        parse(message, NAMES)
    finally:
        sys.settrace(before)
    return count


MOST = 1000  # lines for a character, on the average
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
    """The work grows as the message does."""
    short, long = cost(unit, 1_000), cost(unit, 4_000)
    assert long <= 4.5 * short
    assert long <= MOST * 4_000


@pytest.mark.requirement("tags.linear")
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join))
def test_no_repetition_is_dear(unit: str) -> None:
    """The cost of any repetition of a few pieces is linear."""
    assert cost(unit, 2_000) <= MOST * 2_000


def test_backtick_runs_of_many_lengths_take_linear_time() -> None:
    """Runs of different lengths are each checked once."""
    assert cost(" ".join("`" * length for length in range(1, 100)), 5_000) <= MOST * 5_000


@pytest.mark.requirement("tags.linear")
@pytest.mark.parametrize("unit", ["[`", "[]", "\\[d](`"])
def test_four_mebibytes_of_brackets_are_parsed(unit: str) -> None:
    """A message of 4 MiB of brackets and backticks is parsed."""
    length = 4 << 20
    tags = parse((unit * (length // len(unit) + 1))[:length], NAMES)
    assert tags == []
