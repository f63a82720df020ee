"""The option parser, tested on a command of its own."""

from __future__ import annotations

import pytest

import nexus_mcp.cli
from nexus_mcp.cli import main
from nexus_mcp.cli.hints import suggestion
from nexus_mcp.cli.options import Argument, Command, Group, Option, Values, parse
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
        (["--name", "-3"], {"--name": "-3"}),
        (["--name", "a", "--name", "b"], {"--name": "b"}),
        (["--fast", "--level", "high"], {"--fast": "", "--level": "high"}),
    ],
)
def test_value_follows_a_space_or_an_equals_sign(argv: list[str], values: dict[str, str]) -> None:
    """Values come after a space or an equals sign, the last one counts, a switch has none."""
    assert parse(argv, OPTIONS, "prog") == values


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--name"], "--name needs a value: --name TEXT."),
        (["--name", "--fast"], "--name needs a value: --name TEXT."),
        (["--name", "-x"], "--name needs a value: --name TEXT. A value that begins with - is written --name=-x."),
        (["--name", "--level=low"], "--name needs a value: --name TEXT."),
        (["--fast=1"], "--fast takes no value."),
        (["--level", "middle"], "--level is one of low, high, not 'middle'."),
        (["--lvel", "low"], "prog has no option '--lvel'; did you mean --level? See prog --help."),
        (["--lvel=low"], "prog has no option '--lvel'; did you mean --level? See prog --help."),
        (["-x"], "prog has no option '-x'; choose from --name, --level, --fast. See prog --help."),
        (["--NAME", "a"], "prog has no option '--NAME'; did you mean --name? See prog --help."),
        (["--hlep"], "prog has no option '--hlep'; did you mean --help? See prog --help."),
        (["-H"], "prog has no option '-H'; did you mean -h? See prog --help."),
        (["--version"], "prog has no option '--version'; did you mean nexus-mcp --version? See prog --help."),
        (["-?"], "prog has no option '-?'; did you mean --help? See prog --help."),
        (["-3"], "prog has no option '-3'; choose from --name, --level, --fast. See prog --help."),
        (["Fast"], "prog takes no argument 'Fast'; did you mean --fast?"),
        (["help"], "prog takes no argument 'help'; did you mean prog --help?"),
        (["--nam", "a"], "prog has no option '--nam'; did you mean --name? See prog --help."),
        (["word"], "prog takes no argument 'word': a command comes first, then its options."),
        ([""], "prog takes no argument '': a command comes first, then its options."),
    ],
)
def test_wrong_options_are_refused_with_a_hint(argv: list[str], message: str) -> None:
    """An option that does not fit the table is refused with the fault and a valid form."""
    with pytest.raises(UsageError) as caught:
        parse(argv, OPTIONS, "prog")
    assert str(caught.value) == message


ENVIRONMENT = (
    Option("--env", "KEY=VALUE", "", many=True),
    Option("--fast", "", ""),
    Option("--to", "X", "", many=True),
)
EVENT = Argument("EVENT", "what happened", {"start": "it began", "stop": "it ended"})
FILE = Argument("FILE", "any file")
MAYBE = Argument("[N]", "how many", least=0, is_number=True)
PAIR = Argument("FROM TO", "two files", count=2)


def test_repeated_option_keeps_all_values() -> None:
    """A repeatable option keeps each value, in order; its plain value is the last one."""
    values = parse(["--env", "a=1", "--fast", "--env=-b", "--env", "a=1"], ENVIRONMENT, "prog")
    assert values == {"--env": "a=1", "--fast": ""}
    assert values.lists == {"--env": ["a=1", "-b", "a=1"], "--to": []}


@pytest.mark.parametrize(
    ("argv", "argument", "values"),
    [
        (["start"], EVENT, {"EVENT": "start"}),
        (["--fast", "stop", "--level", "low"], EVENT, {"--fast": "", "EVENT": "stop", "--level": "low"}),
        (["a=b"], FILE, {"FILE": "a=b"}),
        (["--fast", "--", "--level"], FILE, {"--fast": "", "FILE": "--level"}),
        (["--", "--"], FILE, {"FILE": "--"}),
        (["a"], MAYBE, {"[N]": "a"}),
        (["-1"], MAYBE, {"[N]": "-1"}),
        ([], MAYBE, {}),
    ],
)
def test_argument_may_stand_anywhere(argv: list[str], argument: Argument, values: dict[str, str]) -> None:
    """An argument is taken wherever it stands and kept under its name."""
    assert parse(argv, OPTIONS, "prog", argument) == values


@pytest.mark.parametrize(
    ("argv", "argument", "message"),
    [
        ([], EVENT, "prog needs an argument EVENT, one of start, stop. See prog --help."),
        (["--fast"], FILE, "prog needs an argument FILE. See prog --help."),
        (["strat"], EVENT, "prog has no EVENT 'strat'; did you mean start? See prog --help."),
        (["xyzzy"], EVENT, "prog has no EVENT 'xyzzy'; choose from start, stop. See prog --help."),
        ([""], EVENT, "prog has no EVENT ''; choose from start, stop. See prog --help."),
        (["start", "stop"], EVENT, "prog takes one EVENT: 'stop' after 'start' is too much."),
        (["-x"], MAYBE, "prog has no option '-x'; choose from --name, --level, --fast. See prog --help."),
        (["-1"], FILE, "prog has no option '-1'; choose from --name, --level, --fast. See prog --help."),
        (["help"], EVENT, "prog has no EVENT 'help'; did you mean --help? See prog --help."),
        (["STOP"], EVENT, "prog has no EVENT 'STOP'; did you mean stop? See prog --help."),
        (["a", "b"], MAYBE, "prog takes one N: 'b' after 'a' is too much."),
        (["a"], PAIR, "prog needs 2 arguments FROM TO. See prog --help."),
        (["a", "b", "c"], PAIR, "prog takes FROM TO: 'c' after 'b' is too much."),
        (["-start"], EVENT, "prog has no option '-start'; choose from --name, --level, --fast. See prog --help."),
        (
            ["- a text"],
            FILE,
            "prog has no option '- a text'; choose from --name, --level, --fast. Write -- before it if it is FILE. "
            "See prog --help.",
        ),
        (["--", "a", "b"], FILE, "prog takes one FILE: 'b' after 'a' is too much."),
    ],
)
def test_wrong_argument_is_refused_with_a_hint(argv: list[str], argument: Argument, message: str) -> None:
    """A missing, wrong or surplus argument is refused in one text that names the valid ones."""
    with pytest.raises(UsageError) as caught:
        parse(argv, OPTIONS, "prog", argument)
    assert str(caught.value) == message


def test_several_arguments_keep_their_order() -> None:
    """Several words are kept in order, options between them or not."""
    assert parse(["a", "--fast", "b"], OPTIONS, "prog", PAIR).lists["FROM TO"] == ["a", "b"]


def copy(values: Values) -> int:
    print(values["--name"])
    return 0


def copying() -> Command:
    return Command("copy", "copy it", "Copies it.", OPTIONS, copy)


def moving() -> Command:
    raise AssertionError("a subcommand that nobody asked for is not loaded")


@pytest.mark.parametrize(
    ("argv", "ran"),
    [
        (["files", "copy", "--name", "a"], (0, "a\n", "")),
        (["files"], (2, "", "nexus-mcp files needs a command; choose from copy, move. See nexus-mcp files --help.")),
        (
            ["files", "cpy"],
            (2, "", "nexus-mcp files has no command 'cpy'; did you mean copy? See nexus-mcp files --help."),
        ),
        (
            ["files", "--name", "copy"],
            (2, "", "nexus-mcp files has no command '--name'; choose from copy, move. See nexus-mcp files --help."),
        ),
        (
            ["files", "copy", "--nam", "a"],
            (
                2,
                "",
                "nexus-mcp files copy has no option '--nam'; did you mean --name? See nexus-mcp files copy --help.",
            ),
        ),
    ],
)
def test_group_loads_only_the_named_subcommand(
    argv: list[str], ran: tuple[int, str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A group runs the subcommand that is named, loads no other, and needs one."""
    group = Group("files", "do it", "Does it.", {"copy": copying, "move": moving})
    monkeypatch.setitem(nexus_mcp.cli.COMMANDS, "files", lambda: group)
    code = main(argv)
    out, err = capsys.readouterr()
    assert (code, out, err.removeprefix("nexus-mcp: ").rstrip("\n")) == ran


def test_subcommands_have_their_own_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A group and a subcommand each have a help of their own."""
    group = Group("files", "do it", "Does it.", {"copy": copying})
    monkeypatch.setitem(nexus_mcp.cli.COMMANDS, "files", lambda: group)
    assert [main(["files", "--help"]), main(["files", "copy", "--help"])] == [0, 0]
    whole, _, single = capsys.readouterr().out.partition("explains one command.\n")
    assert whole == (
        "Usage: nexus-mcp files COMMAND [OPTIONS]\n\nDoes it.\n\nCommands:\n  copy   copy it\n\n"
        "nexus-mcp files COMMAND --help "
    )
    assert single.startswith("Usage: nexus-mcp files copy [OPTIONS]\n\nCopies it.\n\nOptions:\n  --name TEXT   ")


@pytest.mark.parametrize("argv", [["-n", "4"], ["-n4"], ["-n=4"], ["--number", "4"], ["--number", "3", "-n", "4"]])
def test_short_name_equals_long_name(argv: list[str]) -> None:
    """An option's short name means the same as its name."""
    assert parse(argv, [Option("--number", "N", "", short="-n")], "prog") == {"--number": "4"}


def test_unknown_word_without_candidates_has_no_hint() -> None:
    """Where nothing is known there is nothing to propose."""
    assert suggestion("x", ()) == "."
