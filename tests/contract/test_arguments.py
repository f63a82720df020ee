"""The arguments that a call accepts, and the order in which they are checked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.parameters import PARAMETERS, REQUIRED, names_of
from tests.support import NAMES, SMALLEST, Client, Project


@pytest.mark.requirement("calls.unknown", "calls.failure-keeps", "calls.message-help")
@pytest.mark.parametrize("tool", NAMES)
def test_unknown_parameters_are_refused_by_name(full: Client, tool: str) -> None:
    """Unknown parameters are refused by name, with the accepted ones listed."""
    required, optional = PARAMETERS[tool]
    message = full.refused(tool, {**SMALLEST[tool], "bogus_one": 1, "bogus_two": None})
    assert "bogus_one" in message
    assert "bogus_two" in message
    assert all(name in message for name in required + optional)


@pytest.mark.requirement("calls.unknown")
def test_many_unknown_parameters_are_counted(call: Client) -> None:
    """Of very many unknown names a hundred are listed, with the number of the others."""
    message = call.refused("context", {f"x{number}": 0 for number in range(250)})
    assert message.count("unknown parameter ") == 100
    assert "; 150 more unknown parameters; no parameters are accepted" in message


@pytest.mark.requirement("calls.order", "calls.unknown")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if PARAMETERS[tool][0]])
def test_unknown_parameters_are_reported_before_missing_ones(call: Client, tool: str) -> None:
    """With an unknown parameter the message does not mention missing ones."""
    message = call.refused(tool, {"bogus": 1})
    assert "bogus" in message
    assert "is required" not in message


@pytest.mark.requirement("calls.order", "calls.missing", "calls.joined")
@pytest.mark.parametrize(("tool", "left_out"), REQUIRED)
def test_missing_parameters_are_reported_before_wrong_values(call: Client, tool: str, left_out: str) -> None:
    """With a missing parameter the message does not mention values of the others."""
    arguments = {name: {"wrong": 1} for name in names_of(tool) if name != left_out}
    assert call.refused(tool, arguments) == f"{left_out} is required"


@pytest.mark.requirement("calls.order", "calls.joined", "calls.types")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if names_of(tool)])
def test_all_wrong_values_are_reported_at_once(call: Client, tool: str) -> None:
    """The message lists every wrong value, and no error of the tool itself."""
    names = names_of(tool)
    message = call.refused(tool, dict.fromkeys(names, False))
    faults = message.split("; ")
    assert len(faults) == len(names)
    assert sorted(names) == sorted(
        next(n for n in sorted(names, key=len, reverse=True) if n in fault) for fault in faults
    )
    assert not any(text in message for text in ("No active plan session", "tasks.json not found", "is required"))


@pytest.mark.requirement("calls.missing", "calls.null-required")
@pytest.mark.parametrize(("tool", "name"), REQUIRED)
def test_null_for_a_required_parameter_counts_as_missing(call: Client, tool: str, name: str) -> None:
    """Null is missing."""
    assert call.refused(tool, {**SMALLEST[tool], name: None}) == f"{name} is required"


@pytest.mark.requirement("calls.null-optional")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if PARAMETERS[tool][1]])
def test_null_for_optional_parameters_counts_as_absent(
    full: Client, project: Project, make_app: Any, tool: str
) -> None:
    """Null is absent: the answer is that of the call without."""
    nulls = {name: None for name in PARAMETERS[tool][1] if name not in SMALLEST[tool]}
    before = {path: project.get(path) for path in ("state/plan.json", "state/tasks.json")}
    first = full.send(tool, SMALLEST[tool])
    for path, content in before.items():
        project.put(path, content)
    assert full.send(tool, {**nulls, **SMALLEST[tool]}) == first


@pytest.mark.requirement("calls.result")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if not PARAMETERS[tool][0]])
def test_absent_arguments_count_as_empty(full: Client, tool: str) -> None:
    """Arguments that are left out are none."""
    assert full.app.call(tool, None).result["isError"] is False


@pytest.mark.requirement("calls.surrogates", "calls.nul", "calls.unknown")
@pytest.mark.parametrize("name", ["\ud800", "\0", "topic\0", ""])
def test_parameter_name_that_is_no_text_is_unknown(call: Client, name: str) -> None:
    """A parameter's name that is no text is unknown like any other, and the message can be sent."""
    assert "topic" in call.refused("plan_start", {**SMALLEST["plan_start"], name: 1})


@pytest.mark.requirement("calls.failure-keeps")
@pytest.mark.parametrize("tool", NAMES)
def test_failed_call_creates_no_file(call: Client, project: Project, tool: str) -> None:
    """A call that fails in an unused project creates no file."""
    call.refused(tool, {"bogus": 1})
    assert not project.nexus.exists()


@pytest.mark.requirement("calls.message-help", "artifact_write.segments")
def test_messages_name_place_fault_and_next_step(full: Client, project: Project) -> None:
    """A message names the parameter or file, the fault and the next step."""
    message = full.error("artifact_write", filename="../x", content="c")
    assert "filename" in message
    assert len(message) > 30
    project.put("state/tasks.json", b"{\n  oops")
    message = full.error("task_list")
    assert ".nexus/state/tasks.json" in message
    assert "line 2" in message
    assert "column" in message
    assert "nothing was changed" in message
    assert not any(word in message.lower() for word in ("rm ", "delete", "remove", "reset"))
