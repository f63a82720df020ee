"""The bounds of the fixture format: each fault names the fixture, the place and the bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp import schemas
from nexus_mcp.conformance import limits, loading
from nexus_mcp.conformance.loading import read
from tests.conformance.fixture_files import raw, stepped, write

CALL = {"action": {"tool": "task_list"}}
LARGE = "x" * (limits.FIXTURE_TEXT + 1)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def after(expected: Any) -> dict[str, Any]:
    return raw(postcondition={"return_value": {"$.a": expected}})


CASES: list[tuple[dict[str, Any], str]] = [
    (raw(repeat=1001), "/repeat: must be at most 1000"),
    (raw(repeat=1e300), "/repeat: must be at most 1000"),
    (raw(description="x" * 1001), "/description: must have at most 1000 characters"),
    (stepped(*[CALL] * 201), "/steps: must have at most 200 items"),
    (stepped({**CALL, "times": 1001}), "/steps/0/times: must be at most 1000"),
    (stepped({"parallel": [[CALL]] * 17}), "/steps/0/parallel: must have at most 16 items"),
    (stepped({"parallel": [[CALL] * 101]}), "/steps/0/parallel/0: must have at most 100 items"),
    (stepped({"kill": {**CALL, "seed": 1 << 32}}), "/steps/0/kill/seed: must be at most 4294967295"),
    (
        stepped({"kill": {**CALL, "seed": 1, "within_ms": 10_001}}),
        "/steps/0/kill/within_ms: must be at most 10000",
    ),
    (
        stepped(*[{**CALL, "times": 700}] * 3),
        "must make at most 2000 calls and events; it makes 2100",
    ),
    (
        stepped({**CALL, "times": 500}, repeat=50),
        "/repeat: must make at most 20000 calls and events in all repeats; it makes 25000",
    ),
    (raw(action={"tool": "a", "params": {"a": LARGE}}), "/action/params/a: must have at most 262144 characters"),
    (raw(action={"tool": "a", "params": {"x" * 1001: 1}}), "/action/params: must have names of at most 1000"),
    (raw(action={"tool": "a", "params": dict.fromkeys(map(str, range(2001)))}), "must have at most 2000 parameters in"),
    (raw(action={"tool": "a", "params": {"a": nested(65)}}), "/action: must have at most 64 levels of arrays and"),
    (raw(action={"tool": "a", "params": {"a": ["x" * 200_000] * 6}}), "must have at most 1048576 characters as JSON"),
    (raw(precondition={"files": {f"{n}": "" for n in range(501)}}), "/precondition/files: must have at most 500"),
    (raw(precondition={"files": {"a": LARGE}}), "/precondition/files/a: must have at most 262144 characters"),
    (raw(postcondition={"return_value": {f"$.a{n}": 1 for n in range(1001)}}), "/postcondition/return_value: must"),
    (after([1] * 1001), "/postcondition/return_value/$.a: must have at most 1000 items"),
    (after({"type": "string", "pattern": "a" * 2001}), "/postcondition/return_value/$.a/pattern: must have at"),
    (after({"keys": [str(n) for n in range(1001)]}), "/postcondition/return_value/$.a/keys: must have at most"),
    (after({"type": "string", "minLength": 1 << 23}), "/postcondition/return_value/$.a/minLength: must be at most"),
    (raw(postcondition={"unchanged": ["a"] * 1001}), "/postcondition/unchanged: must have at most 1000 items"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "said"), CASES, ids=[said[:50] for _, said in CASES])
def test_fixture_beyond_a_bound_is_not_read(tmp_path: Path, document: dict[str, Any], said: str) -> None:
    """A fixture beyond a bound is not read; the one line about it names file, pointer, bound and fixture."""
    path = write(tmp_path / "a.json", [raw(test_id="other"), document])
    found = read([path])
    (fault,) = found.faults
    assert fault.startswith(f"{path}: /1{'' if said.startswith('/') else ': '}{said}")
    assert fault.endswith("(fixture one)")
    assert [fixture.test_id for fixture in found.fixtures] == ["other"]


def test_infinite_number_is_a_fault(tmp_path: Path) -> None:
    """An infinite number in place of a count is a fault, and never crashes the loader."""
    text = json.dumps([raw(repeat=1), after({"type": "string", "minLength": 2})])
    path = tmp_path / "a.json"
    path.write_text(text.replace('"repeat": 1', '"repeat": 1e999').replace('"minLength": 2', '"minLength": 1e999'))
    assert read([str(path)]).faults == [
        f"{path}: /0/repeat: must be of type integer",
        f"{path}: /1/postcondition/return_value/$.a/minLength: must be an integer from 0",
        f"{path}: /1/test_id: one is also the id of {path}: /0",
    ]


def test_too_large_file_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large, has too many values or comes after too many others is not parsed."""
    large, wide, last = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    large.write_text(" " * (limits.FIXTURE_FILE + 1))
    wide.write_text("[" + "0," * limits.VALUES + "0]")
    said = f"must have at most {limits.FIXTURE_FILE} bytes and {limits.VALUES} JSON values"
    assert read([str(large), str(wide)]).faults == [f"{large}: {said}", f"{wide}: {said}"]
    write(last, raw())
    monkeypatch.setattr(loading, "FIXTURE_FILES", last.stat().st_size - 1)
    assert read([str(last)]).faults == [
        f"{last}: is not read: all files together may have at most {last.stat().st_size - 1} bytes"
    ]


def test_many_faults_are_cut(tmp_path: Path) -> None:
    """Of a fixture with very many faults only the first ones are reported."""
    path = write(tmp_path / "a.json", raw(**{f"wrong{number}": 1 for number in range(20_000)}))
    assert len(read([path]).faults) == limits.FAULTS


def test_the_schema_has_the_same_bounds() -> None:
    """The published schema has the same limits as the loader."""
    schema = schemas.load("conformance/fixture")
    assertions = schema["properties"]["postcondition"]["properties"]["return_value"]["additionalProperties"]
    matcher, array = assertions["anyOf"][1]["properties"], assertions["anyOf"][2]
    bounds = (matcher["pattern"]["maxLength"], matcher["keys"]["maxItems"], matcher["minLength"]["maximum"])
    assert bounds == (limits.PATTERN, limits.EXPECTED_ITEMS, limits.EXPECTED_LENGTH)
    assert array["maxItems"] == limits.EXPECTED_ITEMS
    assert schema["properties"]["precondition"]["properties"]["files"]["additionalProperties"]["anyOf"][0] == {
        "type": "string",
        "maxLength": limits.FIXTURE_TEXT,
    }
    numbers = (
        *(limits.FIXTURE_SIZE, limits.FIXTURE_LEVELS, limits.FIXTURE_NAME, limits.FIXTURE_TEXT),
        *(limits.FIXTURE_CALLS, limits.FIXTURE_ALL_CALLS, limits.FIXTURE_PARAMS, limits.FIXTURE_ASSERTIONS),
    )
    assert [number for number in numbers if str(number) not in schema["description"]] == []
