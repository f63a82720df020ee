"""What a fixture has to keep beyond its schema; parts of a wrong shape are left to the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nexus_mcp.conformance.authoring.parts import (
    base64_faults,
    each,
    file_faults,
    members,
    one_of,
    path_faults,
    precondition_faults,
    text_faults,
    unchanged_faults,
    value_faults,
)
from nexus_mcp.conformance.nearest import near
from nexus_mcp.conformance.tokens import HARNESS_ID
from nexus_mcp.schemas import Fault, escape

ASKED = ("action", "event", "steps")
KINDS = ("action", "event", "restart", "write_file", "kill", "parallel")
ANSWERING = ("action", "event", "kill")
CALLING = ("action", "kill")
ABOUT_ANSWER = ("return_value", "result", "error", "error_contains")
NO_RESULT = "has no result to look at: an event has an answer, but only a call has a result"
NO_RETRY = "is about an answer that may never come, depending on the moment of the kill: say retry: true in it"
CONTENT = ("text", "json", "base64", "symlink", "absent")


def rule_faults(raw: Any, state_schemas: tuple[str, ...]) -> Iterator[Fault]:
    """Every fault of a fixture, as JSON. `state_schemas`: the names of the files that covers may name."""
    yield from text_faults(raw, "")
    if not isinstance(raw, dict):
        return
    description = raw.get("description")
    if isinstance(description, str) and description and not description.strip():
        yield Fault("/description", "must not be blank")
    yield from one_of(raw, ASKED, "")
    if raw.get("steps") == []:
        yield Fault("/steps", "must have a step")
    for place, step in each(raw.get("steps"), "/steps"):
        yield from _step_faults(step, place)
    yield from precondition_faults(members(raw.get("precondition")))
    yield from _postcondition_faults(raw)
    for name in members(members(raw.get("covers")).get("state_schemas")):
        if name not in state_schemas:
            place = f"/covers/state_schemas/{escape(name)}"
            yield Fault(place, f"is no schema of a state file{near(name, state_schemas)}")


def expected_places(raw: Any, place: str = "") -> Iterator[str]:
    """The pointers of all expected values: what stands below them is told by the matchers' own rules."""
    for name, member in members(raw).items():
        inner = f"{place}/{escape(name)}"
        if name in ("return_value", "assert_return", "assert_result") or inner == "/postcondition/result":
            yield from (f"{inner}/{escape(path)}" for path in members(member))
        elif name == "assert_state" or inner == "/postcondition/state_files":
            for file, wanted in members(member).items():
                yield from (f"{inner}/{escape(file)}/{escape(path)}" for path in members(wanted))
        elif name in ("postcondition", "steps", "parallel"):
            yield from expected_places(member, inner)
    if isinstance(raw, list):
        for index, item in enumerate(raw):
            yield from expected_places(item, f"{place}/{index}")


def _step_faults(step: Any, place: str) -> Iterator[Fault]:
    if not isinstance(step, dict):
        return
    yield from one_of(step, KINDS, place)
    if "times" in step and "action" not in step:
        yield Fault(f"{place}/times", "is only for an action")
    yield from _answer_faults(step, place)
    written = members(step.get("write_file"))
    yield from one_of(written, CONTENT, f"{place}/write_file")
    yield from path_faults(written.get("path"), f"{place}/write_file/path")
    yield from base64_faults(written.get("base64"), f"{place}/write_file/base64")
    if step.get("parallel") == []:
        yield Fault(f"{place}/parallel", "must have a list of steps")
    for lane, steps in each(step.get("parallel"), f"{place}/parallel"):
        if steps == []:
            yield Fault(lane, "must have a step")
        for inner, lane_step in each(steps, lane):
            for name in ("assert_return", "assert_result"):
                yield from value_faults(members(lane_step).get(name), f"{inner}/{name}")
    for name in ("assert_return", "assert_result"):
        yield from value_faults(step.get(name), f"{place}/{name}")
    yield from file_faults(step.get("assert_state"), f"{place}/assert_state")
    yield from unchanged_faults(step.get("assert_unchanged"), f"{place}/assert_unchanged")


def _answer_faults(step: dict[str, Any], place: str) -> Iterator[Fault]:
    """Assertions on an answer that is not there, or only sometimes."""
    asserted = [name for name in ("assert_return", "assert_result", "assert_error") if name in step]
    if not any(name in step for name in ANSWERING):
        said = f"has no answer to look at: only {', '.join(ANSWERING)} have one"
        yield from (Fault(f"{place}/{name}", said) for name in asserted)
    elif "assert_result" in step and not any(name in step for name in CALLING):
        yield Fault(f"{place}/assert_result", NO_RESULT)
    if _may_have_none(step):
        yield from (Fault(f"{place}/{name}", NO_RETRY) for name in asserted)


def _postcondition_faults(raw: dict[str, Any]) -> Iterator[Fault]:
    post = members(raw.get("postcondition"))
    for name in ("return_value", "result"):
        yield from value_faults(post.get(name), f"/postcondition/{name}")
    yield from file_faults(post.get("state_files"), "/postcondition/state_files")
    yield from unchanged_faults(post.get("unchanged"), "/postcondition/unchanged")
    if post.get("error") is False and "error_contains" in post:
        yield Fault("/postcondition/error", "must not be false beside error_contains")
    yield from _last_answer_faults(raw, [name for name in ABOUT_ANSWER if name in post])
    if "{HARNESS_ID}" in json.dumps(raw):
        yield from _harness_id_faults(raw)


def _last_answer_faults(raw: dict[str, Any], asserted: list[str]) -> Iterator[Fault]:
    """Assertions of the postcondition on a last answer that is not there, or only sometimes."""
    steps = [members(step) for _, step in each(raw.get("steps"), "")]
    asking = [step for step in steps or [raw] if any(name in step for name in ANSWERING)]
    if not asking:
        said = "has no answer to look at: no step asks anything"
        yield from (Fault(f"/postcondition/{name}", said) for name in asserted if steps)
        return
    if "result" in asserted and not any(name in asking[-1] for name in CALLING):
        yield Fault("/postcondition/result", NO_RESULT)
    if _may_have_none(asking[-1]):
        yield from (Fault(f"/postcondition/{name}", NO_RETRY) for name in asserted)


def _harness_id_faults(raw: dict[str, Any]) -> Iterator[Fault]:
    """Ids of harnesses that stand for {HARNESS_ID} in a path."""
    for place, event in _events(raw):
        named = members(event.get("params")).get("harness_id")
        if named is not None and not (isinstance(named, str) and HARNESS_ID.fullmatch(named)):
            yield Fault(f"{place}/params/harness_id", "is put into a path, so it must be a harness id")


def _may_have_none(step: dict[str, Any]) -> bool:
    """Whether it depends on the moment that the step has an answer: that of a kill is not asked again."""
    return "kill" in step and members(step["kill"]).get("retry") is not True


def _events(raw: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "/event", members(raw.get("event"))
    for place, step in each(raw.get("steps"), "/steps"):
        yield f"{place}/event", members(members(step).get("event"))
