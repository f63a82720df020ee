"""history.json only grows: the bytes of old cycles stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Client, Clock, Project, cycle, plan, pretty, task, tasks

# Layouts found in the wild: name → the whole file. `@` marks where the last cycle ends.
LAYOUTS = {
    "ours": pretty({"cycles": [cycle(plan(1), task(1))]})[:-7] + b"@\n  ]\n}\n",
    "compact": b'{"cycles":[{"a":1},{"b":[{}]}@]}',
    "one line and newline": b'{ "cycles" : [ {"a":1} , {"b":2} @ ] } \n\n',
    "crlf": b'{\r\n  "cycles": [\r\n    {\r\n      "completed_at": "x"\r\n    }@\r\n  ]\r\n}\r\n',
    "tabs": b'{\n\t"cycles": [\n\t\t{\n\t\t\t"a": 1\n\t\t}@\n\t]\n}\n',
    "four spaces": b'{\n    "cycles": [\n        {"a": 1}@\n    ]\n}\n',
    "bom": b'\xef\xbb\xbf{"cycles": [{"a": 1}@]}',
    "bom and crlf": b'\xef\xbb\xbf{\r\n"cycles": [{"a": 1}@]\r\n}\r\n',
    "numbers": b'{"cycles": [{"a": 1.0, "b": 1E5, "c": -0, "d": 0.10, "e": 1e-7, "f": 12345678901234567890123}@]}\n',
    "escapes": b'{"cycles": [{"a": "\\u00e9\\/\\u0041\\ud83d\\ude00\\b", "\\u0062": "\\u2028"}@]}\n',
    "lone surrogates": b'{"cycles": [{"a": "\\ud800", "b": "\\udfffx\\ud800\\ud800"}@]}\n',
    "plain non-ascii": '{"cycles": [{"a": "é漢\u2028😀", "b": "\x7f"}@]}\n'.encode(),
    "members before and after": b'{"x": {"cycles": [1]}, "cycles": [{"a": 1}@], "y": [{"cycles": []}], "z": null}\n',
    "brackets in texts": b'{"cycles": [{"a": "]}", "b": "[{", "c": "\\"]}\\\\"}@], "d": "]"}\n',
    "legacy": b'{"cycles": [{"completed_at": "2020", "plan": null, "x": {}}, {}, {"plan": {"id": "odd"}}@]}\n',
    "no newline": b'{\n  "cycles": [\n    {}@\n  ]\n}',
    "escaped key": b'{"\\u0063ycles": [{"a": 1}@]}\n',
    "nested arrays": b'{"cycles": [{"a": [[[]], {"b": [{}]}]}@ ]}',
    "blanks everywhere": b'\n\t {\n\n"cycles"\n:\n[\n\n{ }\n\n@\n\n]\n\n}\n\t\n',
}


def split(layout: bytes) -> tuple[bytes, bytes]:
    head, tail = layout.split(b"@")
    return head, tail


def parsed(content: bytes) -> Any:
    return json.loads(content.decode("utf-8-sig"))


@pytest.mark.requirement("history.append-only", "history.legacy", "history.lax", "files.version-kept")
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("tool", ["task_close", "plan_start"])
def test_a_cycle_is_spliced_in(call: Client, project: Project, clock: Clock, name: str, tool: str) -> None:
    """The bytes up to the end of the last cycle, and from the closing bracket on, stay unchanged."""
    head, tail = split(LAYOUTS[name])
    project.put("history.json", head + tail)
    the_plan = plan(40, "New é")
    project.put("state/plan.json", the_plan)
    if tool == "task_close":
        project.put("state/tasks.json", tasks(task(1)))
        call("task_close")
        added = cycle(the_plan, task(1), at=clock.stamp())
    else:
        call("plan_start", topic="T", issues=[], research_summary="s")
        added = cycle(the_plan, at=clock.stamp())
    after = project.get("history.json")
    assert after.startswith(head.rstrip(b" \t\r\n"))
    assert after.rstrip().endswith(tail.strip())
    expected = parsed(head + tail)
    key = next(iter(k for k in expected if k == "cycles"))
    expected[key].append(added)
    assert parsed(after) == expected
    assert list(parsed(after)["cycles"][-1]) == ["schema_version", "completed_at", "branch", "plan", "tasks"]


@pytest.mark.requirement("history.append-only")
@pytest.mark.parametrize("name", LAYOUTS)
def test_repeated_appends_keep_all_bytes(call: Client, project: Project, name: str) -> None:
    """Repeated appends keep all earlier bytes."""
    head, tail = split(LAYOUTS[name])
    project.put("history.json", head + tail)
    count = len(parsed(head + tail)["cycles"])
    for number in range(1, 4):
        before = project.get("history.json")
        assert call("task_close")["total_cycles"] == count + number
        after = project.get("history.json")
        kept = before.rstrip()[: -len(tail.strip())].rstrip()
        assert after.startswith(kept)
        assert len(parsed(after)["cycles"]) == count + number


@pytest.mark.requirement("history.append-only", "history.lax")
@pytest.mark.parametrize(
    "layout",
    [
        b'{"cycles": []}', b'{"cycles":[]}\n', b'{\n  "cycles": []\n}\n', b'{"cycles": [ ]}',
        b'{"cycles": [\r\n]\r\n}\r\n', b'\xef\xbb\xbf{"cycles": []}',
        b'{"a": [], "cycles": [], "b": {}}', b'{"schema_version": "0.5", "cycles": []}\n',
        b'{"a": "[", "cycles": [\n\t]\n, "b": "]"}',
    ],
)  # fmt: skip
def test_first_cycle_keeps_the_other_fields(call: Client, project: Project, clock: Clock, layout: bytes) -> None:
    """The empty list of cycles gets the cycle, and other fields of the file stay unchanged."""
    project.put("history.json", layout)
    call("task_close")
    after = project.get("history.json")
    before = parsed(layout)
    assert parsed(after) == {**before, "cycles": [cycle(at=clock.stamp())]}
    assert list(parsed(after)) == list(before)
    start = layout.index(b"[", layout.index(b"cycles"))
    assert after.startswith(layout[: start + 1])
    assert after.rstrip().endswith(layout[layout.index(b"]", start) :].strip())


@pytest.mark.requirement("files.indent", "files.newline", "files.key-order", "history.cycle-keys")
def test_our_own_layout_stays_ours(call: Client, project: Project, clock: Clock) -> None:
    """A history that only we wrote looks as if written at once."""
    cycles: list[Any] = []
    for number in range(3):
        the_plan = plan(number + 1, "漢字", [], created_at=clock.stamp())
        project.put("state/plan.json", the_plan)
        project.put("state/tasks.json", tasks(task(1), task(2)))
        call("task_close")
        cycles.append(cycle(the_plan, task(1), task(2), at=clock.stamp()))
        clock.advance()
        assert project.get("history.json") == pretty({"cycles": cycles})


@pytest.mark.requirement("history.append-only", "files.newer-major")
def test_repeated_closes_only_append(call: Client, project: Project, clock: Clock) -> None:
    """Over twenty closes the file is at every moment the former file and more."""
    former: list[Any] = []
    for _ in range(20):
        call("task_add", title="T", context="C")
        call("task_close")
        cycles = project.json("history.json")["cycles"]
        assert cycles[:-1] == former
        former = cycles


@pytest.mark.requirement("history.lax")
@pytest.mark.parametrize(
    "odd",
    [
        {"tasks": 5}, {"plan": "x", "branch": None}, {"schema_version": "9.0"}, {"completed_at": {}},
        {"plan": {"issues": "x"}},
    ],
)  # fmt: skip
def test_odd_cycles_do_not_hinder(call: Client, project: Project, odd: dict[str, Any]) -> None:
    """An old cycle of whatever shape is kept and appended to."""
    project.put("history.json", {"cycles": [odd]})
    call("plan_start", topic="T", issues=[], research_summary="s")
    assert call("task_close")["total_cycles"] == 2
    assert project.json("history.json")["cycles"][0] == odd


@pytest.mark.requirement("history.append-only", "files.broken-kept")
@pytest.mark.parametrize("number", ["1e400", "9" * 5000])
def test_numbers_beyond_the_interpreter_are_kept(call: Client, project: Project, number: str) -> None:
    """JSON numbers that the interpreter cannot hold keep their digits, and cycles are appended after them."""
    layout = f'{{"cycles": [{{"a": {number}}}]}}\n'.encode()
    project.put("history.json", layout)
    assert call("task_close")["total_cycles"] == 2
    assert project.get("history.json").startswith(layout[:-4])
