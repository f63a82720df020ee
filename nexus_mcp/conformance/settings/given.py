"""What a user says about a target, as texts, made into the options of one: shared by all who take such texts."""

from __future__ import annotations

import math
import os
import re
import shlex
from typing import TYPE_CHECKING

from nexus_mcp.conformance.nearest import did_you_mean
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nexus_mcp.conformance.fixture import Fixture


LONGEST = 86_400
"""Seconds of a time limit: clocks of the system and of the event loop take no more for granted."""


def command(text: str, option: str) -> tuple[str, ...]:
    """The words of a command, as a shell splits them, with the paths of files here made absolute.

    `option` is named in the HarnessFault for a text that has no words.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise HarnessFault([f"{option} {text!r} is no command: {str(error).lower()}"]) from error
    if not words or not words[0]:
        raise HarnessFault([f"{option} needs a command, not {text!r}"])
    return tuple(_found_here(word, first=place == 0) for place, word in enumerate(words))


def _found_here(word: str, *, first: bool) -> str:
    """The working directory will be a project's, but who types `node dist/server.js` means a file here."""
    if os.sep not in word and (first or "." not in word):
        return word  # a command on PATH, or a plain word
    return os.path.abspath(word) if os.path.isfile(word) else word


def event_command(text: str, option: str) -> tuple[str, ...]:
    """The words of a command for events. Raises HarnessFault when none of them has {type}."""
    words = command(text, option)
    if not any("{type}" in word for word in words):
        example = f'Example: {option} "nexus-mcp hook {{type}}"'
        raise HarnessFault([f"{option} needs {{type}} where the event's type belongs."], next_step=example)
    return words


def environment(entries: Iterable[str], option: str) -> dict[str, str]:
    """The variables of `KEY=VALUE` texts, the last of several wins. Raises HarnessFault when one is none."""
    pairs = [entry.partition("=") for entry in entries]
    if any(not key or not equals or "\0" in key + value for key, equals, value in pairs):
        # The text may be a secret, so it is not told.
        raise HarnessFault([f"{option} needs KEY=VALUE"])
    return {key: value for key, _, value in pairs}


def seconds(text: str, option: str) -> float:
    """A time limit. Raises HarnessFault for what is not a number above 0, or longer than a day."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise HarnessFault([f"{option} {text!r} is not a number of seconds above 0"])
    if value > LONGEST:
        raise HarnessFault([f"{option} {text!r} is more than a day: at most {LONGEST} seconds"])
    return value


def harness_id(text: str, option: str) -> str:
    """The id itself. Raises HarnessFault for one that no harness can have."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", text):
        raise HarnessFault([f"{option} {text!r} is no harness id: a-z first, then a-z, 0-9 and -"])
    return text


def variable(text: str, option: str) -> str:
    """The name of a variable. Raises HarnessFault for one that the environment cannot have."""
    if not text or "=" in text or "\0" in text:
        raise HarnessFault([f"{option} {text!r} is no name of a variable"])
    return text


def tool_names(path: str, suite: Sequence[Fixture]) -> dict[str, str]:
    """The contract's name of a tool -> the target's, from a YAML mapping.

    Raises HarnessFault with a line for each fault: a tool that the suite does not ask, one name for two tools.
    """
    from nexus_mcp.conformance.settings import flat_yaml

    entries = flat_yaml.read(path, "tool", "name")
    known = sorted({tool for fixture in suite for tool in fixture.tools if not tool.startswith("event ")})
    faults = []
    taken: dict[str, str] = {}
    for tool, entry in entries.items():
        if tool not in known:
            faults.append(f"{path}:{entry.line}: no fixture asks a tool {tool}{did_you_mean(tool, known)}")
        elif entry.text in taken:
            faults.append(f"{path}:{entry.line}: {entry.text} is the name of {taken[entry.text]} already")
        taken.setdefault(entry.text, tool)
    if faults:
        raise HarnessFault(faults)
    return {tool: entry.text for tool, entry in entries.items()}
