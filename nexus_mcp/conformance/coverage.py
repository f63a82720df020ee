"""What a suite claims to look at, what it really looks at, and the gaps between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nexus_mcp.conformance.authoring.fields import fields_of, state_schemas, touched_fields, touched_members
from nexus_mcp.conformance.authoring.parameters import all_asserts, answers, asserted, parameters
from nexus_mcp.conformance.fixture import WHOLE_TEXT, Action, Fixture

GAPS = {
    "unclaimed": "fields of state schemas that no fixture claims",
    "untouched": "entries of covers that no assertion touches",
    "unasserted": "parameters that are neither asserted nor listed in uncovered_params",
    "stale": "entries of uncovered_params that are asserted, or are no parameter",
}
"""Kind of a gap -> what it is."""


@dataclass(frozen=True)
class Gap:
    """One gap. `kind` is one of GAPS; `fixture` is a test_id and `source` its file, both "" for an unclaimed field.

    `field` is what it is about: `plan.schema.json topic`, `task_add task.id`, or a parameter's name.
    """

    kind: str
    field: str
    fixture: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{self.source}: {self.fixture}: {self.field}" if self.fixture else self.field


@dataclass(frozen=True)
class Coverage:
    """`claims`: every field of every state schema, such as `plan.schema.json topic` -> who claims and touches it.

    `parameters` counts those of all fixtures, `claimed` the entries of their covers.
    """

    claims: dict[str, tuple[str, ...]]
    parameters: int
    claimed: int
    gaps: tuple[Gap, ...]

    def having(self, kind: str) -> tuple[Gap, ...]:
        """The gaps of this kind."""
        return tuple(gap for gap in self.gaps if gap.kind == kind)


def coverage(fixtures: Sequence[Fixture]) -> Coverage:
    """The coverage of a whole suite."""
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


def _gaps(fixture: Fixture) -> Iterator[Gap]:
    def gap(kind: str, field: str) -> Gap:
        return Gap(kind, field, fixture.test_id, fixture.source)

    touched = _touched_state(fixture) | _touched_answers(fixture)
    for entry in (*_state_claims(fixture), *_answer_claims(fixture)):
        if entry not in touched:
            yield gap("untouched", entry)
    seen = asserted(fixture)
    known = parameters(fixture)
    yield from (gap("unasserted", name) for name in known if name not in seen and name not in fixture.uncovered_params)
    yield from (gap("stale", name) for name in fixture.uncovered_params if name in seen or name not in known)


def _state_claims(fixture: Fixture) -> list[str]:
    claims = fixture.covers.get("state_schemas", {})
    return [f"{name} {field}" for name, fields in claims.items() for field in fields]


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
        f"{asked.tool if isinstance(asked, Action) else asked.type} {member}"
        for asked, every in answers(fixture)
        for asserts in every
        for query, expected in (asserts.return_value or {}).items()
        for member in touched_members(query, expected)
    }
