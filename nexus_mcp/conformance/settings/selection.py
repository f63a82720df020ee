"""Which fixtures of the suite are run: --only and --tool."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from nexus_mcp.conformance.nearest import did_you_mean
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Fixture

_EVENT = "event "


def select(fixtures: Sequence[Fixture], only: Sequence[str] = (), tools: Sequence[str] = ()) -> list[Fixture]:
    """The fixtures whose id matches one of the globs `only` and that ask one of `tools`; an empty list says nothing.

    A tool is named as in the fixtures, an event with or without the word `event` before it. Raises HarnessFault when
    a glob or a tool matches nothing, or both together leave nothing.
    """
    faults = [
        f"--only {glob}: no fixture has such an id{did_you_mean(glob, (one.test_id for one in fixtures))}"
        for glob in only
        if not any(fnmatchcase(one.test_id, glob) for one in fixtures)
    ]
    known = list(dict.fromkeys(name for one in fixtures for name in _names(one)))
    listed = f"; there is {', '.join(sorted(known))}."
    faults += [
        f"--tool {tool}: no fixture asks it{did_you_mean(tool, known) or listed}" for tool in tools if tool not in known
    ]
    if faults:
        raise HarnessFault(faults, next_step="--list shows what there is.")
    wanted = set(tools)
    chosen = [
        one
        for one in fixtures
        if (not only or any(fnmatchcase(one.test_id, glob) for glob in only))
        and (not wanted or wanted.intersection(_names(one)))
    ]
    if not chosen:
        raise HarnessFault(
            [f"No fixture matches --only {' '.join(only)} and asks {' or '.join(tools)}."],
            next_step="--list shows what there is.",
        )
    return chosen


def _names(fixture: Fixture) -> set[str]:
    """What --tool may call it by."""
    return {*fixture.tools, *(tool.removeprefix(_EVENT) for tool in fixture.tools)}
