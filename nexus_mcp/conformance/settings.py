"""Read and check the user's settings: the target, the selection of fixtures, and the expected failures.

The command line and the pytest plug-in both use this module. An expected failure is a fixture that fails for a known
reason. If such a fixture passes, the run fails.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.conformance.fixture import LEVELS, ROBUST
from nexus_mcp.errors import HarnessFault
from nexus_mcp.wording import place_of_byte, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from yaml import MappingNode, Node

    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import FixtureResult, RunResult

LONGEST = 86_400
"""The longest time limit in seconds, a day: much longer ones would overflow timers of the system."""
NOT_LOOKED_AT = "not looked at yet:"
"""The beginning of a generated reason, which a person has to replace. Such entries are accepted, and counted."""
_TEXT = "tag:yaml.org,2002:str"


@dataclass(frozen=True)
class TargetOptions:
    """The settings for a target; times are in seconds.

    `prefix` goes before each tool name, except for the tools in `names`: name in the contract -> the target's name.
    `environment` is added to the user's own, `project_env` is the variable that holds the project's path. `harness_id`
    is the harness whose state folder the target uses. `event_command` are the words of a command; {type} in them is the
    event's type, {url} the URL of the server. `run_command` works through the task list, in at most `run_timeout`;
    {status} in it is the path of its status file. `timeout` bounds a call or an event, `start_timeout` a server's start
    until it has listed its tools, `end_timeout` its end after its stdin was closed. With `require_all_tools` a fixture
    fails where the target lacks its tool; without, the fixture is not run.
    """

    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    project_env: str = "NEXUS_PROJECT_ROOT"
    harness_id: str = "nexus-mcp"
    event_command: tuple[str, ...] | None = None
    run_command: tuple[str, ...] | None = None
    run_timeout: float = 120.0
    timeout: float = 10.0
    start_timeout: float = 30.0
    end_timeout: float = 5.0
    require_all_tools: bool = False

    def actual(self, tool: str) -> str:
        """Return the target's name for a tool."""
        return self.names.get(tool, self.prefix + tool)

    def all_actual(self, tools: Iterable[str]) -> set[str]:
        """Return the target's names for these tools."""
        return {self.actual(tool) for tool in tools}


def parse_command(text: str, option: str) -> tuple[str, ...]:
    """Return the words of a command, as a shell splits them, with the paths of existing files made absolute.

    Raise HarnessFault, naming `option`, for a text that a shell could not split, or that has no words.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise HarnessFault([f"{option} {text!r} is not a command: {str(error).lower()}"]) from error
    if not words or not words[0]:
        raise HarnessFault([f"{option} needs a command, not {text!r}"])
    return tuple(_make_absolute(word, first=place == 0) for place, word in enumerate(words))


def parse_event_command(text: str, option: str) -> tuple[str, ...]:
    """Return the words of an event command. Raise HarnessFault like `parse_command`, or when no word has {type}."""
    words = parse_command(text, option)
    if not any("{type}" in word for word in words):
        example = f'Example: {option} "nexus-mcp hook {{type}}"'
        raise HarnessFault([f"{option} needs {{type}} where the event's type belongs."], next_step=example)
    return words


def parse_run_command(text: str, option: str) -> tuple[str, ...]:
    """Return the words of a run command. Raise HarnessFault like `parse_command`, or when no word has {status}."""
    words = parse_command(text, option)
    if not any("{status}" in word for word in words):
        example = f'Example: {option} "nexus-mcp run --trust --headless --merge never --status-file {{status}}"'
        raise HarnessFault([f"{option} needs {{status}} where the path of the status file belongs."], next_step=example)
    return words


def parse_environment(entries: Iterable[str], option: str) -> dict[str, str]:
    """Return the variables of `KEY=VALUE` texts; if a variable is repeated, its last value counts. Raise HarnessFault
    for a malformed one.
    """
    pairs = [entry.partition("=") for entry in entries]
    if any(not key or not equals or "\0" in key + value for key, equals, value in pairs):
        # The message does not quote the text, which may be a secret.
        raise HarnessFault([f"{option} needs KEY=VALUE"])
    return {key: value for key, _, value in pairs}


def parse_seconds(text: str, option: str) -> float:
    """Return a time limit in seconds. Raise HarnessFault unless it is a number above 0 and at most a day."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise HarnessFault([f"{option} {text!r} is not a number of seconds above 0"])
    if value > LONGEST:
        raise HarnessFault([f"{option} {text!r} is more than a day: at most {LONGEST} seconds"])
    return value


def parse_harness_id(text: str, option: str) -> str:
    """Return the harness id. Raise HarnessFault for a malformed one."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", text):
        raise HarnessFault([f"{option} {text!r} is not a harness id: a-z first, then a-z, 0-9 and -"])
    return text


def parse_variable(text: str, option: str) -> str:
    """Return the name of an environment variable. Raise HarnessFault for a malformed one."""
    if not text or "=" in text or "\0" in text:
        raise HarnessFault([f"{option} {text!r} is not a variable name"])
    return text


def read_target_options(
    value_of: Callable[[str], str | None], environment: Iterable[str], suite: Sequence[Fixture], before: str = "--"
) -> TargetOptions:
    """Return the settings for the target. Raise HarnessFault for the first value that cannot be used.

    `value_of` returns the value of an option by its name, None if it is absent. All names begin with `before`.
    """
    readers: dict[str, tuple[str, Callable[[str, str], Any]]] = {
        "tool-prefix": ("prefix", lambda text, _: text),
        "tool-map": ("names", lambda path, _: load_tool_names(path, suite)),
        "project-env": ("project_env", parse_variable),
        "harness-id": ("harness_id", parse_harness_id),
        "event-command": ("event_command", parse_event_command),
        "run-command": ("run_command", parse_run_command),
        "run-timeout": ("run_timeout", parse_seconds),
        "timeout": ("timeout", parse_seconds),
        "start-timeout": ("start_timeout", parse_seconds),
    }
    found: dict[str, Any] = {"environment": parse_environment(environment, f"{before}env")}
    for name, (member, read) in readers.items():
        value = value_of(before + name)
        if value is not None:
            found[member] = read(value, before + name)
    return TargetOptions(**found)


def load_tool_names(path: str, suite: Sequence[Fixture]) -> dict[str, str]:
    """Return the contract's name of a tool -> the target's, from a YAML mapping.

    Raise HarnessFault like `read_mapping`, or with a line for each tool that no fixture calls, and for each name that
    two tools have.
    """

    entries = read_mapping(path, "tool", "name")
    known = sorted({tool for fixture in suite for tool in fixture.tools if " " not in tool})
    faults = []
    taken: dict[str, str] = {}
    for tool, entry in entries.items():
        if tool not in known:
            faults.append(f"{path}:{entry.line}: no fixture calls a tool {tool}{suggestion(tool, known)}")
        elif entry.text in taken:
            faults.append(f"{path}:{entry.line}: {entry.text} is the name of {taken[entry.text]} already")
        taken.setdefault(entry.text, tool)
    if faults:
        raise HarnessFault(faults)
    return {tool: entry.text for tool, entry in entries.items()}


def find_prefix(listed: Collection[str], tools: Collection[str]) -> str:
    """Return the most frequent prefix of the `tools` in the target's list; "" if the list has none of them."""
    before = Counter(name.removesuffix(tool) for tool in tools for name in dict.fromkeys(listed) if name.endswith(tool))
    # A target may have other tools whose names end with one of these names, so the most frequent prefix counts.
    return min(before, key=lambda text: (-before[text], len(text), text), default="")


def select(
    fixtures: Sequence[Fixture], only: Sequence[str] = (), tools: Sequence[str] = (), level: str = ROBUST
) -> list[Fixture]:
    """Return the fixtures of `level` and of the levels before it whose id matches one of the globs `only` and that use
    one of `tools`; empty lists select all.

    A tool is named as in the fixtures, an event with or without the word `event` before it. Raise HarnessFault when a
    glob or a tool matches nothing, or all of these together select nothing.
    """
    faults = [
        f"--only {glob}: no fixture matches it{suggestion(glob, (one.test_id for one in fixtures))}"
        for glob in only
        if not any(fnmatchcase(one.test_id, glob) for one in fixtures)
    ]
    known = list(dict.fromkeys(name for one in fixtures for name in _names(one)))
    listed = f"; known: {', '.join(sorted(known))}."
    faults += [
        f"--tool {tool}: no fixture calls it{suggestion(tool, known) or listed}" for tool in tools if tool not in known
    ]
    if faults:
        raise HarnessFault(faults, next_step="Use --list to see all fixtures.")
    wanted = set(tools)
    levels = LEVELS[: LEVELS.index(level) + 1]
    chosen = [
        one
        for one in fixtures
        if one.level in levels
        and (not only or any(fnmatchcase(one.test_id, glob) for glob in only))
        and (not wanted or wanted.intersection(_names(one)))
    ]
    if not chosen:
        wishes = [f"matches --only {' '.join(only)}"] * bool(only) + [f"calls {' or '.join(tools)}"] * bool(tools)
        wishes += [f"has the level {level}"] * (level != ROBUST)
        raise HarnessFault([f"No fixture {' and '.join(wishes)}."], next_step="Use --list to see all fixtures.")
    return chosen


class Entry(NamedTuple):
    """The text of a value, and the line of its key, from 1."""

    text: str
    line: int


def read_mapping(path: str, key: str, value: str) -> dict[str, Entry]:
    """Return the mapping of a file. `key` and `value` name its parts in messages, such as "test_id" and "reason".

    Raise HarnessFault with a line for each fault: a file that cannot be read, invalid YAML, no mapping, a key that is
    a duplicate or not a text, a value that is blank or not a text.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise HarnessFault([f"{path}: could not be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise HarnessFault([f"{path}: is not UTF-8: {place_of_byte(error.object, error.start)}"]) from error
    return parse_mapping(path, text, key, value)


def parse_mapping(path: str, text: str, key: str, value: str) -> dict[str, Entry]:
    """Return the mapping of a YAML text; otherwise like `read_mapping`."""
    import yaml

    try:
        # Compose the nodes instead of loading values: nodes know their lines, and keep duplicate keys.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise HarnessFault([f"{path}{line}: is not YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise HarnessFault([f"{path}: is not YAML: {str(error).splitlines()[0]}"]) from error
    except RecursionError as error:
        raise HarnessFault([f"{path}: is nested too deeply"]) from error
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise HarnessFault([f"{path}:{_line(root)}: must be a mapping, {key}: {value}"])
    return _entries(path, root, key, value)


def load_expected(path: str, known: Collection[str]) -> dict[str, str]:
    """Return test_id -> reason from a YAML mapping. `known` are the ids of the whole suite.

    Raise HarnessFault like `read_mapping`, or with a line for each id that is not in the suite.
    """
    entries = read_mapping(path, "test_id", "reason")
    faults = [
        f"{path}:{entry.line}: no fixture has the id {test_id}{suggestion(test_id, known)}"
        for test_id, entry in entries.items()
        if test_id not in known
    ]
    if faults:
        raise HarnessFault(faults, next_step="Remove the entry, or correct its id.")
    return {test_id: entry.text.strip() for test_id, entry in entries.items()}


def mark_expected(result: FixtureResult, reasons: Mapping[str, str]) -> FixtureResult:
    """Return the result with its reason from `reasons` in `expected`, or with "" if it has none."""
    return replace(result, expected=reasons.get(result.test_id, ""))


def mark_run(run: RunResult, reasons: Mapping[str, str], level: str = "", *, is_selection: bool = False) -> RunResult:
    """Return the run with every result marked, and with its level."""
    results = tuple(mark_expected(result, reasons) for result in run.results)
    return replace(run, results=results, level=level, is_selection=is_selection)


def _make_absolute(word: str, *, first: bool) -> str:
    """Return the word; make it absolute if it looks like a path and a file is there, because the working directory of
    the server is its project.
    """
    if os.sep not in word and (first or "." not in word):
        return word  # a command on the PATH, or a plain word
    return os.path.abspath(word) if os.path.isfile(word) else word


def _names(fixture: Fixture) -> set[str]:
    """Return the names by which --tool may select the fixture."""
    return {*fixture.tools, *(tool.partition(" ")[2] or tool for tool in fixture.tools)}


def _entries(path: str, root: MappingNode, key: str, value: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    faults = []
    for name, member in root.value:
        place = f"{path}:{_line(name)}"
        if name.tag != _TEXT:
            faults.append(f"{place}: the {key} must be a text; put it in quotes")
        elif member.tag != _TEXT or not member.value.strip():
            faults.append(f"{place}: the {value} of {name.value} must be a text that is not blank")
        elif name.value in found:
            faults.append(f"{place}: {name.value} is already defined in line {found[name.value].line}")
        else:
            found[name.value] = Entry(member.value, _line(name))
    if faults:
        raise HarnessFault(faults)
    return found


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
