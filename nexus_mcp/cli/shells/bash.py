"""The completion script for bash 4.4 or newer. It needs no bash-completion."""

from __future__ import annotations

from shlex import quote

from nexus_mcp.cli.shells import option_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.cli.shells import Place, Value

_HEAD = """\
# Completion of nexus-mcp for bash, written by: nexus-mcp completion bash

# Set what may follow the command $1: commands, options, the options that take a value, the argument.
_nexus_mcp_place() {
    commands='' options='' valued='' argument='' most=0
    case $1 in
"""
_BETWEEN = """\
    esac
}

# Set the kind and the words of the value $1: a command with an option or an argument.
_nexus_mcp_value() {
    kind='' offered=''
    case $1 in
"""
_TAIL = r"""    esac
}

_nexus_mcp_offer() {
    local IFS=' ' word
    for word in $1; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
}

# Titles of tasks are data: they are never expanded, and go into lists only, not into the command line.
_nexus_mcp_tasks() {
    local program=nexus-mcp id title ids=() rows=()
    [[ ${COMP_WORDS[0]} == */* ]] && program=${COMP_WORDS[0]/#\~\//"$HOME/"}
    project=${project//[\\\"\']/}
    project=${project/#\~\//"$HOME/"}
    while IFS=$'\t' read -r id title; do
        [[ $id =~ ^[0-9]+$ && $id == "$cur"* ]] || continue
        ids+=("$id")
        rows+=("$id  $title")
    done < <("$program" completion --task-ids ${project:+--project="$project"} 2>/dev/null </dev/null)
    COMPREPLY=("${ids[@]}")
    compopt -o nosort 2>/dev/null
    # These types of completion list the rows, and insert at most what all rows have in common.
    if [[ ${#ids[@]} -gt 1 && $COMP_TYPE =~ ^(33|63|64)$ ]]; then
        COMPREPLY=("${rows[@]}")
    fi
}

_nexus_mcp() {
    local cur=${COMP_WORDS[COMP_CWORD]} path='' option='' project='' target='' ended='' dashed='' seen=0 word i
    local commands options valued argument most kind='' offered=''
    COMPREPLY=()
    _nexus_mcp_place ''
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $option ]]; then
            [[ $word == = ]] && continue
            [[ $option == --project ]] && project=$word
            option=''
        elif [[ $ended || $word != -?* ]]; then
            if [[ ! $ended && ! $dashed && $seen == 0 && " $commands " == *" $word "* ]]; then
                path+=" $word"
                _nexus_mcp_place "$path"
            else
                ((++seen))
                target+=" $word"
            fi
        elif [[ $word == -- ]]; then
            ended=1
        else
            [[ $commands ]] && dashed=1 # a command comes before the options
            [[ " $valued " == *" $word "* ]] && option=$word
        fi
    done
    [[ $option && $cur == = ]] && cur=''
    if [[ $option ]]; then
        _nexus_mcp_value "$path $option"
    elif [[ $cur == -* && ! $ended ]]; then
        _nexus_mcp_offer "$options"
    elif [[ $commands && ! $dashed && $seen == 0 ]]; then
        _nexus_mcp_offer "$commands"
    elif ((seen < most)); then
        _nexus_mcp_value "$path $argument"
    fi
    case $kind in
        words) _nexus_mcp_offer "$offered" ;;
        folder) compopt -o dirnames ;;
        file) compopt -o default ;;
        task) _nexus_mcp_tasks ;;
        command)
            _nexus_mcp_place "$target"
            _nexus_mcp_offer "$commands"
            ;;
    esac
}

complete -F _nexus_mcp nexus-mcp
"""


def script(places: Sequence[Place]) -> str:
    """Return the script for `places`."""
    values: dict[str, list[str]] = {}
    rows = []
    for place in places:
        path = "".join(f" {word}" for word in place.words)
        rows.append(f"        {quote(path)}) {'; '.join(_settings(place))} ;;\n")
        if place.argument is not None:
            values.setdefault(_value(place.argument), []).append(f"{path} {place.argument.name}")
        for option in place.options:
            value = option_value(option)
            for name in (option.name, option.short):
                if name and value is not None:
                    values.setdefault(_value(value), []).append(f"{path} {name}")
    cases = [f"        {' | '.join(map(quote, names))}) {setting} ;;\n" for setting, names in values.items() if setting]
    return "".join((_HEAD, *rows, _BETWEEN, *cases, _TAIL))


def _settings(place: Place) -> list[str]:
    valued = [name for one in place.options if one.metavar for name in (one.name, one.short) if name]
    rows = {
        "commands": " ".join(place.commands),
        "options": " ".join(option.name for option in place.options),
        "valued": " ".join(valued),
        "argument": place.argument.name if place.argument else "",
        "most": str(place.most or ""),
    }
    return [f"{name}={quote(text)}" for name, text in rows.items() if text]


def _value(value: Value) -> str:
    if value.words:
        return f"kind=words offered={quote(' '.join(value.words))}"
    return f"kind={value.kind}" if value.kind else ""
