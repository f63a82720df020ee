"""Facts about the calls of all tools: the table, answers and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nexus_mcp.errors import UnknownTool
from nexus_mcp.quoting import quoted_name
from nexus_mcp.server.app import App
from tests.contract.parameters import CONTRACT, LISTS, OBJECTS, PARAMETERS, TEXTS
from tests.support import NAMES, SMALLEST, Client, Project, compact


@pytest.mark.requirement("calls.table", "calls.parameters", "calls.schema-plain")
def test_table_has_the_tools_of_the_contract(app: App) -> None:
    """The tools of the table, all of the contract among them, with its parameters, in plain types, closed to others."""
    tools = {tool["name"]: tool for tool in app.tools()}
    assert [tool["name"] for tool in app.tools()] == list(NAMES)
    assert CONTRACT.keys() <= tools.keys()
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
        if "enum" in shape and tool["name"] in CONTRACT
    }
    assert found == {
        ("plan_update", "action"): ["add", "remove", "edit", "reopen"],
        ("task_add", "owner_reuse_policy"): ["fresh", "resume_if_same_artifact", "resume"],
        ("task_update", "status"): ["pending", "in_progress", "completed"],
    }


@pytest.mark.requirement("calls.annotations")
def test_tools_have_the_annotations_of_the_contract(app: App) -> None:
    """Each tool has the hints of the contract."""
    reading = {"plan_status", "task_list", "history_search", "context"}
    destructive = {"plan_update", "task_close", "artifact_write"}
    repeatable = reading | {"plan_decide", "task_update", "artifact_write"}
    for tool in app.tools():
        name = tool["name"]
        if name not in CONTRACT:
            continue
        assert {key: value for key, value in tool["annotations"].items() if key != "title"} == {
            "readOnlyHint": name in reading,
            "destructiveHint": name in destructive,
            "idempotentHint": name in repeatable,
            "openWorldHint": False,
        }, name


@pytest.mark.requirement("calls.prefix")
def test_prefixed_tools_answer_only_to_long_names(make_app: Any, project: Project) -> None:
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
def test_name_outside_the_table_is_no_tool(app: App, name: str) -> None:
    """A name that is not in the table is no tool."""
    with pytest.raises(UnknownTool) as caught:
        app.call(name, {})
    assert str(caught.value) == f"Unknown tool: {quoted_name(name)}"


@pytest.mark.requirement("calls.result")
@pytest.mark.parametrize("tool", NAMES)
def test_result_text_equals_structured_content(full: Client, tool: str) -> None:
    """The text block is the structured content as compact JSON."""
    answer = full.app.call(tool, SMALLEST[tool])
    result = answer.result
    assert result["isError"] is False
    assert result["content"] == [{"type": "text", "text": compact(result["structuredContent"])}]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    answer.confirm_delivery()
    answer.confirm_delivery()
    answer.drop_delivery()


@pytest.mark.requirement("calls.unescaped")
def test_text_is_not_escaped(full: Client) -> None:
    """Letters outside ASCII are returned unescaped."""
    answer = full.app.call("task_add", {"title": "漢字 é 😀 \u2028", "context": "ß"})
    assert "漢字 é 😀 \u2028" in answer.result["content"][0]["text"]


@pytest.mark.requirement("calls.error")
@pytest.mark.parametrize("tool", NAMES)
def test_error_text_equals_structured_content(full: Client, tool: str) -> None:
    """A refusal holds an error text and nothing else, in both places."""
    result = full.app.call(tool, {**SMALLEST[tool], "bogus": 1}).result
    message = result["structuredContent"]["error"]
    assert result == {
        "content": [{"type": "text", "text": compact({"error": message})}],
        "structuredContent": {"error": message},
        "isError": True,
    }
