"""Build the value of a fixture from its JSON, which must be free of faults."""

from __future__ import annotations

import base64
from typing import Any

from nexus_mcp.conformance.document import encode_file
from nexus_mcp.conformance.fixture import (
    CORE,
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


def fixture(raw: dict[str, Any], source: str, pointer: str) -> Fixture:
    """Return the fixture at `pointer` in the file `source`."""
    single = "steps" not in raw
    precondition = raw.get("precondition", {})
    return Fixture(
        test_id=raw["test_id"],
        description=raw["description"],
        steps=(_step(raw),) if single else tuple(_step(step) for step in raw["steps"]),
        single=single,
        postcondition=_asserts(raw.get("postcondition", {})),
        state_files=precondition.get("state_files", {}),
        files={path: _special(what) for path, what in precondition.get("files", {}).items()},
        git=precondition.get("git", True),
        covers=raw.get("covers", {}),
        uncovered_params=tuple(raw.get("uncovered_params", ())),
        group=raw.get("group", CORE),
        repeat=int(raw.get("repeat", 1)),
        source=source,
        pointer=pointer,
    )


def _step(raw: dict[str, Any]) -> Step:
    """Return a step; a fixture with one action or event becomes a step without assertions of its own."""
    inner = "test_id" not in raw
    wanted = raw.get("assert_error")
    asserts = {
        "return_value": raw.get("assert_return"),
        "result": raw.get("assert_result"),
        "state_files": raw.get("assert_state", {}),
        "error": True if wanted is not None else None,
        "error_contains": wanted if isinstance(wanted, str) else None,
        "unchanged": raw.get("assert_unchanged"),
    }
    return Step(
        do=_do(raw),
        asserts=_asserts(asserts) if inner else Asserts(),
        times=int(raw.get("times", 1)),
        description=raw.get("description", "") if inner else "",
    )


def _asserts(raw: dict[str, Any]) -> Asserts:
    unchanged = raw.get("unchanged")
    return Asserts(
        return_value=raw.get("return_value"),
        result=raw.get("result"),
        state_files=raw.get("state_files", {}),
        error=raw.get("error"),
        error_contains=raw.get("error_contains"),
        unchanged=tuple(unchanged) if isinstance(unchanged, list) else unchanged,
    )


def _do(raw: dict[str, Any]) -> Action | Event | WriteFile | Kill | Restart | Parallel:
    if "action" in raw:
        return _action(raw["action"])
    if "event" in raw:
        event = raw["event"]
        return Event(event["type"], event.get("params", {}), event.get("description", ""))
    if "write_file" in raw:
        return _write_file(raw["write_file"])
    if "kill" in raw:
        kill = raw["kill"]
        return Kill(_action(kill["action"]), int(kill["seed"]), kill.get("within_ms", 20.0), kill.get("retry", False))
    if "parallel" in raw:
        return Parallel(tuple(tuple(_step(step) for step in lane) for lane in raw["parallel"]))
    return Restart()


def _action(raw: dict[str, Any]) -> Action:
    return Action(raw["tool"], raw.get("params", {}))


def _write_file(raw: dict[str, Any]) -> WriteFile:
    path = raw["path"]
    if "text" in raw:
        return WriteFile(path, raw["text"].encode())
    if "json" in raw:
        return WriteFile(path, encode_file(path, raw["json"]))
    if "base64" in raw:
        return WriteFile(path, base64.b64decode(raw["base64"]))
    return WriteFile(path, symlink=raw.get("symlink"))


def _special(raw: Any) -> Special:
    if isinstance(raw, str):
        return Special(raw.encode())
    if "base64" in raw:
        return Special(base64.b64decode(raw["base64"]))
    return Special(symlink=raw.get("symlink"))
