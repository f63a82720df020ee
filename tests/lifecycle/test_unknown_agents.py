"""The agent that uses a tool: an unnamed one, one that is not in the catalog, one with several names."""

from __future__ import annotations

import pytest

from nexus_mcp.state.agents import MOST_NAMES
from tests.lifecycle.sessions import edits, of, spawn
from tests.lifecycle.support import Teller, put
from tests.support import Clock, Project, tasks


@pytest.fixture
def tell(project: Project, clock: Clock) -> Teller:
    put(project, ".nexus/state/tasks.json", tasks())
    return Teller(project.root, clock, "claude-code")


@pytest.mark.requirement("pre_tool_use.unknown")
def test_unknown_agent_gets_every_restriction(tell: Teller, project: Project) -> None:
    """An agent without a name may only do what every agent may do, and the answer says so."""
    answer = tell("pre_tool_use", agent_id="x1", tool="Edit", file="a.py")
    assert (answer["decision"], answer["warnings"]) == ("deny", [])
    assert answer["reason"].startswith('Agent "x1" is unknown: neither the tracker nor the event has its name')
    assert 'architect, designer, postdoc and 4 more may not use "Edit"' in answer["reason"]
    answer = tell("pre_tool_use", agent_id="x1", tool="Bash")
    assert answer["decision"] == "allow"
    assert answer["warnings"] == [
        'Agent "x1" is unknown: neither the tracker nor the event has its name, so it may do what every agent may do.'
    ]
    assert tell("pre_tool_use", agent_id="x1", tool="Read")["warnings"] == []
    assert edits(tell, "", "x1", agent_name="  ") == "deny"
    assert edits(tell, "", "x1", agent_name="Explore") == "allow"
    assert tell("pre_tool_use", tool="Edit", file="a.py")["decision"] == "allow"


@pytest.mark.requirement("pre_tool_use.unknown", "agent_spawn.given")
@pytest.mark.parametrize("name", ["Explore", "general-purpose", "Mein Agent"])
@pytest.mark.parametrize("session", ["s1", ""])
def test_name_outside_the_catalog_has_no_restrictions(tell: Teller, project: Project, name: str, session: str) -> None:
    """It counts as a name, also where the tracker has no place for it: the agent has no restrictions."""
    spawn(tell, session, "a1", name)
    assert edits(tell, session, "a1") == "allow"
    tell("subagent_complete", **of(session), agent_id="a1")
    assert edits(tell, session, "a1") == "allow"
    text = tell("context_compact", **of(session))["context"]
    assert f'"{name}", id "a1", completed' in text


@pytest.mark.requirement("pre_tool_use.unknown")
def test_agent_spawned_without_a_name_is_unknown(tell: Teller) -> None:
    """A spawn with a blank name leaves the agent unknown."""
    spawn(tell, "s1", "a1", " ")
    assert edits(tell, "s1", "a1") == "deny"


@pytest.mark.requirement("pre_tool_use.unknown")
@pytest.mark.parametrize("name", ["Explore 0", "architect"])
def test_agent_with_too_many_names_is_unknown(tell: Teller, name: str) -> None:
    """An agent with more names than are stored is unknown: a lost name may restrict it."""
    for number in range(MOST_NAMES):
        spawn(tell, "s1", "a1", f"Explore {number}")
        spawn(tell, "s1", "a2", f"Explore {number % 2}")
    spawn(tell, "s1", "a1", name)
    assert edits(tell, "s1", "a1") == "deny"
    assert edits(tell, "s1", "a1", agent_name="Explore 0") == "deny"
    assert edits(tell, "s1", "a2") == "allow"


@pytest.mark.requirement("pre_tool_use.who")
def test_long_name_is_recognized_by_its_end(tell: Teller) -> None:
    """Of a name that is too long the end counts, where the agent's own name stands."""
    assert edits(tell, "s1", "a1", agent_name=f"{'x' * 300}:architect") == "deny"
    assert edits(tell, "s1", "a1", agent_name=f"{'x' * 300}:engineer") == "allow"


@pytest.mark.requirement("pre_tool_use.who")
def test_different_names_of_an_agent_add_their_restrictions(tell: Teller) -> None:
    """Where the tracker, a later spawn and the payload name an agent differently, the limits of all of them hold."""
    spawn(tell, "s1", "a1", "engineer")
    assert edits(tell, "s1", "a1") == "allow"
    assert edits(tell, "s1", "a1", agent_name="architect") == "deny"
    spawn(tell, "s1", "a1", "reviewer")
    assert edits(tell, "s1", "a1") == "deny"
    assert edits(tell, "s1", "a1", agent_name="engineer") == "deny"


@pytest.mark.requirement("pre_tool_use.capabilities")
def test_a_completed_agent_keeps_its_restrictions(tell: Teller) -> None:
    """The restrictions of an agent also hold after its end."""
    spawn(tell, "s1", "a1", "architect")
    tell("subagent_complete", session_id="s1", agent_id="a1")
    assert edits(tell, "s1", "a1") == "deny"


@pytest.mark.requirement("pre_tool_use.unknown", "pre_tool_use.catalog")
def test_an_unknown_agent_where_not_all_agents_can_be_listed(tell: Teller, project: Project) -> None:
    """It may be one of those that cannot be listed, which gets every restriction."""
    assert tell("pre_tool_use", agent_id="x1", tool="Bash")["decision"] == "allow"
    (project.nexus / "agents").symlink_to(project.root)
    assert tell("pre_tool_use", agent_id="x1", tool="Bash")["decision"] == "deny"
    assert tell("pre_tool_use", agent_id="x1", tool="Read")["decision"] == "allow"
