"""A map translates names and forms, and has no way to answer what the server did not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from benchmarks.compared.maps import Select, ServerMap, load
from benchmarks.compared.translate import Answer, NoTool, call, filled, in_contract_words, selected
from nexus_mcp.conformance.result import MISSING

BARE: dict[str, Any] = {
    "title": "bare",
    "start": ["server"],
    "files": "*",
    "unknown": {"tool": "x"},
    "probes": {},
}


def made(**parts: Any) -> ServerMap:
    """Return a map with these parts."""
    return ServerMap.model_validate({**BARE, **parts})


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{title}", "A"),
        ("task-{id}", "task-2"),
        ("{id}", 2),
        ("{absent}", MISSING),
        ({"a": "{title}", "b": "{absent}"}, {"a": "A"}),
        (["{title}"], ["A"]),
        (["{absent}"], MISSING),
        (True, True),
    ],
)
def test_template_is_filled_with_the_given_parameters(template: Any, expected: Any) -> None:
    """An argument whose parameter the caller did not give is left out; a lone placeholder keeps the type."""
    assert filled(template, {"title": "A", "id": 2}) == expected


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ({"each": "deps", "item": "T-{item}"}, ["T-1", "T-2"]),
        ({"join": "deps", "by": ","}, "1,2"),
        ({"choose": "status", "words": {"completed": "Done"}}, "Done"),
        ({"choose": "other", "words": {"completed": "Done"}}, "odd"),
        ({"text": "id"}, "7"),
        ({"each": "status", "item": "T-{item}"}, "completed"),
    ],
)
def test_argument_forms_translate_values(argument: Any, expected: Any) -> None:
    """Lists, texts and words are translated; a value of another type is sent as it is, so that the server judges it."""
    known = made(tools={"t": {"calls": [{"tool": "x", "arguments": {"a": argument}}]}})
    template = known.tools["t"].calls[0].arguments["a"]
    assert filled(template, {"deps": [1, 2], "status": "completed", "other": "odd", "id": 7}) == expected


TEXT = "To Do:\n  T-1 - one\n  T-2 - two\nDone:\n  T-3 - three"
LINE = r"(?m)^  T-(?P<id>\d+) - (?P<title>.*)$"


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ({"path": "$.a.b"}, 1),
        ({"path": ["$.x", "$.a.b"]}, 1),
        ({"path": "$.x"}, MISSING),
        ({"path": "$.x", "default": []}, []),
        ({"path": "$.empty", "omit": [""]}, MISSING),
        ({"path": "$.list", "count": True}, 2),
        ({"path": "$.list", "reverse": True}, ["2", "1"]),
        ({"path": "$.list", "type": "integer"}, [1, 2]),
        ({"path": "$.yes", "type": "boolean"}, True),
        ({"text": r"T-(\d+)", "type": "integer"}, 1),
        ({"text": "nothing (here)"}, MISSING),
        ({"all": r"T-(\d+)", "type": "integer"}, [1, 2, 3]),
        ({"all": r"T-(\d+)", "within": "(?s)Done:(.*)"}, ["3"]),
        ({"all": r"T-(\d+)", "within": "absent(.*)"}, []),
        ({"all": LINE, "count": True}, 3),
        ({"fields": {"n": {"path": "$.a.b"}, "m": {"path": "$.x"}}}, {"n": 1}),
    ],
)
def test_field_is_found_or_left_out(select: dict[str, Any], expected: Any) -> None:
    """A value comes from the JSON or the text of an answer. What is not there stays absent."""
    answer = Answer(TEXT, {"a": {"b": 1}, "empty": "", "list": ["1", "2"], "yes": "true"})
    assert selected(Select.model_validate(select), [answer]) == expected


def test_items_take_the_groups_of_their_heading() -> None:
    """In a list with headings each item gets the groups of its own heading; a text without headings has no items."""
    select = Select.model_validate(
        {
            "sections": "(?m)^(?P<status>.*):$",
            "all": LINE,
            "fields": {
                "id": {"group": "id", "type": "integer"},
                "status": {"group": "status", "choose": {"Done": "completed"}},
            },
        }
    )
    assert selected(select, [Answer(TEXT)]) == [
        {"id": 1, "status": "To Do"},
        {"id": 2, "status": "To Do"},
        {"id": 3, "status": "completed"},
    ]
    assert selected(select, [Answer("No tasks found.")]) == []


def test_first_error_is_the_result_in_contract_words() -> None:
    """After an error no further call is made; a message that no word matches stays as it is."""
    known = made(
        tools={"task_update": {"calls": [{"tool": "edit"}, {"tool": "view"}]}},
        errors=[{"match": r"no item (\d+)", "means": r"Task id \1 not found"}],
    )
    asked: list[str] = []

    def ask(tool: str, _: Any) -> Answer:
        asked.append(tool)
        return Answer("no item 9", is_error=True)

    outcome = call(known, "task_update", {}, ask, "")
    assert (outcome.payload, outcome.is_error, asked) == ({"error": "Task id 9 not found"}, True, ["edit"])
    assert in_contract_words(known, Answer("something else", is_error=True)) == "something else"


def test_demanded_parameters_are_filled_in_only_if_absent() -> None:
    """The caller's own value is sent; parameters that no template names keep their names."""
    known = made(
        tools={
            "task_add": {
                "fill": {"owner": "-"},
                "pass_on": True,
                "calls": [{"tool": "add", "arguments": {"owner": {"role": "{owner}"}}}],
            }
        }
    )
    sent: list[Any] = []

    def ask(_: str, arguments: Any) -> Answer:
        sent.append(arguments)
        return Answer("", {})

    call(known, "task_add", {"title": "A"}, ask, "")
    call(known, "task_add", {"title": "A", "owner": "me"}, ask, "")
    assert sent == [{"owner": {"role": "-"}, "title": "A"}, {"owner": {"role": "me"}, "title": "A"}]


def test_tool_without_a_map_needs_a_prefix() -> None:
    """Only a map with a prefix passes other tools on."""
    with pytest.raises(NoTool):
        call(made(), "plan_start", {}, lambda *_: Answer(""), "")
    seen = call(made(prefix="nx_"), "plan_start", {}, lambda tool, _: Answer("", {"tool": tool}), "")
    assert seen.payload == {"tool": "nx_plan_start"}


@pytest.mark.parametrize(
    "fault",
    [
        {"tools": {"t": {"calls": []}}},
        {"tools": {"t": {"calls": [{"tool": "x"}], "result": {"a": {}}}}},
        {"tools": {"t": {"calls": [{"tool": "x"}], "result": {"a": {"path": "$", "text": "x"}}}}},
        {"tools": {"t": {"calls": [{"tool": "x"}], "result": {"a": {"constant": 1}}}}},
        {"unknown": {"tool": "x", "restart": True}},
        {"unknown": {}},
        {"colour": "red"},
    ],
)
def test_map_with_a_fault_is_refused(fault: dict[str, Any]) -> None:
    """A result has no constants, a field has one place, a step does one thing, and nothing is unknown."""
    with pytest.raises(ValidationError):
        made(**fault)


@pytest.mark.parametrize("name", ["nexus-mcp", "nexus-core", "backlog.md", "task-master-ai"])
def test_maps_are_valid(name: str) -> None:
    """Each map in conformance/maps/ can be loaded."""
    assert load(name).title
