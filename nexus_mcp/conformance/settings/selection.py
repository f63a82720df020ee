"""Select the fixtures to run by --only and --tool, and detect the prefix of a target's tool names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from nexus_mcp.conformance.nearest import did_you_mean
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Fixture

_EVENT = "event "


def find_prefix(listed: Collection[str], tools: Collection[str]) -> str:
    """Return the text that precedes most of `tools` in the names that a target lists; "" when there is none."""
    before = Counter(name.removesuffix(tool) for tool in tools for name in dict.fromkeys(listed) if name.endswith(tool))
    # A target may have other tools that end with one of these names, so the most frequent text counts.
    return min(before, key=lambda text: (-before[text], len(text), text), default="")


def select(fixtures: Sequence[Fixture], only: Sequence[str] = (), tools: Sequence[str] = ()) -> list[Fixture]:
    """Return the fixtures whose id matches one of the globs `only` and that use one of `tools`; empty lists select all.

    A tool is named as in the fixtures, an event with or without the word `event` before it. Raises HarnessFault when a
    glob or a tool matches nothing, or both together select nothing.
    """
    faults = [
        f"--only {glob}: no fixture matches it{did_you_mean(glob, (one.test_id for one in fixtures))}"
        for glob in only
        if not any(fnmatchcase(one.test_id, glob) for one in fixtures)
    ]
    known = list(dict.fromkeys(name for one in fixtures for name in _names(one)))
    listed = f"; known: {', '.join(sorted(known))}."
    faults += [
        f"--tool {tool}: no fixture calls it{did_you_mean(tool, known) or listed}"
        for tool in tools
        if tool not in known
    ]
    if faults:
        raise HarnessFault(faults, next_step="Use --list to see all fixtures.")
    wanted = set(tools)
    chosen = [
        one
        for one in fixtures
        if (not only or any(fnmatchcase(one.test_id, glob) for glob in only))
        and (not wanted or wanted.intersection(_names(one)))
    ]
    if not chosen:
        raise HarnessFault(
            [f"No fixture matches --only {' '.join(only)} and calls {' or '.join(tools)}."],
            next_step="Use --list to see all fixtures.",
        )
    return chosen


def _names(fixture: Fixture) -> set[str]:
    """Return the names by which --tool may select the fixture."""
    return {*fixture.tools, *(tool.removeprefix(_EVENT) for tool in fixture.tools)}
