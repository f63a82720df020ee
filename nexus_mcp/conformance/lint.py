"""What is wrong with fixtures that can be loaded, on top of what loading tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nexus_mcp.conformance.authoring.fields import fields_of
from nexus_mcp.conformance.authoring.parameters import all_asserts
from nexus_mcp.conformance.authoring.strangers import odd_files, odd_tools
from nexus_mcp.conformance.fixture import Asserts, Fixture
from nexus_mcp.conformance.loading import line, read
from nexus_mcp.conformance.nearest import near
from nexus_mcp.schemas import escape


def lint(paths: Sequence[str] = ()) -> list[str]:
    """Every fault of these files and folders, a line for each; of the packaged fixtures when there are none."""
    found = read(paths)
    odd = odd_tools(found.fixtures)
    return [
        *found.faults,
        *(
            line(fixture.source, fixture.pointer + pointer, what)
            for fixture in found.fixtures
            for pointer, what in (*_faults(fixture), *_odd(fixture, odd))
        ),
    ]


def _faults(fixture: Fixture) -> Iterator[tuple[str, str]]:
    if not any(_can_fail(asserts) for asserts in all_asserts(fixture)):
        yield "", "asserts nothing, so nothing about it can fail"
    for name, fields in fixture.covers.get("state_schemas", {}).items():
        for index, field in enumerate(fields):
            known = fields_of(name)
            if field not in known:
                yield f"/covers/state_schemas/{escape(name)}/{index}", f"{field} is no field of it{near(field, known)}"
    asked = [name.removeprefix("event ") for name in fixture.tools]
    for name in fixture.covers.get("return_value", {}):
        if name not in asked:
            yield f"/covers/return_value/{escape(name)}", f"is not asked by this fixture{near(name, asked)}"


def _odd(fixture: Fixture, tools: dict[str, str]) -> Iterator[tuple[str, str]]:
    yield from (("", tools[name]) for name in fixture.tools if name in tools)
    yield from (("", what) for what in odd_files(fixture))


def _can_fail(asserts: Asserts) -> bool:
    """Whether it says anything. That a call succeeds is not enough: nobody sees then what it did."""
    return bool(
        asserts.return_value
        or asserts.result
        or asserts.state_files
        or asserts.error is not None
        or asserts.error_contains is not None
        or asserts.unchanged
    )
