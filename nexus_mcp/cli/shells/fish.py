"""The completion script for fish 3 or newer."""

from __future__ import annotations

from nexus_mcp.cli.shells import COMMAND_WORD, FILE, FOLDER, TASK, option_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nexus_mcp.cli.options import Option
    from nexus_mcp.cli.shells import Place, Value

_HEAD = r"""# Completion of nexus-mcp for fish, written by: nexus-mcp completion fish

# Succeed when the command line begins with nexus-mcp and these words.
function __nexus_mcp_at
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; or return 1
    test $last -eq 1; or test "$words[2..$last]" = "$argv"
end

# Succeed when nothing follows these words.
function __nexus_mcp_after
    test (count (commandline -opc)) -eq (math 1 + (count $argv)); and __nexus_mcp_at $argv
end

# Succeed when no command is named.
function __nexus_mcp_bare
    not string match -qv -- '-*' (commandline -opc)[2]
end

# Succeed when fewer than $argv[1] arguments follow the words $argv[3..]; $argv[2] has the options that take a value.
function __nexus_mcp_needs
    __nexus_mcp_at $argv[3..]; or return 1
    set -l valued (string split ' ' -- $argv[2])
    set -l words (commandline -opc)
    set -l seen 0
    set -l is_value 0
    set -l is_ended 0
    for word in $words[(count $argv)..]
        if test $is_value -eq 1
            set is_value 0
        else if test $is_ended -eq 0; and string match -q -- '-*' $word
            test "$word" = --; and set is_ended 1
            contains -- $word $valued; and set is_value 1
        else
            set seen (math $seen + 1)
        end
    end
    test $is_value -eq 0; and test $seen -lt $argv[1]
end

# Titles of tasks are data: fish shows them, and expands nothing in them.
function __nexus_mcp_tasks
    set -l words (commandline -opc)
    set -l program (string replace -r -- '^~/' "$HOME/" $words[1])
    set -l project
    for at in (seq 2 (count $words))
        if test $words[$at] = --project; and test $at -lt (count $words)
            set project --project=(string replace -r -- '^~/' "$HOME/" $words[(math $at + 1)])
        else if string match -q -- '--project=*' $words[$at]
            set project (string replace -r -- '=~/' "=$HOME/" $words[$at])
        end
    end
    command $program completion --task-ids $project 2>/dev/null </dev/null
end

complete -c nexus-mcp -f
"""
_ACTIONS = {
    FOLDER: ["-x", "-a", "'(__fish_complete_directories (commandline -ct))'"],
    FILE: ["-r", "-F"],
    TASK: ["-x", "-k", "-a", "'(__nexus_mcp_tasks)'"],
    "": ["-x"],
}


def script(places: Sequence[Place]) -> str:
    """Return the script for `places`."""
    return "".join((_HEAD, *(f"{line}\n" for place in places for line in _lines(place, places))))


def _lines(place: Place, places: Sequence[Place]) -> Iterator[str]:
    words = " ".join(place.words)
    yield ""
    for name, text in place.commands.items():
        yield _line(f"__nexus_mcp_after {words}".strip(), ["-a", name, "-d", _quote(text)])
    condition = f"__nexus_mcp_at {words}" if words else "__nexus_mcp_bare"
    if words and place.commands:  # the options of a group are those of its default command
        following = f"(commandline -opc)[{len(place.words) + 2}]"
        condition += f"; and not contains -- {following} {' '.join(place.commands)}"
    for option in place.options:
        yield _line(condition, _option(option))
    if place.argument is not None:
        yield from _argument(place, places)


def _argument(place: Place, places: Sequence[Place]) -> Iterator[str]:
    value = place.argument
    assert value is not None
    words = " ".join(place.words)
    if value.kind == COMMAND_WORD:
        for group in places:
            for name, text in group.commands.items():
                yield _line(" ".join(("__nexus_mcp_after", words, *group.words)), ["-a", name, "-d", _quote(text)])
        return
    valued = [name for one in place.options if one.metavar for name in (one.name, one.short) if name]
    condition = f"__nexus_mcp_needs {place.most} {_inner_quote(' '.join(valued))} {words}"
    if value.words:
        for name, text in value.words.items():
            yield _line(condition, ["-a", name, "-d", _quote(text)])
    elif value.kind:
        yield _line(condition, [word for word in _ACTIONS[value.kind] if word not in ("-x", "-r")])


def _option(option: Option) -> list[str]:
    value = option_value(option)
    short = ["-s", option.short[1:]] if option.short else []
    end = ["-d", _quote(option.help)]
    if value is None:
        return ["-l", option.name[2:], *short, *end]
    return ["-l", option.name[2:], *short, *_action(value), *end]


def _action(value: Value) -> list[str]:
    return ["-x", "-a", _quote(" ".join(value.words))] if value.words else _ACTIONS[value.kind]


def _line(condition: str, words: Sequence[str]) -> str:
    return " ".join(("complete -c nexus-mcp -n", _quote(condition), *words))


def _quote(text: str) -> str:
    """Return `text` in single quotes, with the two escapes that fish knows there."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _inner_quote(text: str) -> str:
    """Return `text`, names of options, in double quotes, for a condition, which fish parses twice."""
    return f'"{text}"'
