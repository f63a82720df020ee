"""Find mistyped tools and files: a wrong name makes a fixture assert nothing.

The runner does not know the tools, so the suite is the evidence: a name that only one fixture uses, and that differs by
a letter or two from another name of the suite, counts as mistyped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nexus_mcp.conformance.authoring.claims import all_asserts
from nexus_mcp.conformance.fixture import Fixture, WriteFile
from nexus_mcp.conformance.nearest import TYPO, did_you_mean
from nexus_mcp.conformance.tokens import STATE_ROOT

STATE_FILES = ("plan.json", "tasks.json", "history.json", "agent-tracker.json", "memory-access.jsonl")
"""The names of the files of .nexus that have a published schema."""
_MOST = 500
"""Names that are compared; each is compared with each."""


def find_tool_typos(fixtures: Sequence[Fixture]) -> dict[str, str]:
    """Return tools and events, written as in Fixture.tools, that only one fixture uses -> the message about them."""
    uses = Counter(name for fixture in fixtures for name in fixture.tools)
    if len(uses) > _MOST:
        return {}
    return {
        name: f"{name} is not called by any other fixture{meant}"
        for name, times in uses.items()
        if times == 1 and (meant := did_you_mean(name, _like(name, uses), TYPO))
    }


def find_file_typos(fixture: Fixture) -> Iterator[str]:
    """Yield a message for each path that resembles that of a known state file."""
    for path in dict.fromkeys(_paths(fixture)):
        folder, _, name = path.replace("{STATE_ROOT}", STATE_ROOT).rpartition("/")
        inside = f"{folder}/".startswith(".nexus/") and "artifacts" not in folder.split("/")
        if inside and name not in STATE_FILES and (meant := did_you_mean(name, STATE_FILES, TYPO)):
            yield f"{path} is not a known state file{meant}"


def _like(name: str, uses: Counter[str]) -> list[str]:
    """Return the other names of the same kind, tool or event."""
    return [other for other in uses if other != name and other.startswith("event ") == name.startswith("event ")]


def _paths(fixture: Fixture) -> Iterator[str]:
    yield from fixture.state_files
    yield from fixture.files
    yield from (step.do.path for step in fixture.steps if isinstance(step.do, WriteFile))
    for asserts in all_asserts(fixture):
        yield from asserts.state_files
        if isinstance(asserts.unchanged, tuple):
            yield from asserts.unchanged
