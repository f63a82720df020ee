"""What holds for the calls of all tools: arguments, answers, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.app import App
from tests.support import NAMES, SMALLEST, Client, Project, compact, issue, plan, task, tasks

# name → (required, optional) parameters, from the contract's headings
PARAMETERS: dict[str, tuple[list[str], list[str]]] = {
    "plan_start": (["topic", "issues", "research_summary"], []),
    "plan_status": ([], []),
    "plan_update": (["action"], ["issue_id", "title"]),
    "plan_decide": (["issue_id", "decision"], ["how_agents", "how_summary", "how_agent_ids"]),
    "task_add": (
        ["title", "context"],
        ["deps", "approach", "acceptance", "risk", "plan_issue", "goal", "decisions", "owner", "owner_agent_id",
        "owner_reuse_policy"],
    ),
    "task_list": ([], []),
    "task_update": (["id", "status"], []),
    "task_close": ([], []),
    "history_search": ([], ["query", "last_n"]),
    "context": ([], []),
    "artifact_write": (["filename", "content"], []),
}  # fmt: skip


def names_of(tool: str) -> list[str]:
    required, optional = PARAMETERS[tool]
    return required + optional


OPTIONAL = [(tool, name) for tool, (_, optional) in PARAMETERS.items() for name in optional]
REQUIRED = [(tool, name) for tool, (required, _) in PARAMETERS.items() for name in required]
EVERY = sorted(REQUIRED + OPTIONAL)
TEXTS = [
    ("plan_start", "topic"), ("plan_start", "research_summary"), ("plan_update", "action"), ("plan_update", "title"),
    ("plan_decide", "decision"),
    *(("task_add", name) for name in ("title", "context", "approach", "acceptance", "risk", "goal", "owner",
    "owner_agent_id", "owner_reuse_policy")),
    ("task_update", "status"), ("history_search", "query"), ("artifact_write", "filename"),
    ("artifact_write", "content"),
]  # fmt: skip
NUMBERS = [
    ("plan_update", "issue_id"), ("plan_decide", "issue_id"), ("task_add", "plan_issue"), ("task_update", "id"),
    ("history_search", "last_n"),
]  # fmt: skip
LISTS = [("plan_start", "issues"), ("plan_decide", "how_agents"), ("task_add", "deps"), ("task_add", "decisions")]
OBJECTS = [("plan_decide", "how_summary"), ("plan_decide", "how_agent_ids")]
NOT_BLANK = [
    ("plan_start", "topic"), ("task_add", "title"), ("task_add", "context"), ("task_update", "status"),
    ("artifact_write", "filename"),
]  # fmt: skip


@pytest.fixture
def full(project: Project, call: Client) -> Client:
    """A client of a project with a plan and a task, so that every smallest call succeeds."""
    project.put("state/plan.json", plan())
    project.put("state/tasks.json", tasks(task(1)))
    return call


def test_the_lists_of_this_module_are_complete() -> None:
    """Every parameter is a text, a number, a list or an object here."""
    assert sorted(TEXTS + NUMBERS + LISTS + OBJECTS) == EVERY


@pytest.mark.requirement("calls.table", "calls.parameters", "calls.schema-plain")
def test_the_table(app: App) -> None:
    """Eleven tools with the contract's parameters, in plain types, closed to any other."""
    tools = {tool["name"]: tool for tool in app.tools()}
    assert tuple(sorted(tools)) == tuple(sorted(NAMES))
    assert len(app.tools()) == 11
    plain = dict.fromkeys(TEXTS, "string") | dict.fromkeys(LISTS, "array") | dict.fromkeys(OBJECTS, "object")
    for name, (required, optional) in PARAMETERS.items():
        schema = tools[name]["inputSchema"]
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert sorted(schema["properties"]) == sorted(required + optional)
        assert sorted(schema.get("required", [])) == sorted(required)
        for parameter, shape in schema["properties"].items():
            assert shape["type"] in (
                {plain.get((name, parameter))} if (name, parameter) in plain else {"integer", "number"}
            )
            assert shape["description"].strip()
    assert app.tools() is app.tools()


@pytest.mark.requirement("calls.parameters", "calls.schema-plain", "tasks.policy", "tasks.task-status")
def test_closed_sets_are_advertised(app: App) -> None:
    """Where a parameter has a closed set of values the schema lists them."""
    found = {
        (tool["name"], name): shape["enum"]
        for tool in app.tools()
        for name, shape in tool["inputSchema"]["properties"].items()
        if "enum" in shape
    }
    assert found == {
        ("plan_update", "action"): ["add", "remove", "edit", "reopen"],
        ("task_add", "owner_reuse_policy"): ["fresh", "resume_if_same_artifact", "resume"],
        ("task_update", "status"): ["pending", "in_progress", "completed"],
    }


@pytest.mark.requirement("calls.annotations")
def test_annotations(app: App) -> None:
    """What the hints say of each tool."""
    reading = {"plan_status", "task_list", "history_search", "context"}
    destructive = {"plan_update", "task_close", "artifact_write"}
    repeatable = reading | {"plan_decide", "task_update", "artifact_write"}
    for tool in app.tools():
        name = tool["name"]
        assert {key: value for key, value in tool["annotations"].items() if key != "title"} == {
            "readOnlyHint": name in reading,
            "destructiveHint": name in destructive,
            "idempotentHint": name in repeatable,
            "openWorldHint": False,
        }, name


@pytest.mark.requirement("calls.prefix")
def test_a_prefix(make_app: Any, project: Project) -> None:
    """With a prefix the same tools answer to the longer names alone."""
    plain, prefixed = make_app(project.root), make_app(project.root, prefix="nx_")
    assert prefixed.tools() == [{**tool, "name": f"nx_{tool['name']}"} for tool in plain.tools()]
    assert prefixed.call("nx_context", {}).result == plain.call("context", {}).result
    with pytest.raises(UnknownTool, match=r"^Unknown tool: context$"):
        prefixed.call("context", {})
    with pytest.raises(UnknownTool, match=r"^Unknown tool: nx_context$"):
        plain.call("nx_context", {})


@pytest.mark.requirement("calls.table")
@pytest.mark.parametrize(
    "name",
    [
        "", "Plan_start", "plan_start ", "plan-start", "nx_plan_start", "task_delete", "__class__",
    ],
)  # fmt: skip
def test_names_outside_the_table(app: App, name: str) -> None:
    """A name that is not in the table is no tool."""
    with pytest.raises(UnknownTool) as caught:
        app.call(name, {})
    assert str(caught.value) == f"Unknown tool: {name}"


@pytest.mark.requirement("calls.result")
@pytest.mark.parametrize("tool", NAMES)
def test_results_say_the_same_twice(full: Client, tool: str) -> None:
    """The text block is the structured content as compact JSON."""
    answer = full.app.call(tool, SMALLEST[tool])
    result = answer.result
    assert result["isError"] is False
    assert result["content"] == [{"type": "text", "text": compact(result["structuredContent"])}]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    answer.delivered()
    answer.delivered()
    answer.undelivered()


@pytest.mark.requirement("calls.unescaped")
def test_text_is_not_escaped(full: Client) -> None:
    """Letters outside ASCII leave as they came."""
    answer = full.app.call("task_add", {"title": "漢字 é 😀 \u2028", "context": "ß"})
    assert "漢字 é 😀 \u2028" in answer.result["content"][0]["text"]


@pytest.mark.requirement("calls.error")
@pytest.mark.parametrize("tool", NAMES)
def test_errors_say_the_same_twice(full: Client, tool: str) -> None:
    """A refusal holds an error text and nothing else, in both places."""
    result = full.app.call(tool, {**SMALLEST[tool], "bogus": 1}).result
    message = result["structuredContent"]["error"]
    assert result == {
        "content": [{"type": "text", "text": compact({"error": message})}],
        "structuredContent": {"error": message},
        "isError": True,
    }


@pytest.mark.requirement("calls.unknown", "calls.failure-keeps", "calls.message-help")
@pytest.mark.parametrize("tool", NAMES)
def test_unknown_parameters(full: Client, tool: str) -> None:
    """Unknown parameters are refused by name, with the accepted ones listed."""
    required, optional = PARAMETERS[tool]
    message = full.refused(tool, {**SMALLEST[tool], "bogus_one": 1, "bogus_two": None})
    assert "bogus_one" in message
    assert "bogus_two" in message
    assert all(name in message for name in required + optional)


@pytest.mark.requirement("calls.order", "calls.unknown")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if PARAMETERS[tool][0]])
def test_unknown_before_missing(call: Client, tool: str) -> None:
    """With an unknown parameter nothing is said of missing ones."""
    message = call.refused(tool, {"bogus": 1})
    assert "bogus" in message
    assert "is required" not in message


@pytest.mark.requirement("calls.order", "calls.missing", "calls.joined")
@pytest.mark.parametrize(("tool", "left_out"), REQUIRED)
def test_missing_before_values(call: Client, tool: str, left_out: str) -> None:
    """With a missing parameter nothing is said of the values of the others."""
    arguments = {name: {"wrong": 1} for name in names_of(tool) if name != left_out}
    assert call.refused(tool, arguments) == f"{left_out} is required"


@pytest.mark.requirement("calls.order", "calls.joined", "calls.types")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if names_of(tool)])
def test_all_wrong_values_at_once(call: Client, tool: str) -> None:
    """Every wrong value is told, and nothing of the tool's own errors."""
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
def test_null_for_a_required_parameter(call: Client, tool: str, name: str) -> None:
    """Null is missing."""
    assert call.refused(tool, {**SMALLEST[tool], name: None}) == f"{name} is required"


@pytest.mark.requirement("calls.null-optional")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if PARAMETERS[tool][1]])
def test_null_for_optional_parameters(full: Client, project: Project, make_app: Any, tool: str) -> None:
    """Null is absent: the answer is that of the call without."""
    nulls = {name: None for name in PARAMETERS[tool][1] if name not in SMALLEST[tool]}
    before = {path: project.get(path) for path in ("state/plan.json", "state/tasks.json")}
    first = full.send(tool, SMALLEST[tool])
    for path, content in before.items():
        project.put(path, content)
    assert full.send(tool, {**nulls, **SMALLEST[tool]}) == first


@pytest.mark.requirement("calls.result")
@pytest.mark.parametrize("tool", [tool for tool in NAMES if not PARAMETERS[tool][0]])
def test_no_arguments_at_all(full: Client, tool: str) -> None:
    """Arguments that are left out are none."""
    assert full.app.call(tool, None).result["isError"] is False


@pytest.mark.requirement("calls.types")
@pytest.mark.parametrize(("tool", "name"), TEXTS)
@pytest.mark.parametrize("value", [0, 1.5, True, False, [], ["a"], {}, {"a": "b"}])
def test_no_text(full: Client, tool: str, name: str, value: Any) -> None:
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
def test_no_number(full: Client, tool: str, name: str, value: Any) -> None:
    """What is no whole number of at least 1 is refused by the parameter's name."""
    message = full.refused(tool, {**SMALLEST[tool], name: value})
    assert name in message
    assert len(message) < 1000


@pytest.mark.requirement("calls.number-text", "calls.ids")
@pytest.mark.parametrize(("tool", "name"), NUMBERS)
@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", "1e0", "10e-1", "0.1E1", "1.000", "0.01e+2"])
def test_spellings_of_one(full: Client, tool: str, name: str, value: Any) -> None:
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
def test_no_list(full: Client, tool: str, name: str, value: Any) -> None:
    """What is no list of the right items is refused by the parameter's name."""
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
def test_no_object(full: Client, tool: str, name: str, value: Any) -> None:
    """What is no object of texts is refused by the parameter's name."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.json-text")
@pytest.mark.parametrize("deep", ["[" * 100_000, "[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000])
@pytest.mark.parametrize(("tool", "name"), LISTS + OBJECTS)
def test_deep_json_text(full: Client, tool: str, name: str, deep: str) -> None:
    """JSON text nested beyond reason is refused like other text that is no list or object."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: deep})


@pytest.mark.requirement("calls.types")
@pytest.mark.parametrize(("tool", "name"), [*TEXTS, *NUMBERS, *LISTS, *OBJECTS])
def test_deep_values(full: Client, tool: str, name: str) -> None:
    """A value nested as deep as the wire admits is refused without a crash."""
    value: Any = "x"
    for level in range(60):
        value = [value] if level % 2 else {"a": value}
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.blank")
@pytest.mark.parametrize(("tool", "name"), NOT_BLANK)
@pytest.mark.parametrize("value", ["", " ", "\t", "\r\n", "\u00a0", "\u2007", "\u3000", "\u2028"])
def test_blank(full: Client, tool: str, name: str, value: str) -> None:
    """Where a text must have a character, blanks are none."""
    assert name in full.refused(tool, {**SMALLEST[tool], name: value})


SURROGATE = [("surrogate", "a\ud800b"), ("surrogate", "\udfff"), ("surrogate", "\udc00\ud800")]
BAD_TEXT = [*SURROGATE, ("NUL", "\0"), ("NUL", "a\0b")]


@pytest.mark.requirement("calls.surrogates", "calls.nul")
@pytest.mark.parametrize(("kind", "bad"), BAD_TEXT)
@pytest.mark.parametrize(("tool", "name"), [*TEXTS, *LISTS, *OBJECTS])
def test_bad_characters(full: Client, tool: str, name: str, kind: str, bad: str) -> None:
    """Half characters and NUL are refused wherever text goes: in texts, items, keys and values."""
    forms: list[Any] = [bad]
    if (tool, name) in LISTS:
        forms = [[bad], ["fine", bad], json.dumps([bad])]
    elif (tool, name) in OBJECTS:
        forms = [{"a": bad}, {bad: "a"}, json.dumps({"a": bad}), json.dumps({bad: "a"})]
    for value in forms:
        assert name in full.refused(tool, {**SMALLEST[tool], name: value})


@pytest.mark.requirement("calls.surrogates", "calls.nul", "calls.unknown")
@pytest.mark.parametrize("name", ["\ud800", "\0", "topic\0", ""])
def test_bad_parameter_names(call: Client, name: str) -> None:
    """A parameter's name that is no text is unknown like any other, and the message can be sent."""
    assert "topic" in call.refused("plan_start", {**SMALLEST["plan_start"], name: 1})


@pytest.mark.requirement("calls.surrogates")
def test_whole_characters_pass(full: Client, project: Project) -> None:
    """A pair of surrogates in JSON text is one character."""
    full("plan_decide", issue_id=1, decision="d", how_agents='["\\ud83d\\ude00"]')
    assert project.json("state/plan.json")["issues"] == [issue(1, "First", "decided", decision="d", how_agents=["😀"])]


@pytest.mark.requirement("calls.ids")
def test_big_ids(full: Client) -> None:
    """An id beyond 64 bits is an id."""
    for big in (2**53 + 1, 2**64, 10**30, str(10**30)):
        assert full.error("task_update", id=big, status="pending") == f"Task id {int(big)} not found"
        assert full.error("plan_decide", issue_id=big, decision="d") == f"Issue {int(big)} not found"


@pytest.mark.requirement("calls.failure-keeps")
@pytest.mark.parametrize("tool", NAMES)
def test_failures_create_nothing(call: Client, project: Project, tool: str) -> None:
    """A call that fails in an untouched project leaves it untouched."""
    call.refused(tool, {"bogus": 1})
    assert not project.nexus.exists()


@pytest.mark.requirement("calls.message-help", "artifact_write.segments")
def test_messages_say_what_where_and_what_next(full: Client, project: Project) -> None:
    """A message names the parameter or file, says what is wrong with it and what to do."""
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
