"""Two running agents: an edit of a file that the other one has edited is allowed, causes a warning, or is blocked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lifecycle.support import Teller, put
from tests.support import Clock, Project, task, tasks

CONFIG = ".nexus/config.yml"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tell(project: Project, clock: Clock) -> Teller:
    """Two engineers at work, of whom a1 has edited src/a.py."""
    project.put("state/tasks.json", tasks(task(1)))
    made = Teller(project.root, clock, harness_id="claude-code")
    made("session_start", session_id="s", source="startup")
    for agent in ("a1", "a2"):
        made("subagent_spawn", session_id="s", agent_id=agent, agent_name="engineer")
    edit(made, "a1", "post_tool_use")
    return made


def edit(tell: Teller, agent: str, event: str = "pre_tool_use", path: str = "src/a.py", **more: Any) -> dict[str, Any]:
    tool = {"tool": "Edit", "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"}}
    return tell(event, session_id="s", **tool, **({"agent_id": agent} if agent else {}), **more)


@pytest.mark.requirement("gates.leases")
@pytest.mark.parametrize(
    ("setting", "decision", "count"),
    [("", "allow", 1), ("off", "allow", 0), ("warn", "allow", 1), ("block", "block", 0)],
)
def test_setting_decides_about_a_file_of_another_agent(
    project: Project, tell: Teller, setting: str, decision: str, count: int
) -> None:
    """The default is a warning; the text names the agent and the file."""
    if setting:
        put(project, CONFIG, f'gates:\n  file_leases: "{setting}"\n')
    answer = edit(tell, "a2", path=str(project.root / "src/a.py"))
    assert (answer["decision"], len(answer["warnings"])) == (decision, count)
    text = answer.get("reason", "") + "".join(answer["warnings"])
    assert ("is at work and has edited" in text) == (setting != "off")


def test_faulty_config_blocks(project: Project, tell: Teller) -> None:
    """Where the settings cannot be read the strictest hold."""
    put(project, CONFIG, "gates:\n  file_leases: perhaps\n")
    assert edit(tell, "a2")["decision"] == "block"


def test_file_is_free_for_its_agent_and_after_its_end(project: Project, tell: Teller, clock: Clock) -> None:
    """The agent itself, the main session, another file, and everybody once the agent has ended or its edit is old."""
    put(project, CONFIG, "gates:\n  file_leases: block\n")
    assert edit(tell, "a1")["decision"] == "allow"
    assert edit(tell, "")["decision"] == "allow"
    assert edit(tell, "a2", path="src/b.py")["decision"] == "allow"
    clock.advance(31 * 60 * 1000)
    assert edit(tell, "a2")["decision"] == "allow"
    edit(tell, "a1", "post_tool_use")
    assert edit(tell, "a2")["decision"] == "block"
    tell("subagent_complete", session_id="s", agent_id="a1")
    assert edit(tell, "a2")["decision"] == "allow"


def test_clock_that_was_set_back_holds_no_file_for_ever(project: Project, tell: Teller, clock: Clock) -> None:
    """An edit with a time far in the future, from before the clock was set back, holds nothing."""
    put(project, CONFIG, "gates:\n  file_leases: block\n")
    clock.advance(3 * 3600 * 1000)
    edit(tell, "a1", "post_tool_use")
    assert edit(tell, "a2")["decision"] == "block"
    clock.advance(-2 * 3600 * 1000)
    assert edit(tell, "a2")["decision"] == "allow"


def test_reads_and_failed_edits_hold_nothing(project: Project, tell: Teller) -> None:
    """Only an edit that took place holds a file."""
    put(project, CONFIG, "gates:\n  file_leases: block\n")
    tell("post_tool_use", session_id="s", agent_id="a1", tool="Read", tool_input={"file_path": "src/b.py"})
    edit(tell, "a1", "post_tool_use", path="src/c.py", status="error")
    assert [edit(tell, "a2", path=path)["decision"] for path in ("src/b.py", "src/c.py")] == ["allow", "allow"]


def test_copies_in_worktrees_are_other_files(project: Project, tell: Teller) -> None:
    """Worktrees that share one log have different names for their copies of a file."""
    put(project, CONFIG, "gates:\n  file_leases: block\n")
    one = project.root / ".claude/worktrees/one"
    (one / ".nexus").mkdir(parents=True)
    (one / ".nexus/config.yml").write_text("gates:\n  file_leases: block\n")
    there = Teller(one, tell.now, harness_id="claude-code")
    there.workspace.state_root = str(project.root)
    assert edit(there, "a2")["decision"] == "allow"
    edit(there, "a1", "post_tool_use")
    assert edit(there, "a2")["decision"] == "block"
    assert '"file":".claude/worktrees/one/src/a.py"' in (project.state / "tool-log.jsonl").read_text().replace(" ", "")


def codex_edit(project: Project, clock: Clock, agent: str, event: str) -> dict[str, Any]:
    """Let an agent of Codex edit src/a.py with a patch."""
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch"
    tell = Teller(project.root, clock, harness_id="codex")
    tell("subagent_spawn", session_id="c", agent_id=agent, agent_name="engineer")
    fields = {"tool": "apply_patch", "tool_input": {"command": patch}}
    return tell(event, session_id="c", agent_id=agent, **fields)


@pytest.mark.requirement("gates.leases")
def test_agents_of_two_harnesses_see_the_edits_of_each_other(project: Project, tell: Teller, clock: Clock) -> None:
    """An edit by an agent of another harness counts while that agent runs, in both directions."""
    (warning,) = codex_edit(project, clock, "c1", "pre_tool_use")["warnings"]
    assert "engineer is at work in claude-code and has edited" in warning
    tell("subagent_complete", session_id="s", agent_id="a1")
    assert codex_edit(project, clock, "c1", "post_tool_use")["warnings"] == []
    (warning,) = edit(tell, "a2")["warnings"]
    assert "engineer is at work in codex and has edited" in warning
    Teller(project.root, clock, harness_id="codex")("subagent_complete", session_id="c", agent_id="c1")
    assert edit(tell, "a2")["warnings"] == []


def test_unusable_tracker_of_another_harness_is_passed_over(project: Project, tell: Teller) -> None:
    """A file or a link in the place of a folder, and a malformed tracker, hide no other agent."""
    (project.nexus / "state/aaa").write_text("x")
    (project.nexus / "state/bbb").symlink_to("/")
    project.put("state/ccc/agent-tracker.json", "{")
    (warning,) = edit(tell, "a2")["warnings"]
    assert "engineer is at work and has edited" in warning
