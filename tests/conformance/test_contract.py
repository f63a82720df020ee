"""docs/contract.md: rules and fixtures claim each other, and parameters, fields and messages agree with the program."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs import contract_page
from nexus_mcp.conformance.authoring import contract
from nexus_mcp.conformance.authoring.explain import explain
from nexus_mcp.conformance.fixture import LEVELS
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import Tool
from tests.conformance.suite import packaged
from tests.conformance.support import made
from tests.conftest import CHECKOUT

PAGE, ENTRIES, FILES = contract_page.current()
RULES = list(contract.texts(PAGE))
# A row of the table of state files → its schema, and the part of it.
SCHEMAS = {
    "plan.json": ("plan", ()),
    "an issue": ("plan", ("$defs", "issue")),
    "tasks.json": ("tasks", ()),
    "a task": ("tasks", ("$defs", "task")),
    "history.json": ("history", ()),
    "a cycle": ("cycle", ()),
    "agent-tracker.json": ("agent-tracker", ("items",)),
    "memory-access.jsonl": ("memory-access", ()),
    "tool-log.jsonl": ("tool-log", ()),
}


def section(title: str) -> str:
    """Return the text of a section of the page."""
    return re.split(r"^##+ ", PAGE.partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


def test_rules_and_fixtures_claim_each_other() -> None:
    """Each fixture of each level judges a rule; each rule has fixtures that exist, or a reason why it has none."""
    assert {fixture.level for fixture in packaged()} == set(LEVELS)
    assert contract_page.problems(RULES, ENTRIES, list(FILES)) == []


def test_new_fixture_needs_a_rule() -> None:
    """A fixture that no rule claims is reported with the file to change and the command to run."""
    (line,) = contract_page.problems(RULES, ENTRIES, [*FILES, "task_add_flies"])
    assert line.startswith("task_add_flies: no rule claims this fixture. Add its id to the rule that it judges")
    assert "conformance/rules.yml" in line
    assert line.endswith("Then run make docs.")


def test_removed_fixture_is_reported() -> None:
    """A rule whose fixture is gone is reported, with both ids."""
    rest = [test_id for test_id in FILES if test_id != "task_add_appends_the_decisions"]
    assert contract_page.problems(RULES, ENTRIES, rest) == [
        "task_add.7: no fixture has the id task_add_appends_the_decisions. Correct or remove it in rules.yml."
    ]


@pytest.mark.parametrize("entries", [{}, {"a.1": []}, {"a.1": ""}])
def test_rule_needs_fixtures_or_a_reason(entries: contract_page.Entries) -> None:
    """A rule without an entry, without a fixture, and with a blank reason is reported."""
    (line,) = contract_page.problems(["a.1"], entries, [])
    assert line.startswith("a.1: rules.yml has no such entry. Add the fixtures that judge it, or the reason")


def test_entry_needs_a_rule() -> None:
    """An entry of rules.yml whose rule is not on the page is reported."""
    (line,) = contract_page.problems([], {"a.1": "it cannot be seen"}, [])
    assert line.startswith("a.1: docs/contract.md has no such rule.")


def test_pages_are_current() -> None:
    """Both pages equal the output of the generator; `make docs` writes them."""
    assert contract_page.contract(PAGE, ENTRIES, FILES) == PAGE, "docs/contract.md is not current: run make docs"
    listed = contract_page.LIST_PAGE.read_text(encoding="utf-8")
    assert contract_page.list_page(RULES, ENTRIES, FILES) == listed, (
        "contract-fixtures.md is not current: run make docs"
    )


def test_line_about_fixtures_is_replaced() -> None:
    """A stale line at the end of a rule is replaced, and nothing else of the page changes."""
    page = "- **a.1** One\n  rule.\n  Judged by [9 fixtures](x).\n- **a.2** Two.\n\nText.\n"
    files = {"x_1": "f.json", "x_2": "f.json"}
    assert contract_page.contract(page, {"a.1": ["x_*"], "a.2": "it is not visible"}, files) == (
        "- **a.1** One\n  rule.\n  Judged by [2 fixtures](contract-fixtures.md#a1).\n"
        "- **a.2** Two.\n  Not judged: it is not visible.\n\nText.\n"
    )
    assert contract.texts(page) == {"a.1": "One rule.", "a.2": "Two."}


def test_ids_are_unique_and_numbered() -> None:
    """No id occurs twice on the page or in rules.yml, and the rules of a group are numbered from 1 in their order."""
    on_page = re.findall(r"^- \*\*([a-z_]+)\.(\d+)\*\*", PAGE, re.MULTILINE)
    groups: dict[str, list[int]] = {}
    for group, number in on_page:
        groups.setdefault(group, []).append(int(number))
    assert {group: numbers for group, numbers in groups.items() if numbers != list(range(1, len(numbers) + 1))} == {}
    keys = re.findall(r"^(\S+):", (CHECKOUT / "conformance" / "rules.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert keys == RULES == [f"{group}.{number}" for group, number in on_page]


def test_rules_named_in_the_text_exist() -> None:
    """Each rule that the page, the README or another page names exists."""
    groups = "|".join({rule.partition(".")[0] for rule in RULES})
    for name in ("contract", "conformance", "fixtures"):
        text = (CHECKOUT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert set(re.findall(rf"`((?:{groups})\.\d+)`", text)) - set(RULES) == set()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_page_has_the_parameters_and_answers(tool: Tool) -> None:
    """The section of a tool has its parameters, the optional ones with ?, and the fields of its answer."""
    text = section(tool.name)
    signature = " ".join(text.partition(f"`{tool.name}(")[2].partition(")`")[0].split())
    signature = re.sub(r"\{[^}]*\}", "", signature)
    found = {name: mark != "?" for name, mark in re.findall(r"(?:^|, )(\w+)(\??)", signature)}
    assert found == {name: name in tool.required for name in tool.parameters}
    assert [name for name in tool.output["properties"] if not re.search(rf"`{name}\??`", text)] == []


def test_page_has_the_fields_of_the_state_files() -> None:
    """A row has exactly the fields of a state file in the order of its schema, the optional ones with ?."""
    rows = dict(re.findall(r"^\| `?([a-z][\w. -]*?)`? \| (.*) \|$", section("State files"), re.MULTILINE))
    assert rows.keys() - {"file"} == SCHEMAS.keys()
    for row, (name, path) in SCHEMAS.items():
        schema: Any = json.loads((CHECKOUT / "schemas" / "state" / f"{name}.schema.json").read_text(encoding="utf-8"))
        for step in path:
            schema = schema[step]
        found = re.findall(r"`([a-z_]+)(\??)`", re.sub(r"\([^)]*\)", "", rows[row]))
        expected = [(field, "" if field in schema["required"] else "?") for field in schema["properties"]]
        assert found == expected, row


def test_exact_messages_are_judged() -> None:
    """Each message of the tables of a tool, with a number for <id>, is expected by a fixture of the tool."""
    for tool in TOOLS:
        paths = sorted((CHECKOUT / "conformance").glob(f"*/{tool.name}.json"))
        expected = "".join(path.read_text(encoding="utf-8") for path in paths)
        table = section(tool.name).partition("| message | when |")[2]
        messages = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
        assert bool(messages) is (tool.name in ("plan_update", "plan_decide", "task_update"))
        for message in messages:
            assert re.search(re.escape(message).replace("<id>", r"\d+"), expected), message


def test_explanation_has_the_rules() -> None:
    """The explanation of each packaged fixture names its rules with their texts; another fixture has none."""
    for fixture in packaged():
        text = " ".join(explain(fixture).split())
        found = contract.rules_of(fixture.test_id)
        assert found
        assert [rule.id for rule in found if f"{rule.id}: {' '.join(rule.text.split())}" not in text] == []
    assert "contract" not in explain(made({"action": {"tool": "task_add"}}))
