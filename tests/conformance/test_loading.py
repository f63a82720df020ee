"""Fixtures are read from files and folders, also in the older published format."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.fixture import (
    Action,
    Asserts,
    Event,
    Fixture,
    Kill,
    Parallel,
    Restart,
    Special,
    Step,
    WriteFile,
)
from nexus_mcp.conformance.loading import load, read
from nexus_mcp.errors import HarnessFault
from tests.conformance.fixture_files import GONE, loaded, raw, stepped, write

OLDER: list[dict[str, Any]] = [
    {
        "test_id": "agent_spawn_appends",
        "description": "A spawned agent is appended to the tracker of its harness.",
        "covers": {"state_schemas": {"agent-tracker.schema.json": ["[].agent_id"]}, "description": "the tracker"},
        "uncovered_params": ["agent_name"],
        "precondition": {
            "state_files": {
                "{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json": [{"harness_id": "x", "started_at": "y"}],
                "{STATE_ROOT}/{HARNESS_ID}/memory-access.jsonl": {},
                "{STATE_ROOT}/plan.json": None,
            }
        },
        "event": {"type": "agent_spawn", "params": {"harness_id": "x", "agent_name": "a", "agent_id": "1"}},
        "postcondition": {
            "state_files": {
                "{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json": {
                    "$.length": 2,
                    "$[1].agent_id": "1",
                    "$[1].started_at": {"type": "iso8601"},
                    "$[1].resume_count": {"type": "number", "min": 0},
                },
                "{STATE_ROOT}/{HARNESS_ID}/memory-access.jsonl": {},
                ".nexus/history.json": None,
            }
        },
    },
    {"test_id": "plan_status_empty", "description": "Without a plan there is none.", "action": {"tool": "plan_status"},
     "postcondition": {"return_value": {"$.active": False}, "error": False}},
    {"test_id": "decide_without_plan", "description": "A decision needs a plan.",
     "action": {"tool": "plan_decide", "params": {"issue_id": 1, "decision": "x"}},
     "postcondition": {"error": True, "error_contains": "No active plan session"}},
    {"test_id": "two_steps", "description": "One step after the other.",
     "steps": [{"action": {"tool": "task_list"}, "assert_return": {"$.exists": False}, "description": "First."},
               {"event": {"type": "session_end", "description": "Bye."}, "assert_state": {"{STATE_ROOT}/t": None}}]},
]  # fmt: skip


def test_fixture_of_the_older_format_is_loaded(tmp_path: Path) -> None:
    """A fixture without the additions of this suite is loaded unchanged."""
    found = load([write(tmp_path / "older.json", OLDER)])
    assert [fixture.test_id for fixture in found] == [one["test_id"] for one in OLDER]
    spawn, _, decide, two = found
    assert spawn == Fixture(
        test_id="agent_spawn_appends",
        description=OLDER[0]["description"],
        steps=(Step(Event("agent_spawn", OLDER[0]["event"]["params"])),),
        single=True,
        postcondition=Asserts(state_files=OLDER[0]["postcondition"]["state_files"]),
        state_files=OLDER[0]["precondition"]["state_files"],
        covers=OLDER[0]["covers"],
        uncovered_params=("agent_name",),
        source=str(tmp_path / "older.json"),
        pointer="/0",
    )
    assert spawn.harness_id == "x"
    assert decide.postcondition == Asserts(error=True, error_contains="No active plan session")
    assert two.single is False
    assert two.steps == (
        Step(Action("task_list"), Asserts(return_value={"$.exists": False}), description="First."),
        Step(Event("session_end", description="Bye."), Asserts(state_files={"{STATE_ROOT}/t": None})),
    )


def test_every_addition_is_loaded(tmp_path: Path) -> None:
    """Every addition of this suite is in the loaded fixture."""
    close = {"tool": "task_close"}
    lane = [{"action": {"tool": "a"}, "times": 3, "assert_return": {"$": {"type": "object"}}}]
    lanes = [lane, [{"action": {"tool": "b"}}]]
    files = {"t": "text", "b": {"base64": "AA=="}, "l": {"symlink": "t"}, "d": {"directory": True}}
    (found,) = loaded(
        tmp_path,
        stepped(
            {"restart": True},
            {"write_file": {"path": "a", "text": "é"}, "assert_unchanged": True},
            {"write_file": {"path": "a.json", "json": {"é": [1]}}},
            {"write_file": {"path": "b.jsonl", "json": [{"a": 1}, 2]}},
            {"write_file": {"path": "c.jsonl", "json": {}}},
            {"write_file": {"path": "d", "base64": "AP8="}},
            {"write_file": {"path": "e", "symlink": "../x"}},
            {"write_file": {"path": "f", "absent": True}},
            {"kill": {"action": close, "seed": 7}},
            {"kill": {"action": close, "seed": 0, "within_ms": 5, "retry": True}, "assert_error": True},
            {"parallel": lanes},
            {"action": {"tool": "c"}, "times": 2, "assert_unchanged": ["x"], "assert_result": {"$.a": 1}},
            postcondition={"result": {"$.b": 2}},
            group="robustness",
            repeat=3,
            precondition={"files": files, "git": False},
        ),
    )  # fmt: skip
    assert (found.group, found.repeat, found.needs_process, found.tools) == (
        "robustness", 3, True, ("task_close", "a", "b", "c"),
    )  # fmt: skip
    assert found.files == {"t": Special(b"text"), "b": Special(b"\0"), "l": Special(symlink="t"), "d": Special()}
    assert found.steps == (
        Step(Restart()),
        Step(WriteFile("a", "é".encode()), Asserts(unchanged=True)),
        Step(WriteFile("a.json", '{\n  "é": [\n    1\n  ]\n}\n'.encode())),
        Step(WriteFile("b.jsonl", b'{"a":1}\n2\n')),
        Step(WriteFile("c.jsonl", b"{}")),
        Step(WriteFile("d", b"\0\xff")),
        Step(WriteFile("e", symlink="../x")),
        Step(WriteFile("f")),
        Step(Kill(Action("task_close"), 7)),
        Step(Kill(Action("task_close"), 0, 5, retry=True), Asserts(error=True)),
        Step(
            Parallel((
                (Step(Action("a"), Asserts(return_value={"$": {"type": "object"}}), times=3),),
                (Step(Action("b")),),
            ))
        ),
        Step(Action("c"), Asserts(unchanged=("x",), result={"$.a": 1}), times=2),
    )  # fmt: skip
    assert found.git is False
    assert found.postcondition == Asserts(result={"$.b": 2})


def test_folder_gives_each_json_file_once(tmp_path: Path) -> None:
    """A folder gives every *.json file below it, sorted by name; a file that is reached twice is loaded once."""
    for name in ("b", "a/z", "a/y"):
        write(tmp_path / f"{name}.json", raw(test_id=name.replace("/", "-")))
    (tmp_path / "notes.md").write_text("no fixture")
    found = load([str(tmp_path), str(tmp_path / "b.json")])
    assert [fixture.source for fixture in found] == [
        str(tmp_path / name) for name in ("a/y.json", "a/z.json", "b.json")
    ]
    assert [fixture.pointer for fixture in found] == ["", "", ""]


def test_packaged_fixtures_are_loaded_without_paths() -> None:
    """Without paths the suite's own fixtures are read, called by their place in it."""
    found = load()
    assert found != []
    folders = {"tools", "scenarios", "lifecycle", "robustness", "executor"}
    assert {fixture.source.split(os.sep)[0] for fixture in found} == folders


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    """Every fault of every file is reported, one in each line, and one fault prevents loading."""
    good = write(tmp_path / "good.json", raw())
    one = write(tmp_path / "one.json", [raw(test_id="x", descripton="?"), raw(test_id="one")])
    broken = tmp_path / "broken.json"
    broken.write_text('[\n  {"a": 1,,}\n]')
    empty = tmp_path / "empty"
    empty.mkdir()
    none = write(tmp_path / "none.json", [])
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'["\xe9"]')
    with pytest.raises(HarnessFault) as told:
        load([good, one, str(broken), str(empty), str(tmp_path / "missing"), none, str(latin)])
    assert told.value.faults == [
        f"{one}: /0/descripton: is not a known field; did you mean description?",
        f"{one}: /1/test_id: one is also the id of {good}",
        f"{broken}: line 2, column 11: Expecting property name enclosed in double quotes",
        f"{empty}: is a folder without fixtures (*.json files)",
        f"{tmp_path}/missing: no such file or folder",
        f"{none}: contains no fixture",
        f"{latin}: is not UTF-8: line 1, column 3",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1, column 1: Expecting value"),
        ('{"a": 1}\n{', "line 2, column 1: Extra data"),
        ('{"a": "NaN",\n "b": [1, NaN]}', "line 2, column 11: NaN is not JSON"),
        ("[-Infinity]", "line 1, column 2: -Infinity is not JSON"),
        ("5", "must be of type object"),
        ('["x"]', "/0: must be of type object"),
    ],
)
def test_invalid_json_is_reported_with_its_place(tmp_path: Path, text: str, fault: str) -> None:
    """Invalid JSON is reported with line and column, a value that is no object with its place."""
    path = tmp_path / "a.json"
    path.write_text(text)
    assert read([str(path)]).faults == [f"{path}: {fault}"]


@pytest.mark.parametrize("depth", [3000, 100_000])
def test_too_deep_document_is_one_fault(tmp_path: Path, depth: int) -> None:
    """A document with too many levels is one fault, whether or not this Python's parser can read it."""
    path = tmp_path / "a.json"
    path.write_text('{"a": ' * depth + "1" + "}" * depth)
    (fault,) = read([str(path)]).faults
    assert fault.endswith(("nested too deeply", "must have at most 64 levels of arrays and objects"))


def test_repeated_key_is_a_fault(tmp_path: Path) -> None:
    """A key that is in an object twice is a fault at any depth."""
    path = tmp_path / "a.json"
    path.write_text(
        '{"test_id": "a", "test_id": "b", "description": "Twice, and twice.",'
        ' "action": {"tool": "x", "params": {"a": [{"b": 1, "b": 1}]}}}'
    )
    assert read([str(path)]).faults == [
        f"{path}: /test_id: appears twice",
        f"{path}: /action/params/a/0/b: appears twice",
    ]


def test_unreadable_file_is_a_fault(tmp_path: Path) -> None:
    """A file that the system refuses is a fault like any other."""
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    assert read([str(tmp_path)]).faults == [f"{loop}: could not be read: {os.strerror(errno.ELOOP)}"]


def test_ids_are_unique_in_a_file(tmp_path: Path) -> None:
    """A second fixture with the same id is reported, with the place of the first."""
    path = write(tmp_path / "a.json", [raw(), raw(), raw(test_id=GONE)])
    assert read([path]).faults == [
        f"{path}: /1/test_id: one is also the id of {path}: /0",
        f"{path}: /2/test_id: is required",
    ]


@pytest.mark.parametrize("kind", ["alone", "in a folder"])
def test_pipe_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    """A pipe is no fixture file, and the loader does not wait for its writer."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    assert read([str(pipe if kind == "alone" else tmp_path)]).faults == [f"{pipe}: is not a regular file"]
