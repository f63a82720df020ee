"""The edit gate: the decision on an edit while there is no task list."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.lifecycle.host import GATES, Host
from tests.lifecycle.support import Teller, put
from tests.support import Project, plan

PLAN = ".nexus/state/plan.json"
CONFIG = ".nexus/config.yml"


def edit(project: Project, gate: str, agent: str = "") -> dict[str, Any]:
    tell = Teller(project.root, harness_id="claude-code", host=Host(gate))
    who = {"agent_id": "a1", "agent_name": agent} if agent else {}
    return tell("pre_tool_use", tool="Write", tool_input={"file_path": "src/a.py"}, **who)


@pytest.mark.requirement("gates.edit")
@pytest.mark.parametrize(
    ("gate", "without_plan", "with_plan"),
    [
        ("block", "block", "block"),
        ("auto", "allow", "block"),
        ("warn", "allow", "allow"),
        ("off", "allow", "allow"),
    ],
)
@pytest.mark.parametrize("is_in_config", [False, True])
def test_project_gate_wins_over_the_installed_one(
    project: Project, gate: str, without_plan: str, with_plan: str, is_in_config: bool
) -> None:
    """The gate of the installation decides, and the project's config.yml wins over it."""
    host = gate
    if is_in_config:
        put(project, CONFIG, f'gates:\n  edit: "{gate}"\n')
        host = "block" if gate != "block" else "off"
    assert edit(project, host)["decision"] == without_plan
    put(project, PLAN, plan())
    assert edit(project, host)["decision"] == with_plan


def test_warn_gives_the_reason_as_a_warning(project: Project) -> None:
    """With the gate warn the edit runs, and the model gets the next step as a warning."""
    (warning,) = edit(project, "warn")["warnings"]
    assert warning.startswith("There is no task list")
    assert edit(project, "off")["warnings"] == []


def test_faulty_config_relaxes_no_gate(project: Project) -> None:
    """If config.yml is unusable, the edit is blocked, whatever gate the installation has."""
    put(project, CONFIG, "gates:\n  edit: never\n")
    answer = edit(project, "off")
    assert answer["decision"] == "block"
    assert "the strictest settings apply" in answer["warnings"][0]


@pytest.mark.parametrize("gate", GATES)
def test_no_gate_frees_an_agent(project: Project, gate: str) -> None:
    """With each gate an agent's restrictions hold, and an agent's edit below .nexus/ is denied."""
    assert edit(project, gate, "architect")["decision"] == "deny"
    tell = Teller(project.root, harness_id="claude-code", host=Host(gate))
    answer = tell("pre_tool_use", tool="Write", tool_input={"file_path": ".nexus/state/plan.json"})
    assert answer["decision"] == "deny"
