"""Macros of nexus-core texts as our placeholders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.catalog.foreign_texts import KnownNames, translate
from nexus_mcp.catalog.placeholders import find_placeholders

KNOWN = KnownNames(("plan_start", "task_add"), ("researcher",), ("nx-plan",))


@pytest.mark.parametrize(
    ("text", "expected", "missing"),
    [
        ("{{skill_activation skill=nx-plan mode=auto}}", "{{action:start_skill}} {{skill:nx-plan}}, mode auto", []),
        ('{{skill_activation skill="nx-plan"}}', "{{action:start_skill}} {{skill:nx-plan}}", []),
        ("{{skill_activation skill=other}}", "{{action:start_skill}} other", ["the skill other"]),
        (
            '{{subagent_spawn target_role=researcher name=r1 prompt="Find \\"it\\""}}',
            '{{action:spawn_agent}} as {{agent:researcher}}, called r1: Find "it"',
            [],
        ),
        (
            "{{subagent_spawn target_role=explore prompt=>>TEXT}}",
            "{{action:spawn_agent}} as explore: the text TEXT",
            ["the agent explore"],
        ),
        ('{{subagent_resume agent_id="<id>" prompt="Go"}}', "{{action:resume_agent}} <id>: Go", []),
        ('{{task_register label="L" state=pending}}', "{{action:report_progress}}: L (pending)", []),
        (
            '{{user_question question="Which?" options=[{label: "a"}, {label: "b"}]}}',
            '{{action:ask_user}}: Which?, options [{label: "a"}, {label: "b"}]',
            [],
        ),
        ("{{unknown x=1}} end", "`unknown x=1` end", ["the macro unknown x=1"]),
        ("{{no end", "{ {no end", ["a macro without an end, {{no end"]),
        ("a }} b {x} }}}", "a } } b {x} } } }", []),
        ("Call `nx_plan_start` now", "Call {{tool:plan_start}} now", []),
        ("`nx_plan_start(topic)`", "{{tool:plan_start}} `(topic)`", []),
        ("nx_task_add, nx_other", "{{tool:task_add}}, nx_other", ["the tool nx_other"]),
        ("my_nx_task_add", "my_nx_task_add", []),
        ('{{task_register label="nx_task_add"}}', "{{action:report_progress}}: {{tool:task_add}}", []),
    ],
)
def test_known_names_become_placeholders(text: str, expected: str, missing: list[str]) -> None:
    """A name with a counterpart becomes a placeholder; other text stays and is reported."""
    assert translate(text, KNOWN) == (expected, missing)


@given(st.text(alphabet='{}" \n=>a\\[]:_nx`', max_size=60))
def test_any_text_has_only_our_placeholders(text: str) -> None:
    """Whatever a text is, no pair of braces remains that our placeholders would refuse."""
    assert all(kind for _, _, kind, _ in find_placeholders(translate(text, KNOWN)[0]))
