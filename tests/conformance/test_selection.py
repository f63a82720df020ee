"""--only and --tool select fixtures."""

from __future__ import annotations

import pytest

from nexus_mcp.conformance.fixture import Action, Asserts, Event, Fixture, Step
from nexus_mcp.conformance.settings import select
from nexus_mcp.errors import HarnessFault


def fixture(test_id: str, *asked: Action | Event) -> Fixture:
    return Fixture(
        test_id, "What is checked.", tuple(map(Step, asked)), single=len(asked) == 1, postcondition=Asserts()
    )


ADD, CLOSE, SPAWN = Action("task_add"), Action("task_close"), Event("agent_spawn")
SUITE = [
    fixture("task_add_basic", ADD),
    fixture("task_add_keys", ADD),
    fixture("cycle", ADD, CLOSE),
    fixture("spawn", SPAWN),
]


@pytest.mark.parametrize(
    ("only", "tools", "chosen"),
    [
        ([], [], ["task_add_basic", "task_add_keys", "cycle", "spawn"]),
        (["task_*"], [], ["task_add_basic", "task_add_keys"]),
        (["spawn", "*_keys"], [], ["task_add_keys", "spawn"]),
        ([], ["task_close"], ["cycle"]),
        ([], ["task_close", "agent_spawn"], ["cycle", "spawn"]),
        ([], ["event agent_spawn"], ["spawn"]),
        (["c*", "spawn"], ["task_add"], ["cycle"]),
    ],
)
def test_selection_needs_a_glob_and_a_tool_match(only: list[str], tools: list[str], chosen: list[str]) -> None:
    """A fixture is chosen if it matches a glob and calls a tool of the lists; an empty list matches all fixtures."""
    assert [one.test_id for one in select(SUITE, only, tools)] == chosen


@pytest.mark.parametrize(
    ("only", "tools", "faults"),
    [
        (
            ["task_add_basik"],
            [],
            ["--only task_add_basik: no fixture matches it; did you mean task_add_basic?"],
        ),
        (["task_*", "Z*"], [], ["--only Z*: no fixture matches it"]),
        (["TASK_*"], [], ["--only TASK_*: no fixture matches it"]),
        ([], ["task_ad"], ["--tool task_ad: no fixture calls it; did you mean task_add?"]),
        (
            ["zzz"],
            ["xyzzy"],
            [
                "--only zzz: no fixture matches it",
                "--tool xyzzy: no fixture calls it; known: agent_spawn, event agent_spawn, task_add, task_close.",
            ],
        ),
        (["spawn"], ["task_add", "task_close"], ["No fixture matches --only spawn and calls task_add or task_close."]),
    ],
)
def test_empty_selection_names_similar_ids(only: list[str], tools: list[str], faults: list[str]) -> None:
    """A selection, or a part of one, that matches no fixture is reported with the nearest ids."""
    with pytest.raises(HarnessFault) as caught:
        select(SUITE, only, tools)
    assert caught.value.faults == faults
