"""The tokens of a session and of an answer stay within the budgets of docs/tokens.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from benchmarks import page, results, tokens
from benchmarks.data.project import Project
from benchmarks.figures import OURS
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace

RESULT = results.read(tokens.RESULT)


@pytest.fixture
def app(tmp_path: Path) -> App:
    """Our server for an empty project."""
    return App(Workspace(str(tmp_path)))


def test_a_session_pays_no_more_than_its_budget(app: App) -> None:
    """Names, descriptions and input schemas, the whole list, and the instructions each have a limit."""
    assert tokens.find_excess(tokens.measure_session(app.tools(), app.instructions)) == []


@pytest.mark.parametrize(
    ("count", "size", "excess"), [(11, 15_000, 0), (11, 15_001, 1), (12, 16_363, 0), (12, 16_364, 1)]
)
def test_a_further_tool_may_add_as_much_as_the_others_take(count: int, size: int, excess: int) -> None:
    """The limit grows by an eleventh with each tool beyond the contract; the message says by how much the text exceeds
    it.
    """
    sizes = {"inputs": {"bytes": 1}, "tools": {"bytes": size}, "instructions": {"bytes": 1}}
    found = tokens.find_excess({"count": count, **sizes})
    assert [f"{excess} more than the budget for {count} tools" in one for one in found] == [True] * (excess > 0)


def test_a_peer_that_cannot_be_measured_keeps_its_row() -> None:
    """Without npm the figures of other servers stay; our own never do."""
    found = {name: {"missing": "npm is not installed"} for name in RESULT}
    kept = tokens.keep_rows(found, RESULT)
    assert kept == {**RESULT, OURS: {"missing": "npm is not installed"}}
    assert tokens.keep_rows(found, {})["backlog.md"] == {"missing": "npm is not installed"}


@pytest.mark.parametrize("prefix", ["", "nx_"])
def test_the_instructions_are_short_under_a_prefix_too(tmp_path: Path, prefix: str) -> None:
    """The instructions stay within 500 characters and under 120 tokens; the first line names the first call."""
    text = App(Workspace(str(tmp_path)), prefix).instructions
    assert len(text) <= tokens.BUDGETS["instructions"]
    assert tokens.estimate(text) <= tokens.INSTRUCTION_TOKENS
    assert text.partition("\n")[0].startswith(f"Call {prefix}context first")


@pytest.mark.parametrize("tool", tokens.ANSWERS)
def test_answers_are_no_larger_than_before(tmp_path: Path, tool: str) -> None:
    """30 tasks, a plan, and five hits in the history take no more bytes than in version 0.1."""
    tokens.fill(Project(tmp_path))
    answer = App(Workspace(str(tmp_path))).call(tool, tokens.ANSWERS[tool]).result["structuredContent"]
    assert "error" not in answer
    assert tokens.measure_text(tokens.written(answer))["bytes"] <= tokens.ANSWER_BUDGETS[tool]


def test_the_advertised_schemas_are_portable(app: App) -> None:
    """No schema of a tool refers elsewhere or has keywords that only some clients know."""
    for tool in app.tools():
        for name in ("inputSchema", "outputSchema"):
            Draft202012Validator.check_schema(tool[name])
            assert tool[name]["type"] == "object"
            assert tokens.written(tool[name]).count("$") == 0


def test_the_result_is_of_this_code(app: App) -> None:
    """`python -m benchmarks.tokens` would measure the same of our server."""
    measured = tokens.measure_session(app.tools(), app.instructions)
    assert {name: RESULT[OURS][name] for name in measured} == measured


def test_the_page_shows_the_result() -> None:
    """`python -m benchmarks.tokens --page` would write the same page."""
    text = tokens.PAGE.read_text(encoding="utf-8")
    assert page.filled(text, tokens.blocks(RESULT)) == text


def test_missing_server_is_named_with_the_reason() -> None:
    """The page names a server that was not measured, with the reason, and leaves out no row."""
    shown = tokens.blocks({**RESULT, "backlog.md": {"missing": "npm is not installed"}})["session"]
    assert "- backlog.md is not in the tables: npm is not installed" in shown
    assert "| backlog.md" not in shown


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a context", 2), ("acceptance", 2), ("task_add", 3), ("1234", 2), ('{"a": 1}', 5)]
)
def test_tokens_are_estimated_by_pieces(text: str, count: int) -> None:
    """Long words, digits and runs of other characters count as docs/tokens.md describes."""
    assert tokens.estimate(text) == count
