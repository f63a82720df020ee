"""The completion script for zsh: a function for each command, which calls _arguments."""

from __future__ import annotations

from shlex import quote

from nexus_mcp.cli.shells import COMMAND_WORD, FILE, FOLDER, TASK, option_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nexus_mcp.cli.options import Option
    from nexus_mcp.cli.shells import Place, Value

_HEAD = r"""#compdef nexus-mcp
# Completion of nexus-mcp for zsh, written by: nexus-mcp completion zsh

# Titles of tasks are data: they are shown, and never expanded.
__nexus_mcp_task_ids() {
  local project=${(Q)opt_args[--project]} id title
  local -a rows
  project=${project/#\~\//$HOME/}
  while IFS=$'\t' read -r id title; do
    [[ $id == <-> ]] && rows+=("$id:${title//\\/\\\\}")
  done < <(command $nexus_mcp completion --task-ids ${project:+--project=$project} 2>/dev/null </dev/null)
  _describe -V -t tasks task rows
}

"""
_FUNCTION = """\
{name}() {{
  local curcontext=$curcontext state line
  local -A opt_args
{rows}}}

"""
_TAIL = r"""_nexus-mcp() {
  local nexus_mcp=${words[1]/#\~\//$HOME/}
  _nexus_mcp
}

if [[ $funcstack[1] == _nexus-mcp ]]; then
  _nexus-mcp "$@"
else
  compdef _nexus-mcp nexus-mcp
fi
"""
_ACTIONS = {FOLDER: "_files -/", FILE: "_files", TASK: "__nexus_mcp_task_ids", "": " "}


def script(places: Sequence[Place]) -> str:
    """Return the script for `places`."""
    return "".join((_HEAD, *(_function(place, places) for place in places), _TAIL))


def _function(place: Place, places: Sequence[Place]) -> str:
    """Return the function that completes the words after a command."""
    specs = [spec for option in place.options for spec in _option(option, is_bare=not place.words)]
    if place.commands:
        specs += ["1:command:->commands", "*::argument:->arguments"]
    elif place.argument is not None and place.argument.kind == COMMAND_WORD:
        specs += ["1:command:->commands", "2:command:->inner"]
    elif place.argument is not None:
        action = "->words" if place.argument.words else _ACTIONS[place.argument.kind]
        specs += [f"{number}:{_colons(place.argument.name)}:{action}" for number in range(1, place.most + 1)]
    # After a subcommand, offer only the options of that subcommand.
    flags = "-C -S -A '-*'" if place.commands else "-S"
    rows = [f"  _arguments {flags}{''.join(_continue_line(spec) for spec in specs)}\n"]
    if place.commands:
        rows += ["  case $state in\n", "    commands)\n", _offer("command", place.commands), "      ;;\n"]
        rows += ["    arguments)\n", "      case $words[1] in\n"]
        rows += [f"        {word}) {_name((*place.words, word))} ;;\n" for word in place.commands]
        rows += ["      esac\n", "      ;;\n", "  esac\n"]
    elif place.argument is not None and place.argument.kind == COMMAND_WORD:
        rows += ["  case $state in\n", "    commands)\n", _offer("command", places[0].commands), "      ;;\n"]
        rows += ["    inner)\n", "      case $line[1] in\n"]
        for group in places[1:]:
            if group.commands and len(group.words) == 1:
                rows += [f"        {group.words[0]})\n", _offer("command", group.commands), "          ;;\n"]
        rows += ["      esac\n", "      ;;\n", "  esac\n"]
    elif place.argument is not None and place.argument.words:
        rows += ["  if [[ $state == words ]]; then\n", _offer(place.argument.name, place.argument.words), "  fi\n"]
    return _FUNCTION.format(name=_name(place.words), rows="".join(rows))


def _option(option: Option, *, is_bare: bool) -> list[str]:
    """Return the _arguments specifications of an option.

    With `is_bare`, no command is offered after the option, unless the option may be repeated or is --help or --version.
    """
    value = option_value(option)
    end = "" if value is None else f":{_colons(value.name)}:{_action(value)}"
    names = [name for name in (option.short, option.name) if name]
    ends = {name: "" if value is None else "=" if name.startswith("--") else "+" for name in names}
    if option.many:
        before = "*"
    elif option.name in ("--help", "--version"):
        before = "(- *)"
    else:
        before = f"({' '.join([*names, *(['1', '*'] if is_bare else [])])})"
    return [f"{before}{name}{ends[name]}[{_escape_brackets(option.help)}]{end}" for name in names]


def _action(value: Value) -> str:
    return f"({' '.join(value.words)})" if value.words else _ACTIONS[value.kind]


def _offer(name: str, words: Mapping[str, str]) -> str:
    """Return lines that offer `words`, each with its description."""
    rows = "".join(f"        {quote(f'{word}:{text}')}\n" for word, text in words.items())
    return f"      local -a rows=(\n{rows}      )\n      _describe -V -t words {quote(name)} rows\n"


def _continue_line(spec: str) -> str:
    return f" \\\n    {quote(spec)}"


def _name(words: Sequence[str]) -> str:
    return "_".join(("_nexus_mcp", *words))


def _escape_brackets(text: str) -> str:
    return "".join(f"\\{char}" if char in "[]\\:" else char for char in text)


def _colons(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")
