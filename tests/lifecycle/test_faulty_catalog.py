"""Hooks in a project with faulty agents, skills or maps."""

from __future__ import annotations

import pytest

from tests.catalog.files import AGENT
from tests.lifecycle.support import Teller
from tests.support import Json, Project

CLAUDE: dict[str, Json] = {"harness_id": "claude-code"}
EDIT: dict[str, Json] = {**CLAUDE, "tool": "Edit", "tool_input": {"file_path": "src/a.py"}}


@pytest.mark.requirement("pre_tool_use.catalog")
def test_broken_catalog_entry_is_reported_and_replaced(tell: Teller, project: Project) -> None:
    """An unusable entry of a project is reported; the shipped entry applies."""
    project.put("capability-map.yml", "claude-code: [")
    answer = tell("pre_tool_use", **EDIT, agent_name="architect")
    assert answer["decision"] == "deny"
    (warning,) = answer["warnings"]
    assert warning.startswith(
        ".nexus/capability-map.yml:1:15: while parsing a flow node: did not find expected node content"
    )
    assert "until it is corrected the shipped map applies" in warning


@pytest.mark.requirement("pre_tool_use.catalog")
@pytest.mark.parametrize("fault", ["skills/draft/notes.txt", "agents/draft/body.md", "capability-map.yml"])
def test_a_fault_drops_no_restriction(tell: Teller, project: Project, fault: str) -> None:
    """A project's restriction of an agent holds, whatever other faults the project's catalog has."""
    bash: dict[str, Json] = {**CLAUDE, "tool": "Bash", "tool_input": {"command": "ls"}}
    project.put("agents/engineer/meta.yml", "id: engineer\ncapabilities: [no_task_create, no_shell_exec]\n")
    own = AGENT.format(id="gardener").replace("no_task_create", "no_file_edit")
    project.put("agents/gardener/meta.yml", own)
    project.put("agents/gardener/body.md", "Prune.\n")
    whole = [tell("pre_tool_use", **bash, agent_name="engineer"), tell("pre_tool_use", **EDIT, agent_name="gardener")]
    assert [(answer["decision"], answer["warnings"]) for answer in whole] == [("deny", [])] * 2
    project.put(fault, "[")
    again = [tell("pre_tool_use", **bash, agent_name="engineer"), tell("pre_tool_use", **EDIT, agent_name="gardener")]
    assert [answer["reason"] for answer in again] == [answer["reason"] for answer in whole]
    assert [len(answer["warnings"]) for answer in again] == [1, 1]


@pytest.mark.requirement("pre_tool_use.catalog")
@pytest.mark.parametrize("agent", ["engineer", "dba"])
def test_faulty_agent_gets_the_reason_of_its_denial(tell: Teller, project: Project, agent: str) -> None:
    """The agent gets every restriction; the reason names the file to repair. Reading tools are allowed."""
    project.put(f"agents/{agent}/meta.yml", "id: [")
    answer = tell("pre_tool_use", **EDIT, agent_name=agent)
    assert answer["decision"] == "deny"
    assert answer["reason"].endswith(
        f" .nexus/agents/{agent}/meta.yml has a fault, and until it is fixed {agent} may use no tool that can be "
        "forbidden. Tell the lead: nexus-mcp catalog check shows what is wrong."
    )
    read = tell("pre_tool_use", **CLAUDE, tool="Read", tool_input={"file_path": "a"}, agent_name=agent)
    assert (read["decision"], len(read["warnings"])) == ("allow", 1)


@pytest.mark.requirement("pre_tool_use.catalog")
def test_warnings_about_the_catalog_are_few(tell: Teller, project: Project) -> None:
    """The first three faults have a warning each, and one warning counts the others."""
    for number in range(50):
        (project.nexus / f"skills/s{number}").mkdir(parents=True)
    warnings = tell("pre_tool_use", **EDIT)["warnings"]
    assert len(warnings) == 4
    assert warnings[3].startswith("47 more agents, skills or maps of this project cannot be used.")
