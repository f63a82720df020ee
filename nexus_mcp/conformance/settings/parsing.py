"""Parse the texts by which a user describes a target, for the command line and the pytest plug-in alike."""

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
"""Seconds of a time limit: the clocks of the system and of the event loop accept no more."""


def parse_command(text: str, option: str) -> tuple[str, ...]:
    """Return the words of a command, as a shell splits them, with the paths of existing files made absolute.

    Raises HarnessFault, naming `option`, for a text without words.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise HarnessFault([f"{option} {text!r} is not a command: {str(error).lower()}"]) from error
    if not words or not words[0]:
        raise HarnessFault([f"{option} needs a command, not {text!r}"])
    return tuple(_make_absolute(word, first=place == 0) for place, word in enumerate(words))


def parse_event_command(text: str, option: str) -> tuple[str, ...]:
    """Return the words of an event command. Raises HarnessFault when none of them has {type}."""
    words = parse_command(text, option)
    if not any("{type}" in word for word in words):
        example = f'Example: {option} "nexus-mcp hook {{type}}"'
        raise HarnessFault([f"{option} needs {{type}} where the event's type belongs."], next_step=example)
    return words


def parse_environment(entries: Iterable[str], option: str) -> dict[str, str]:
    """Return the variables of `KEY=VALUE` texts; the last of several wins. Raises HarnessFault for a malformed one."""
    pairs = [entry.partition("=") for entry in entries]
    if any(not key or not equals or "\0" in key + value for key, equals, value in pairs):
        # The text may be a secret, so the message does not quote it.
        raise HarnessFault([f"{option} needs KEY=VALUE"])
    return {key: value for key, _, value in pairs}


def parse_seconds(text: str, option: str) -> float:
    """Return a time limit in seconds. Raises HarnessFault unless it is a number above 0 and at most a day."""
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
    """Return the harness id. Raises HarnessFault for a malformed one."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", text):
        raise HarnessFault([f"{option} {text!r} is not a harness id: a-z first, then a-z, 0-9 and -"])
    return text


def parse_variable(text: str, option: str) -> str:
    """Return the name of an environment variable. Raises HarnessFault for a malformed one."""
    if not text or "=" in text or "\0" in text:
        raise HarnessFault([f"{option} {text!r} is not a variable name"])
    return text


def load_tool_names(path: str, suite: Sequence[Fixture]) -> dict[str, str]:
    """Return the contract's name of a tool -> the target's, from a YAML mapping.

    Raises HarnessFault with a line for each fault: a tool that the suite does not use, one name for two tools.
    """
    from nexus_mcp.conformance.settings import expected

    entries = expected.read(path, "tool", "name")
    known = sorted({tool for fixture in suite for tool in fixture.tools if not tool.startswith("event ")})
    faults = []
    taken: dict[str, str] = {}
    for tool, entry in entries.items():
        if tool not in known:
            faults.append(f"{path}:{entry.line}: no fixture calls a tool {tool}{did_you_mean(tool, known)}")
        elif entry.text in taken:
            faults.append(f"{path}:{entry.line}: {entry.text} is the name of {taken[entry.text]} already")
        taken.setdefault(entry.text, tool)
    if faults:
        raise HarnessFault(faults)
    return {tool: entry.text for tool, entry in entries.items()}


def _make_absolute(word: str, *, first: bool) -> str:
    """Return a word with the path of an existing file made absolute: the server's working directory is its project."""
    if os.sep not in word and (first or "." not in word):
        return word  # a command on the PATH, or a plain word
    return os.path.abspath(word) if os.path.isfile(word) else word
