"""Check a suite of fixtures: all faults, also those that loading ignores (lint), and the coverage of its assertions.

A mistyped name of a tool or a file makes a fixture assert nothing. The suite does not know the tools, so `lint`
compares their names in all fixtures: a name counts as mistyped if only one fixture uses it and it differs from another
name by a letter or two. The name of a file counts as mistyped if it differs as little from a name in STATE_FILES.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nexus_mcp.conformance.authoring.claims import (
    all_asserts,
    answers,
    asserted_parameters,
    claimed_field,
    fields_of,
    parameters,
    state_schemas,
    touched_fields,
    touched_members,
)
from nexus_mcp.conformance.fixture import WHOLE_TEXT, Action, Asserts, Fixture, WriteFile
from nexus_mcp.conformance.loading import line, read
from nexus_mcp.conformance.tokens import STATE_ROOT
from nexus_mcp.schemas import escape
from nexus_mcp.wording import suggestion, suggestion_or_known

GAPS = {
    "unclaimed": "fields of state schemas that no fixture claims",
    "untouched": "entries of covers that no assertion touches",
    "unasserted": "parameters that are neither asserted nor listed in uncovered_params",
    "stale": "entries of uncovered_params that are asserted, or are no parameter",
}
"""Kind of a gap -> its meaning."""
STATE_FILES = ("plan.json", "tasks.json", "history.json", "agent-tracker.json", "memory-access.jsonl", "tool-log.jsonl")
"""The names of the files of .nexus that have a schema in schemas/state/."""
_TYPO = 0.87
"""The least ratio of difflib at which a name counts as mistyped: it differs by a letter or two."""
_MOST = 500
"""The maximum number of names that are compared: every pair is, so with more names there is no comparison."""


def lint(paths: Sequence[str] = ()) -> list[str]:
    """Return every fault of these files and folders, one line each; without paths, of the packaged fixtures."""
    found = read(paths)
    odd = find_tool_typos(found.fixtures)
    return [
        *found.faults,
        *(
            line(fixture.source, fixture.pointer + pointer, what)
            for fixture in found.fixtures
            for pointer, what in (*_faults(fixture), *_odd(fixture, odd))
        ),
    ]


@dataclass(frozen=True)
class Gap:
    """One gap. `kind` is one of GAPS; `fixture` is a test_id and `source` its file, both "" for an unclaimed field.

    `field` is the subject: `plan.schema.json topic`, `task_add task.id`, or a parameter's name.
    """

    kind: str
    field: str
    fixture: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{self.source}: {self.fixture}: {self.field}" if self.fixture else self.field


@dataclass(frozen=True)
class Coverage:
    """The coverage of a suite.

    `claims`: every field of every state schema, such as `plan.schema.json topic` -> the fixtures that claim and assert
    it. `parameters` is the number of parameters in all fixtures, `claimed` that of the entries in their covers.
    """

    claims: dict[str, tuple[str, ...]]
    parameters: int
    claimed: int
    gaps: tuple[Gap, ...]

    def having(self, kind: str) -> tuple[Gap, ...]:
        """Return the gaps of this kind."""
        return tuple(gap for gap in self.gaps if gap.kind == kind)


def coverage(fixtures: Sequence[Fixture]) -> Coverage:
    """Return the coverage of a whole suite."""
    gaps = [gap for fixture in fixtures for gap in _gaps(fixture)]
    claimants: dict[str, list[str]] = {f"{name} {field}": [] for name in state_schemas() for field in fields_of(name)}
    for fixture in fixtures:
        for entry in sorted(set(_state_claims(fixture)) & _touched_state(fixture)):
            claimants[entry].append(fixture.test_id)
    unclaimed = [Gap("unclaimed", entry) for entry, claims in claimants.items() if not claims]
    return Coverage(
        claims={entry: tuple(claims) for entry, claims in claimants.items()},
        parameters=sum(len(parameters(fixture)) for fixture in fixtures),
        claimed=sum(len([*_state_claims(fixture), *_answer_claims(fixture)]) for fixture in fixtures),
        gaps=(*unclaimed, *gaps),
    )


def find_tool_typos(fixtures: Sequence[Fixture]) -> dict[str, str]:
    """Return the mistyped tools and events, written as in Fixture.tools -> the message about each."""
    uses = Counter(name for fixture in fixtures for name in fixture.tools)
    if len(uses) > _MOST:
        return {}
    return {
        name: f"{name} is not called by any other fixture{meant}"
        for name, times in uses.items()
        if times == 1 and (meant := suggestion(name, _like(name, uses), _TYPO))
    }


def find_file_typos(fixture: Fixture) -> Iterator[str]:
    """Yield a message for each path whose file name resembles that of a known state file, but is another."""
    for path in dict.fromkeys(_paths(fixture)):
        folder, _, name = path.replace("{STATE_ROOT}", STATE_ROOT).rpartition("/")
        inside = f"{folder}/".startswith(".nexus/") and "artifacts" not in folder.split("/")
        if inside and name not in STATE_FILES and (meant := suggestion(name, STATE_FILES, _TYPO)):
            yield f"{path} is not a known state file{meant}"


def _faults(fixture: Fixture) -> Iterator[tuple[str, str]]:
    if not any(_can_fail(asserts) for asserts in all_asserts(fixture)):
        yield "", "has no assertion that can fail"
    for name, fields in fixture.covers.get("state_schemas", {}).items():
        for index, field in enumerate(fields):
            known = fields_of(name)
            if claimed_field(name, field) is None:
                yield (
                    f"/covers/state_schemas/{escape(name)}/{index}",
                    f"{field} is not in this schema{suggestion_or_known(field, known)}",
                )
    called = [name.removeprefix("event ") for name in fixture.tools]
    for name in fixture.covers.get("return_value", {}):
        if name not in called:
            yield (
                f"/covers/return_value/{escape(name)}",
                f"is not called by this fixture{suggestion_or_known(name, called)}",
            )


def _odd(fixture: Fixture, tools: dict[str, str]) -> Iterator[tuple[str, str]]:
    yield from (("", tools[name]) for name in fixture.tools if name in tools)
    yield from (("", what) for what in find_file_typos(fixture))


def _can_fail(asserts: Asserts) -> bool:
    """Return whether there is an assertion. Each call must succeed by default, but that alone does not count: it does
    not check the effect of the call.
    """
    return bool(
        asserts.return_value
        or asserts.result
        or asserts.state_files
        or asserts.error is not None
        or asserts.error_contains is not None
        or asserts.unchanged
    )


def _gaps(fixture: Fixture) -> Iterator[Gap]:
    def gap(kind: str, field: str) -> Gap:
        return Gap(kind, field, fixture.test_id, fixture.source)

    touched = _touched_state(fixture) | _touched_answers(fixture)
    for entry in (*_state_claims(fixture), *_answer_claims(fixture)):
        if entry not in touched:
            yield gap("untouched", entry)
    seen = asserted_parameters(fixture)
    known = parameters(fixture)
    yield from (gap("unasserted", name) for name in known if name not in seen and name not in fixture.uncovered_params)
    yield from (gap("stale", name) for name in fixture.uncovered_params if name in seen or name not in known)


def _state_claims(fixture: Fixture) -> list[str]:
    claims = fixture.covers.get("state_schemas", {})
    named = [claimed_field(name, field) or (name, field) for name, fields in claims.items() for field in fields]
    return [f"{name} {field}" for name, field in dict.fromkeys(named)]


def _answer_claims(fixture: Fixture) -> list[str]:
    claims = fixture.covers.get("return_value", {})
    return [f"{tool} {member}" for tool, members in claims.items() for member in members]


def _touched_state(fixture: Fixture) -> set[str]:
    return {
        f"{name} {field}"
        for asserts in all_asserts(fixture)
        for path, wanted in asserts.state_files.items()
        for query, expected in (wanted or {}).items()
        if query != WHOLE_TEXT
        for name, field in touched_fields(path, query, expected)
    }


def _touched_answers(fixture: Fixture) -> set[str]:
    return {
        f"{called.tool if isinstance(called, Action) else called.type} {member}"
        for called, every in answers(fixture)
        for asserts in every
        for query, expected in (asserts.return_value or {}).items()
        for member in touched_members(query, expected)
    }


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
