"""The bounds of a fixture as a whole, which its schema cannot express: a runner has to be safe with any file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nexus_mcp.conformance import limits
from nexus_mcp.conformance.authoring.parts import each, members
from nexus_mcp.schemas import Fault, escape, is_integer

_ASSERTING = ("return_value", "result", "assert_return", "assert_result")
_MOST_TIMES = 1001
_ASSERTING_FILES = ("state_files", "assert_state")


def bound_faults(raw: Any) -> list[Fault]:
    """Return every bound that a fixture, as JSON, goes beyond. Nothing else need be looked at then."""
    deep = _too_deep(raw)
    if deep is not None:
        return [Fault(deep, f"must have at most {limits.FIXTURE_LEVELS} levels of arrays and objects")]
    size, found = _size(raw)
    if size > limits.FIXTURE_SIZE:
        return [Fault("", f"must have at most {limits.FIXTURE_SIZE} characters as JSON")]
    return found or (list(_sums(raw)) if isinstance(raw, dict) else [])


def _too_deep(raw: Any) -> str | None:
    """Return the pointer of the member of the fixture that is nested too deeply, None when none is."""
    for name, top in _named(raw):
        nodes = [top]
        for _ in range(limits.FIXTURE_LEVELS):
            nodes = [inner for node in nodes for _, inner in _named(node)]
        if nodes:
            return f"/{escape(name[: limits.FIXTURE_NAME])}"
    return None


def _size(raw: Any) -> tuple[int, list[Fault]]:
    """Return about how many characters the JSON has, and the names and texts in it that are too long."""
    found: list[Fault] = []

    def weigh(value: Any, place: str) -> int:
        if isinstance(value, str):
            if len(value) > limits.FIXTURE_TEXT:
                found.append(Fault(place, f"must have at most {limits.FIXTURE_TEXT} characters"))
            return len(value) + 4
        size = 4
        for name, inner in _named(value):
            if len(name) > limits.FIXTURE_NAME:
                found.append(Fault(place, f"must have names of at most {limits.FIXTURE_NAME} characters"))
                name = name[: limits.FIXTURE_NAME]  # noqa: PLW2901 - for the place
            size += len(name) + weigh(inner, f"{place}/{escape(name)}") + 4
        return size

    return weigh(raw, ""), found


def _sums(raw: dict[str, Any]) -> Iterator[Fault]:
    asking = list(_asking(raw))
    calls = sum(times for times, _ in asking)
    if calls > limits.FIXTURE_CALLS:
        yield Fault("", f"must make at most {limits.FIXTURE_CALLS} calls and events; it makes {calls}")
    elif _count(raw, "repeat") < _MOST_TIMES and calls * _count(raw, "repeat") > limits.FIXTURE_ALL_CALLS:
        yield Fault(
            "/repeat",
            f"must make at most {limits.FIXTURE_ALL_CALLS} calls and events in all repeats; "
            f"it makes {calls * _count(raw, 'repeat')}",
        )
    if sum(len(members(asked.get("params"))) for _, asked in asking) > limits.FIXTURE_PARAMS:
        yield Fault("", f"must have at most {limits.FIXTURE_PARAMS} parameters in all calls and events")
    if sum(map(_assertions, (members(raw.get("postcondition")), *_steps(raw)))) > limits.FIXTURE_ASSERTIONS:
        yield Fault("", f"must have at most {limits.FIXTURE_ASSERTIONS} JSONPaths in all assertions")


def _steps(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every step, those in `parallel` included; the fixture itself when it has none."""
    if "steps" not in raw:
        yield raw
    for _, step in each(raw.get("steps"), ""):
        yield members(step)
        for _, lane in each(members(step).get("parallel"), ""):
            for _, inner in each(lane, ""):
                yield members(inner)


def _asking(raw: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """How often, and what is asked there."""
    for step in _steps(raw):
        for asked in (step.get("action"), step.get("event"), members(step.get("kill")).get("action")):
            if isinstance(asked, dict):
                yield _count(step, "times"), asked


def _count(value: dict[str, Any], name: str) -> int:
    count = value.get(name, 1)
    # More than _MOST_TIMES is told by the schema.
    return int(min(count, _MOST_TIMES)) if is_integer(count) and count >= 1 else 1


def _assertions(value: dict[str, Any]) -> int:
    files = [wanted for name in _ASSERTING_FILES for wanted in members(value.get(name)).values()]
    return sum(len(members(value.get(name))) for name in _ASSERTING) + sum(len(members(wanted)) + 1 for wanted in files)


def _named(value: Any) -> list[tuple[str, Any]]:
    """The members of an object, the items of an array with their index, nothing of anything else."""
    if isinstance(value, dict):
        return list(value.items())
    return [(str(index), item) for index, item in enumerate(value)] if isinstance(value, list) else []
