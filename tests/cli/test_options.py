"""The option parser, on a table of its own."""

from __future__ import annotations

import pytest

from nexus_mcp.cli.options import Option, nearest, parse
from nexus_mcp.errors import UsageError

OPTIONS = (Option("--name", "TEXT", ""), Option("--level", "L", "", ("low", "high")), Option("--fast", "", ""))


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        ([], {}),
        (["--name", "a"], {"--name": "a"}),
        (["--name=a"], {"--name": "a"}),
        (["--name=a=b"], {"--name": "a=b"}),
        (["--name="], {"--name": ""}),
        (["--name", ""], {"--name": ""}),
        (["--name=-x"], {"--name": "-x"}),
        (["--name", "a", "--name", "b"], {"--name": "b"}),
        (["--fast", "--level", "high"], {"--fast": "", "--level": "high"}),
    ],
)
def test_values(argv: list[str], values: dict[str, str]) -> None:
    """Values come after a space or an equals sign, the last one counts, a switch has none."""
    assert parse(argv, OPTIONS, "prog") == values


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--name"], "--name needs a value: --name TEXT."),
        (["--name", "--fast"], "--name needs a value: --name TEXT."),
        (["--fast=1"], "--fast takes no value."),
        (["--level", "middle"], "--level is one of low, high, not 'middle'."),
        (["--lvel", "low"], "prog has no option '--lvel'; did you mean --level? See prog --help."),
        (["--lvel=low"], "prog has no option '--lvel'; did you mean --level? See prog --help."),
        (["-x"], "prog has no option '-x'; there is --name, --level, --fast. See prog --help."),
        (["--nam", "a"], "prog has no option '--nam'; did you mean --name? See prog --help."),
        (["word"], "prog takes no argument 'word': a command comes first, then its options."),
        ([""], "prog takes no argument '': a command comes first, then its options."),
    ],
)
def test_faults(argv: list[str], message: str) -> None:
    """Whatever does not fit the table is refused with what is wrong and what would fit."""
    with pytest.raises(UsageError) as caught:
        parse(argv, OPTIONS, "prog")
    assert str(caught.value) == message


def test_nothing_known() -> None:
    """Where nothing is known there is nothing to propose."""
    assert nearest("x", ()) == "."
