"""The faults that an author can make in a fixture, and their messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.authoring.rules import NO_RESULT, NO_RETRY, NO_STATE
from nexus_mcp.conformance.loading import read
from nexus_mcp.conformance.tokens import path_fault
from tests.conformance.fixture_files import GONE, raw, stepped, write

CALL = {"action": {"tool": "task_list"}}
KILL = {"kill": {"action": {"tool": "task_list"}, "seed": 1}}
EVENT = {"event": {"type": "x"}}
OUTSIDE = path_fault("../a")
KINDS = "action, event, list_tools, restart, write_file, kill, run, parallel"
NO_ANSWER = "has no answer to check: only action, event, list_tools, kill, run have one"


def wrote(**members: Any) -> dict[str, Any]:
    return stepped({"write_file": members})


def before(**members: Any) -> dict[str, Any]:
    return raw(precondition=members)


def after(**members: Any) -> dict[str, Any]:
    return raw(postcondition=members)


CASES: list[tuple[dict[str, Any], list[str]]] = [
    (raw(action=GONE), [": must have action, event or steps"]),
    (raw(action=GONE, actoin={}), ["/actoin: is not a known field; did you mean action?"]),
    (raw(steps=[CALL]), [": must have only one of action, event, steps; it has action and steps"]),
    (raw(test_id="Upper"), ["/test_id: must match ^[a-z][a-z0-9_-]*$"]),
    (raw(description="short"), ["/description: must have at least 10 characters"]),
    (raw(test_id="one\n"), ["/test_id: must match ^[a-z][a-z0-9_-]*$"]),
    (raw(description=" " * 12), ["/description: must not be blank"]),
    (raw(group="extra"), ["/group: must be one of core, robustness, executor"]),
    (raw(repeat=0), ["/repeat: must be at least 1"]),
    (raw(stepz=[]), ["/stepz: is not a known field; did you mean steps?"]),
    (raw(zzz=2), [
        "/zzz: is not a known field; known: test_id, description, group, level, repeat, covers, uncovered_params, "
        "precondition, action, event, steps, postcondition"
    ]),
    (raw(action={"tool": "nx task"}), ["/action/tool: must match ^[a-z][a-z0-9_]*$"]),
    (raw(action={"params": []}), ["/action/tool: is required", "/action/params: must be of type object"]),
    (raw(uncovered_params="x"), ["/uncovered_params: must be of type array"]),
    (raw(covers={"state_schemas": {"plans.json": ["id"]}}), [
        "/covers/state_schemas/plans.json: is not a state file schema; did you mean plan.schema.json?"
    ]),
    (raw(covers={"returns": {}}), ["/covers/returns: is not a known field; did you mean return_value?"]),
    (stepped(), ["/steps: must have a step"]),
    (stepped({}), ["/steps/0: must have action, event, list_tools, restart, write_file, kill, run or parallel"]),
    (stepped({**CALL, "restart": True}), [f"/steps/0: must have only one of {KINDS}; it has action and restart"]),
    (stepped({"restart": False}), ["/steps/0/restart: must be true or absent"]),
    (stepped({"restart": True, "times": 2}), ["/steps/0/times: is only for an action"]),
    (stepped({"restart": True, "assert_return": {"$.a": 1}, "assert_result": {}, "assert_error": True}), [
        f"/steps/0/assert_return: {NO_ANSWER}", f"/steps/0/assert_result: {NO_ANSWER}",
        f"/steps/0/assert_error: {NO_ANSWER}",
    ]),
    (stepped({**CALL, "assert_error": False}), ["/steps/0/assert_error: must be true or absent"]),
    (stepped({**CALL, "assert_error": ""}), ["/steps/0/assert_error: must not be empty"]),
    (stepped({**CALL, "assert_error": 5}), ["/steps/0/assert_error: must be of type boolean or string"]),
    (stepped({**CALL, "assert_unchanged": False}), ["/steps/0/assert_unchanged: must be true or absent"]),
    (stepped({**CALL, "assert_unchanged": ["a", "../a"]}), [f"/steps/0/assert_unchanged/1: {OUTSIDE}"]),
    (stepped({"parallel": []}), ["/steps/0/parallel: must have a list of steps"]),
    (stepped({"parallel": [[]]}), ["/steps/0/parallel/0: must have a step"]),
    (stepped({"parallel": [[{"event": {"type": "x"}}]]}), [
        "/steps/0/parallel/0/0/action: is required",
        "/steps/0/parallel/0/0/event: is not a known field; known: description, action, times, assert_return, "
        "assert_result, assert_error",
    ]),
    (stepped({"parallel": [[{**CALL, "assert_return": {"$.*": 1}}]]}), [
        "/steps/0/parallel/0/0/assert_return/$.*: is not a singular JSONPath: use names and indexes only"
    ]),
    (stepped({"parallel": [[{**CALL, "assert_result": {"$.a": {"typ": 1}}}]]}), [
        "/steps/0/parallel/0/0/assert_result/$.a/typ: is not a known key of a matcher; did you mean type?",
        "/steps/0/parallel/0/0/assert_result/$.a: must have type or keys, because an object is a matcher here",
    ]),
    (stepped({**EVENT, "assert_result": {"$.a": 1}}), [f"/steps/0/assert_result: {NO_RESULT}"]),
    (stepped(CALL, EVENT, {"restart": True}, postcondition={"result": {"$.a": 1}}), [
        f"/postcondition/result: {NO_RESULT}"
    ]),
    (raw(action=GONE, **EVENT, postcondition={"result": {"$.a": 1}}), [f"/postcondition/result: {NO_RESULT}"]),
    (after(result={"$.content[*]": {"typ": 1}}), [
        "/postcondition/result/$.content[*]: is not a singular JSONPath: use names and indexes only",
        "/postcondition/result/$.content[*]/typ: is not a known key of a matcher; did you mean type?",
        "/postcondition/result/$.content[*]: must have type or keys, because an object is a matcher here",
    ]),
    (stepped({"kill": {"action": {"tool": "a"}}}), ["/steps/0/kill/seed: is required"]),
    (stepped({**KILL, "assert_return": {"$.a": 1}, "assert_result": {}, "assert_error": True}), [
        f"/steps/0/assert_return: {NO_RETRY}", f"/steps/0/assert_result: {NO_RETRY}",
        f"/steps/0/assert_error: {NO_RETRY}",
    ]),
    (stepped(CALL, KILL, {"restart": True}, postcondition={"return_value": {}, "result": {}, "error": False}), [
        f"/postcondition/return_value: {NO_RETRY}", f"/postcondition/result: {NO_RETRY}",
        f"/postcondition/error: {NO_RETRY}",
    ]),
    (before(state_files={".git": None, ".git/HEAD": {}}), [
        f"/precondition/state_files/.git: {NO_STATE}", f"/precondition/state_files/.git~1HEAD: {NO_STATE}",
    ]),
    (before(git="no"), ["/precondition/git: must be of type boolean"]),
    (wrote(path="a"), ["/steps/0/write_file: must have text, json, base64, symlink or absent"]),
    (wrote(path="a", text="", absent=True), [
        "/steps/0/write_file: must have only one of text, json, base64, symlink, absent; it has text and absent"
    ]),
    (wrote(path="/a", text=""), [f"/steps/0/write_file/path: {OUTSIDE}"]),
    (wrote(path="a", base64="a"), ["/steps/0/write_file/base64: is not base64"]),
    (wrote(path="a", base64="é==="), ["/steps/0/write_file/base64: is not base64"]),
    (wrote(path="a", text="\ud800"), [
        "/steps/0/write_file/text: has a lone surrogate, which can neither be sent nor written"
    ]),
    (before(state_files={"a": 5}), ["/precondition/state_files/a: must be of type null or object or array"]),
    (before(state_files={"{ROOT}/a": None}), [
        "/precondition/state_files/{ROOT}~1a: has the token {ROOT}; a path may have {STATE_ROOT} and {HARNESS_ID}"
    ]),
    (before(files={"../a": "x"}), [f"/precondition/files/..~1a: {OUTSIDE}"]),
    (before(files={"a": {}}), ["/precondition/files/a: must have base64, symlink or directory"]),
    (before(files={"a": 1}), ["/precondition/files/a: must be of type string or object"]),
    (before(files={"a": {"base64": "!"}}), ["/precondition/files/a/base64: is not base64"]),
    (before(files={"a": {"symlink": "b", "directory": True}}), [
        "/precondition/files/a: must have only one of base64, symlink, directory; it has symlink and directory"
    ]),
    (before(state_files={"a": {}}, files={"a": ""}), ["/precondition/files/a: is the same file as a"]),
    (before(state_files={"{STATE_ROOT}/a": {}, ".nexus/state/a": None}), [
        "/precondition/state_files/.nexus~1state~1a: is the same file as {STATE_ROOT}/a"
    ]),
    (after(state_files={"{STATE_ROOT}/a": {}, ".nexus/state/a": {"$": 1}}), [
        "/postcondition/state_files/.nexus~1state~1a: is the same file as {STATE_ROOT}/a"
    ]),
    (before(state_files={"a": {}, "b": None}, files={"a/b": "", "b/c": "", "ab": ""}), [
        "/precondition/files/a~1b: lies below a, which is a file"
    ]),
    (raw(action={"tool": "a", "params": {"\ud800": 1}}), [
        "/action/params: has a lone surrogate, which can neither be sent nor written"
    ]),
    (after(error=False, error_contains="x"), ["/postcondition/error: must not be false beside error_contains"]),
    (after(unchanged="a"), ["/postcondition/unchanged: must be of type boolean or array"]),
    (after(unchanged=[".git/HEAD"]), [f"/postcondition/unchanged/0: {path_fault('.git', git=False)}"]),
    (after(state_files={".git/HEAD": {}}), [f"/postcondition/state_files/.git~1HEAD: {path_fault('.git', git=False)}"]),
    (after(state_files={"a": 1}), ["/postcondition/state_files/a: must be of type null or object"]),
    (after(state_files={"a": {"b": 1}}), [
        "/postcondition/state_files/a/b: is not a JSONPath: expected '$', found 'b', line 1, column 0"
    ]),
    (after(state_files={"a": {"text": 1}}), [
        "/postcondition/state_files/a/text: must be a string or a matcher with type string: it is about the text of the"
        " file"
    ]),
    (after(return_value={"text": "x"}), [
        "/postcondition/return_value/text: is not a JSONPath: expected '$', found 't', line 1, column 0"
    ]),
    (after(return_value={"$.a": {"typ": "string"}}), [
        "/postcondition/return_value/$.a/typ: is not a known key of a matcher; did you mean type?",
        "/postcondition/return_value/$.a: must have type or keys, because an object is a matcher here",
    ]),
    (after(return_value={"$.a": [{"keys": ["a", "a"]}]}), ["/postcondition/return_value/$.a/0/keys: names a twice"]),
    (stepped({"restart": True}, postcondition={"error": True}), [
        "/postcondition/error: has no answer to check: no step makes a request"
    ]),
    (raw(action=GONE, event={"type": "x", "params": {"harness_id": "../x"}},
         postcondition={"state_files": {"{HARNESS_ID}/a": None}}), [
        "/event/params/harness_id: is put into a path, so it must be a harness id"
    ]),
    (stepped({"event": {"type": "x", "params": {"harness_id": 5}}, "assert_unchanged": ["{HARNESS_ID}"]}), [
        "/steps/0/event/params/harness_id: is put into a path, so it must be a harness id"
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("document", "faults"), CASES, ids=[faults[0][:60] for _, faults in CASES])
def test_each_fault_is_reported_once_with_a_hint(tmp_path: Path, document: dict[str, Any], faults: list[str]) -> None:
    """Each fault is reported once, with its place and a valid form."""
    path = write(tmp_path / "a.json", document)
    found = read([path])
    assert found.faults == [f"{path}{'' if fault.startswith(':') else ': '}{fault}" for fault in faults]
    assert found.fixtures == []


@pytest.mark.parametrize(
    "document",
    [
        stepped({"action": {"tool": "a"}, "assert_return": {}}),
        stepped(KILL, CALL, postcondition={"return_value": {"$.a": 1}}),
        before(git=False, files={".git": "gitdir: x\n"}),
        stepped({**CALL, "assert_result": {"$.isError": True}}, EVENT, CALL, postcondition={"result": {"$.a": [1]}}),
        after(state_files={"a": {"text": {"type": "string", "pattern": "^a"}}}),
        after(return_value={"$.a": [[1, {"type": "array"}], None]}, unchanged=["{STATE_ROOT}"]),
        raw(action=GONE, event={"type": "x", "params": {"harness_id": "../x"}}),
        before(files={".git/HEAD": "ref: refs/heads/x\n"}, state_files={"a.json": []}),
        raw(covers={"return_value": {}, "state_schemas": {}, "description": ""}),
    ],
)
def test_valid_fixture_is_loaded(tmp_path: Path, document: dict[str, Any]) -> None:
    """A fixture that the format allows is loaded."""
    found = read([write(tmp_path / "a.json", document)])
    assert (found.faults, len(found.fixtures)) == ([], 1)
