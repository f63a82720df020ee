"""Rules of a fixture that its schema cannot express: bounds that keep the runner safe, and consistency.

Values of the wrong type are ignored here, since the schema reports them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any

from nexus_mcp.conformance import jsonpath, limits, matchers
from nexus_mcp.conformance.fixture import WHOLE_TEXT
from nexus_mcp.conformance.tokens import HARNESS_ID, STATE_ROOT, path_fault
from nexus_mcp.schemas import Fault, escape, is_integer
from nexus_mcp.wording import suggestion_or_known

_ASSERTING = ("return_value", "result", "assert_return", "assert_result")
_MOST_TIMES = 1001
_ASSERTING_FILES = ("state_files", "assert_state")
REQUESTS = ("action", "event", "steps")
KINDS = ("action", "event", "list_tools", "restart", "write_file", "kill", "run", "parallel")
ANSWERING = ("action", "event", "list_tools", "kill", "run")
CALLING = ("action", "kill")
ABOUT_ANSWER = ("return_value", "result", "error", "error_contains")
NO_RESULT = "has no result to check: only a call has a result"
NO_RETRY = "needs an answer, which the kill may prevent: set retry: true in the kill"
CONTENT = ("text", "json", "base64", "symlink", "absent")
NO_STATE = "is not a state file: write files in .git in precondition.files, or set precondition.git: false"
SPECIAL = ("base64", "symlink", "directory")
DEEDS = ("write", "remove", "exit", "start_again", "signal", "hang", "meet")


def bound_faults(raw: Any) -> list[Fault]:
    """Return faults for the bounds that a fixture, as JSON, exceeds: those of its depth, else of its size, else of its
    keys and texts, else of its numbers of calls, parameters and assertions. Such a fixture is not checked further.
    """
    deep = _too_deep(raw)
    if deep is not None:
        return [Fault(deep, f"must have at most {limits.FIXTURE_LEVELS} levels of arrays and objects")]
    size, found = _size(raw)
    if size > limits.FIXTURE_SIZE:
        return [Fault("", f"must have at most {limits.FIXTURE_SIZE} characters as JSON")]
    return found or (list(_sums(raw)) if isinstance(raw, dict) else [])


def rule_faults(raw: Any, state_schemas: tuple[str, ...]) -> Iterator[Fault]:
    """Yield a fault for each place where a fixture, as JSON, breaks a rule of consistency.

    `state_schemas` has the names allowed in `covers.state_schemas`.
    """
    yield from text_faults(raw, "")
    if not isinstance(raw, dict):
        return
    description = raw.get("description")
    if isinstance(description, str) and description and not description.strip():
        yield Fault("/description", "must not be blank")
    yield from one_of(raw, REQUESTS, "")
    if raw.get("steps") == []:
        yield Fault("/steps", "must have a step")
    for place, step in each(raw.get("steps"), "/steps"):
        yield from _step_faults(step, place)
    yield from precondition_faults(members(raw.get("precondition")))
    yield from executor_faults(raw)
    yield from _postcondition_faults(raw)
    for name in members(members(raw.get("covers")).get("state_schemas")):
        if name not in state_schemas:
            place = f"/covers/state_schemas/{escape(name)}"
            yield Fault(place, f"is not a state file schema{suggestion_or_known(name, state_schemas)}")


def expected_places(raw: Any, place: str = "") -> Iterator[str]:
    """Yield the pointers of all expected values: the matchers' own rules check everything below them."""
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


def text_faults(value: Any, place: str) -> Iterator[Fault]:
    """Yield faults for keys that appear twice and texts that are not Unicode."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            yield Fault(place, "has a lone surrogate, which can neither be sent nor written")
    elif isinstance(value, dict):
        for name in getattr(value, "duplicates", ()):
            yield Fault(f"{place}/{escape(name)}", "appears twice")
        for name, member in value.items():
            yield from text_faults(name, place)
            yield from text_faults(member, f"{place}/{escape(name)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from text_faults(item, f"{place}/{index}")


def one_of(value: dict[str, Any], names: tuple[str, ...], place: str) -> Iterator[Fault]:
    """Yield a fault when `value` has more than one of the keys `names`; the schema checks that it has at least one."""
    found = [name for name in names if name in value]
    if len(found) > 1:
        yield Fault(place, f"must have only one of {', '.join(names)}; it has {' and '.join(found)}")


def precondition_faults(precondition: dict[str, Any]) -> Iterator[Fault]:
    """Yield faults of the files that exist before the start."""
    state_files, files = members(precondition.get("state_files")), members(precondition.get("files"))
    places = {
        f"/precondition/{group}/{escape(path)}": path
        for group, paths in (("state_files", state_files), ("files", files))
        for path in paths
    }
    for place, path in places.items():
        if path in state_files and path.split("/")[0] == ".git":
            yield Fault(place, NO_STATE)
        yield from path_faults(path, place)
    yield from _duplicate_faults(places.items())
    for path, what in files.items():
        place = f"/precondition/files/{escape(path)}"
        yield from one_of(members(what), SPECIAL, place)
        yield from base64_faults(members(what).get("base64"), f"{place}/base64")
    plain = [path for path, what in state_files.items() if what is not None]
    plain += [path for path, what in files.items() if isinstance(what, str) or "base64" in members(what)]
    for place, path in places.items():
        for above in plain:
            if _whole(path).startswith(f"{_whole(above)}/"):
                yield Fault(place, f"lies below {above}, which is a file")


def executor_faults(raw: dict[str, Any]) -> Iterator[Fault]:
    """Yield faults of the scripts of agents: deeds of several kinds, and scripts without a step `run`."""
    executor = members(raw.get("precondition")).get("executor")
    place = "/precondition/executor"
    if executor is not None and not any("run" in members(step) for _, step in each(raw.get("steps"), "")):
        yield Fault(place, "is only for a fixture with a step run")
    for task, sessions in members(members(executor).get("agents")).items():
        for inner, session in each(sessions, f"{place}/agents/{escape(task)}"):
            for deed_place, deed in each(session, inner):
                yield from one_of(members(deed), DEEDS, deed_place)


def value_faults(assertions: Any, place: str) -> Iterator[Fault]:
    """Yield faults of JSONPaths and of their expected values."""
    for path, expected in members(assertions).items():
        inner = f"{place}/{escape(path)}"
        try:
            jsonpath.compile(path)
        except ValueError as error:
            yield Fault(inner, str(error))
        yield from matchers.faults(expected, inner)


def file_faults(files: Any, place: str) -> Iterator[Fault]:
    """Yield faults of assertions on files."""
    yield from _duplicate_faults((f"{place}/{escape(path)}", path) for path in members(files))
    for path, wanted in members(files).items():
        inner = f"{place}/{escape(path)}"
        yield from path_faults(path, inner, git=False)
        assertions = dict(members(wanted))
        if WHOLE_TEXT in assertions:
            yield from _whole_text_faults(assertions.pop(WHOLE_TEXT), f"{inner}/{WHOLE_TEXT}")
        yield from value_faults(assertions, inner)


def unchanged_faults(unchanged: Any, place: str) -> Iterator[Fault]:
    """Yield faults of a list of paths."""
    for inner, path in each(unchanged, place):
        yield from path_faults(path, inner, git=False)


def path_faults(path: Any, place: str, *, git: bool = True) -> Iterator[Fault]:
    """Yield the fault of a path."""
    if isinstance(path, str) and (wrong := path_fault(path, git=git)):
        yield Fault(place, wrong)


def base64_faults(text: Any, place: str) -> Iterator[Fault]:
    """Yield the fault of bytes that are written as base64."""
    if isinstance(text, str):
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            yield Fault(place, "is not base64")


def members(value: Any) -> dict[str, Any]:
    """Return the value when it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def each(value: Any, place: str) -> list[tuple[str, Any]]:
    """Return place and value of each item when the value is an array, else nothing."""
    return [(f"{place}/{index}", item) for index, item in enumerate(value)] if isinstance(value, list) else []


def _too_deep(raw: Any) -> str | None:
    """Return the pointer of the first field of the fixture that is nested too deeply, None when none is."""
    for name, top in _named_items(raw):
        nodes = [top]
        for _ in range(limits.FIXTURE_LEVELS):
            nodes = [inner for node in nodes for _, inner in _named_items(node)]
        if any(isinstance(node, (dict, list)) for node in nodes):
            return f"/{escape(name[: limits.FIXTURE_NAME])}"
    return None


def _size(raw: Any) -> tuple[int, list[Fault]]:
    """Return about how many characters the JSON has, and the faults of keys and texts that are too long."""
    found: list[Fault] = []

    def weigh(value: Any, place: str) -> int:
        if isinstance(value, str):
            if len(value) > limits.FIXTURE_TEXT:
                found.append(Fault(place, f"must have at most {limits.FIXTURE_TEXT} characters"))
            return len(value) + 4
        size = 4
        for name, inner in _named_items(value):
            if len(name) > limits.FIXTURE_NAME:
                found.append(Fault(place, f"must have names of at most {limits.FIXTURE_NAME} characters"))
                name = name[: limits.FIXTURE_NAME]  # noqa: PLW2901 - shortened for the pointer
            size += len(name) + weigh(inner, f"{place}/{escape(name)}") + 4
        return size

    return weigh(raw, ""), found


def _sums(raw: dict[str, Any]) -> Iterator[Fault]:
    requests = list(_requests(raw))
    calls = sum(times for times, _ in requests)
    if calls > limits.FIXTURE_CALLS:
        yield Fault("", f"must make at most {limits.FIXTURE_CALLS} calls and events; it makes {calls}")
    elif _count(raw, "repeat") < _MOST_TIMES and calls * _count(raw, "repeat") > limits.FIXTURE_ALL_CALLS:
        yield Fault(
            "/repeat",
            f"must make at most {limits.FIXTURE_ALL_CALLS} calls and events in all repeats; "
            f"it makes {calls * _count(raw, 'repeat')}",
        )
    if sum(len(members(request.get("params"))) for _, request in requests) > limits.FIXTURE_PARAMS:
        yield Fault("", f"must have at most {limits.FIXTURE_PARAMS} parameters in all calls and events")
    if sum(map(_assertions, (members(raw.get("postcondition")), *_steps(raw)))) > limits.FIXTURE_ASSERTIONS:
        yield Fault("", f"must have at most {limits.FIXTURE_ASSERTIONS} JSONPaths in all assertions")


def _steps(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every step, those in `parallel` included; the fixture itself when it has no steps."""
    if "steps" not in raw:
        yield raw
    for _, step in each(raw.get("steps"), ""):
        yield members(step)
        for _, lane in each(members(step).get("parallel"), ""):
            for _, inner in each(lane, ""):
                yield members(inner)


def _requests(raw: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (how many times it is sent, the request) for each call and event."""
    for step in _steps(raw):
        for request in (step.get("action"), step.get("event"), members(step.get("kill")).get("action")):
            if isinstance(request, dict):
                yield _count(step, "times"), request


def _count(value: dict[str, Any], name: str) -> int:
    count = value.get(name, 1)
    # The schema reports _MOST_TIMES and every larger number.
    return int(min(count, _MOST_TIMES)) if is_integer(count) and count >= 1 else 1


def _assertions(value: dict[str, Any]) -> int:
    files = [wanted for name in _ASSERTING_FILES for wanted in members(value.get(name)).values()]
    return sum(len(members(value.get(name))) for name in _ASSERTING) + sum(len(members(wanted)) + 1 for wanted in files)


def _named_items(value: Any) -> list[tuple[str, Any]]:
    """Return the items of an object by key, those of an array by index, nothing for other values."""
    if isinstance(value, dict):
        return list(value.items())
    return [(str(index), item) for index, item in enumerate(value)] if isinstance(value, list) else []


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
    if step.get("list_tools") == []:
        yield Fault(f"{place}/list_tools", "must have a tool")
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
    """Yield faults of assertions on an answer that never exists, or exists only sometimes."""
    asserted = [name for name in ("assert_return", "assert_result", "assert_error") if name in step]
    if not any(name in step for name in ANSWERING):
        message = f"has no answer to check: only {', '.join(ANSWERING)} have one"
        yield from (Fault(f"{place}/{name}", message) for name in asserted)
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
    """Yield faults of a postcondition about a last answer that never exists, or exists only sometimes."""
    steps = [members(step) for _, step in each(raw.get("steps"), "")]
    requests = [step for step in steps or [raw] if any(name in step for name in ANSWERING)]
    if not requests:
        message = "has no answer to check: no step makes a request"
        yield from (Fault(f"/postcondition/{name}", message) for name in asserted if steps)
        return
    if "result" in asserted and not any(name in requests[-1] for name in CALLING):
        yield Fault("/postcondition/result", NO_RESULT)
    if _may_have_none(requests[-1]):
        yield from (Fault(f"/postcondition/{name}", NO_RETRY) for name in asserted)


def _harness_id_faults(raw: dict[str, Any]) -> Iterator[Fault]:
    """Yield faults of harness ids that replace {HARNESS_ID} in a path."""
    for place, event in _events(raw):
        named = members(event.get("params")).get("harness_id")
        if named is not None and not (isinstance(named, str) and HARNESS_ID.fullmatch(named)):
            yield Fault(f"{place}/params/harness_id", "is put into a path, so it must be a harness id")


def _may_have_none(step: dict[str, Any]) -> bool:
    """Return whether the step may end without an answer: a killed call is repeated only with retry."""
    return "kill" in step and members(step["kill"]).get("retry") is not True


def _events(raw: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "/event", members(raw.get("event"))
    for place, step in each(raw.get("steps"), "/steps"):
        yield f"{place}/event", members(members(step).get("event"))


def _whole_text_faults(expected: Any, place: str) -> Iterator[Fault]:
    kind = expected.get("type") if isinstance(expected, dict) else type(expected).__name__
    if kind in ("string", "iso8601", "str"):
        yield from matchers.faults(expected, place)
    else:
        yield Fault(place, "must be a string or a matcher with type string: it is about the text of the file")


def _duplicate_faults(places: Iterable[tuple[str, str]]) -> Iterator[Fault]:
    """Yield a fault for each path that names the same file as an earlier one."""
    seen: dict[str, str] = {}
    for place, path in places:
        if _whole(path) in seen:
            yield Fault(place, f"is the same file as {seen[_whole(path)]}")
        seen.setdefault(_whole(path), path)


def _whole(path: str) -> str:
    return path.replace("{STATE_ROOT}", STATE_ROOT)
