"""The params of events: required ones, their types, and ignored ones."""

from __future__ import annotations

import pytest

from nexus_mcp.errors import InvalidArguments, NexusError
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.definition import FIELDS
from tests.lifecycle.support import SPAWN, Teller
from tests.support import Json, Project

A = {"agent_id": "a1"}
NO_OBJECTS: tuple[Json, ...] = ([], "a", None, 5)


@pytest.mark.requirement("events.params")
@pytest.mark.parametrize(
    ("event", "params", "message"),
    [
        ("agent_spawn", {}, "agent_name is required; agent_id is required"),
        ("agent_spawn", {"agent_id": None, "agent_name": 5}, "agent_id is required"),
        ("agent_spawn", {**SPAWN, "agent_name": "a\0"}, "agent_name must not have NUL or lone surrogates"),
        ("agent_spawn", {**SPAWN, "agent_id": ""}, "agent_id must not be empty"),
        ("agent_spawn", {**SPAWN, "agent_id": " "}, "agent_id must not be blank"),
        ("agent_spawn", {**SPAWN, "agent_id": "a\0"}, "agent_id must not have NUL or lone surrogates"),
        (
            "agent_spawn",
            {"agent_name": 5, "agent_id": True},
            "agent_name must be of type string; agent_id must be of type string",
        ),
        ("agent_resume", {"agent_name": "engineer"}, "agent_id is required"),
        ("agent_complete", {**A, "last_message": "\ud800"}, "last_message must not have NUL or lone surrogates"),
        ("agent_complete", {**A, "files_touched": "a"}, "files_touched must be of type array"),
        ("agent_complete", {**A, "files_touched": ["a", 1]}, "files_touched/1 must be of type string"),
        ("agent_complete", {**A, "files_touched": ["\0"]}, "files_touched must not have NUL or lone surrogates"),
        ("session_end", {"harness_id": 5}, "harness_id must be of type string"),
        ("turn_end", {"stop_hook_active": "yes"}, "stop_hook_active must be of type boolean"),
        *((event, params, "the params must be an object") for event in EVENTS for params in NO_OBJECTS),
    ],
)
def test_wrong_params_are_reported_together(
    tell: Teller, project: Project, event: str, params: Json, message: str
) -> None:
    """Missing params and params of a wrong type are reported together, and nothing is written."""
    before = project.snapshot()
    with pytest.raises(InvalidArguments) as caught:
        tell.send(event, params)
    assert str(caught.value) == message
    assert project.snapshot() == before


@pytest.mark.requirement("harness.pattern")
@pytest.mark.parametrize("harness_id", ["", "..", "a/b", "Claude", "../x"])
def test_unsafe_harness_id_is_refused(tell: Teller, project: Project, harness_id: str) -> None:
    """A harness id that could lead elsewhere is refused, and nothing is written."""
    before = project.snapshot()
    with pytest.raises(InvalidArguments, match="is not usable") as caught:
        tell("session_end", harness_id=harness_id)
    assert not harness_id or harness_id not in str(caught.value)
    assert project.snapshot() == before


@pytest.mark.requirement("events.ignored")
def test_unknown_params_and_null_are_ignored(tell: Teller) -> None:
    """Params that an event does not take are ignored, whatever they are, and null is as if it were not there."""
    answer = tell("agent_spawn", **SPAWN, last_message=5, source=[], unknown={"a": None}, harness_id=None)
    assert (answer["harness_id"], answer["resumed"]) == ("nexus-mcp", False)
    assert tell("agent_complete", agent_id="a1", agent_name=5, last_message=None)["completed"] is True


def test_every_event_has_a_summary_and_typed_fields() -> None:
    """Every event has a summary of one line, and takes only fields of known types."""
    for row in EVENTS.values():
        event = row.load()
        assert row.summary.strip()
        assert {*event.required, *event.optional, *event.types} <= set(FIELDS)
    assert issubclass(InvalidArguments, NexusError)
