"""The values that each parameter accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.parameters import EVERY, LISTS, NOT_BLANK, NUMBERS, OBJECTS, TEXTS
from tests.support import SMALLEST, Client, Project, issue


def test_the_lists_of_this_module_are_complete() -> None:
    """Every parameter is a text, a number, a list or an object here."""
    assert sorted(TEXTS + NUMBERS + LISTS + OBJECTS) == EVERY


@pytest.mark.requirement("calls.types")
@pytest.mark.parametrize(("tool", "name"), TEXTS)
@pytest.mark.parametrize("value", [0, 1.5, True, False, [], ["a"], {}, {"a": "b"}])
def test_value_that_is_no_text_is_refused(full: Client, tool: str, name: str, value: Any) -> None:
    """A text is a text."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.types", "calls.ids", "calls.booleans", "calls.number-grammar")
@pytest.mark.parametrize(("tool", "name"), NUMBERS)
@pytest.mark.parametrize(
    "value",
    [
        True, False, 0, -1, 1.5, 0.0, -0.0, float("inf"), float("-inf"), float("nan"), [], [1], {}, {"a": 1}, "", " ",
        "x", "true", "null", "1.5", "0", "-1",
        "+1", "01", "1.", ".1", "1e", "1 ", " 1", "1\n", "0x1", "1_0", "１", "٣", "NaN", "Infinity", "[1]", "1e400",
        "9" * 5001, "1e1000000000", "\ufeff1",
    ],
)  # fmt: skip
def test_value_that_is_no_number_is_refused(full: Client, tool: str, name: str, value: Any) -> None:
    """A value that is no integer from 1 is refused with the parameter's name."""
    message = full.refused(tool, {**SMALLEST[tool], name: value})
    assert name in message
    assert len(message) < 1000


@pytest.mark.requirement("calls.number-text", "calls.ids")
@pytest.mark.parametrize(("tool", "name"), NUMBERS)
@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", "1e0", "10e-1", "0.1E1", "1.000", "0.01e+2"])
def test_all_spellings_of_one_are_accepted(full: Client, tool: str, name: str, value: Any) -> None:
    """One is one in all these spellings."""
    arguments = {**SMALLEST[tool], **({"action": "remove"} if tool == "plan_update" else {})}
    full.send(tool, {**arguments, name: value})


@pytest.mark.requirement("calls.types", "calls.json-text")
@pytest.mark.parametrize(("tool", "name"), LISTS)
@pytest.mark.parametrize(
    "value",
    [
        1, True, {}, {"0": "a"}, "", "a", "1", "true", "{}", '"a"', "[", "[1", "[]]", "['a']", "[1,]", "[NaN]",
        "[[]]", [None], [[]], [{}], [True], "[null]",
    ],
)  # fmt: skip
def test_value_that_is_no_list_is_refused(full: Client, tool: str, name: str, value: Any) -> None:
    """A value that is no list of valid items is refused with the parameter's name."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.types", "calls.json-text")
@pytest.mark.parametrize(("tool", "name"), OBJECTS)
@pytest.mark.parametrize(
    "value",
    [
        1, True, [], ["a"], "", "a", "1", "[]", '"a"', "{", '{"a"}', "{a: 1}", '{"a": NaN}', {"a": 1}, {"a": None},
        {"a": {}}, '{"a": 1}', '{"a": "b", "a": "c"}',
    ],
)  # fmt: skip
def test_value_that_is_no_object_is_refused(full: Client, tool: str, name: str, value: Any) -> None:
    """A value that is no object of texts is refused with the parameter's name."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.json-text")
@pytest.mark.parametrize("deep", ["[" * 100_000, "[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000])
@pytest.mark.parametrize(("tool", "name"), LISTS + OBJECTS)
def test_deep_json_text_is_refused(full: Client, tool: str, name: str, deep: str) -> None:
    """JSON text nested beyond reason is refused like other text that is no list or object."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: deep})


@pytest.mark.requirement("calls.types")
@pytest.mark.parametrize(("tool", "name"), [*TEXTS, *NUMBERS, *LISTS, *OBJECTS])
def test_deeply_nested_value_is_refused(full: Client, tool: str, name: str) -> None:
    """A value nested as deep as the wire admits is refused without a crash."""
    value: Any = "x"
    for level in range(60):
        value = [value] if level % 2 else {"a": value}
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.blank")
@pytest.mark.parametrize(("tool", "name"), NOT_BLANK)
@pytest.mark.parametrize("value", ["", " ", "\t", "\r\n", "\u00a0", "\u2007", "\u3000", "\u2028"])
def test_blank_text_is_refused(full: Client, tool: str, name: str, value: str) -> None:
    """Where a text must have a character, blanks are none."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


SURROGATE = [("surrogate", "a\ud800b"), ("surrogate", "\udfff"), ("surrogate", "\udc00\ud800")]


BAD_TEXT = [*SURROGATE, ("NUL", "\0"), ("NUL", "a\0b")]


@pytest.mark.requirement("calls.surrogates", "calls.nul")
@pytest.mark.parametrize(("kind", "bad"), BAD_TEXT)
@pytest.mark.parametrize(("tool", "name"), [*TEXTS, *LISTS, *OBJECTS])
def test_surrogates_and_nul_are_refused(full: Client, tool: str, name: str, kind: str, bad: str) -> None:
    """Half characters and NUL are refused wherever text goes: in texts, items, keys and values."""
    forms: list[Any] = [bad]
    if (tool, name) in LISTS:
        forms = [[bad], ["fine", bad], json.dumps([bad])]
    elif (tool, name) in OBJECTS:
        forms = [{"a": bad}, {bad: "a"}, json.dumps({"a": bad}), json.dumps({bad: "a"})]
    for value in forms:
        assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.surrogates")
def test_pair_of_surrogates_is_one_character(full: Client, project: Project) -> None:
    """A pair of surrogates in JSON text is one character."""
    full("plan_decide", issue_id=1, decision="d", how_agents='["\\ud83d\\ude00"]')
    assert project.json("state/plan.json")["issues"] == [issue(1, "First", "decided", decision="d", how_agents=["😀"])]


@pytest.mark.requirement("calls.ids")
def test_id_beyond_64_bits_is_accepted(full: Client) -> None:
    """An id beyond 64 bits is an id."""
    for big in (2**53 + 1, 2**64, 10**30, str(10**30)):
        assert full.error("task_update", id=big, status="pending") == f"Task id {int(big)} not found"
        assert full.error("plan_decide", issue_id=big, decision="d") == f"Issue {int(big)} not found"
