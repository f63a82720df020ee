"""Several sessions of one harness: each has its own agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nexus_mcp.state.agents import Records
from tests.lifecycle.sessions import BESIDE, HOUR_MS, OWN, TRACKER, beside, edits, spawn, tracked
from tests.lifecycle.support import Teller, put
from tests.support import Clock, Project, tasks


@pytest.fixture
def tell(project: Project, clock: Clock) -> Teller:
    put(project, ".nexus/state/tasks.json", tasks())
    return Teller(project.root, clock, "claude-code")


@pytest.mark.requirement("agents.sessions", "pre_tool_use.capabilities")
def test_a_second_session_takes_no_agent_from_the_first(tell: Teller, project: Project) -> None:
    """The start and the end of a second session keep the agents of the first one, and their restrictions."""
    tell("session_start", session_id="s1", source="startup")
    spawn(tell, "s1", "a1", "architect")
    for event in ("session_start", "session_end"):
        tell(event, session_id="s2")
        assert tracked(project) == [("a1", "architect", "running")]
        assert edits(tell, "s1", "a1") == "deny"
    assert tell("session_end", session_id="s1")["deleted"] == [TRACKER]
    assert not (project.root / BESIDE).exists()
    assert edits(tell, "s1", "a1") == "deny"


@pytest.mark.requirement("agents.sessions", "session_start.resets")
@pytest.mark.parametrize("source", ["startup", "clear", None])
def test_a_start_empties_its_own_session(tell: Teller, project: Project, source: str | None) -> None:
    """A new session has no agents; those of other sessions, and of the anonymous one, stay."""
    for session in ("s1", "s2", ""):
        spawn(tell, session, f"of-{session}", "engineer")
    tell("session_start", session_id="s1", source=source)
    assert [name for name, _, _ in tracked(project)] == ["of-s2", "of-"]
    tell("session_start", source=source)
    assert [name for name, _, _ in tracked(project)] == ["of-s2"]


@pytest.mark.requirement("agents.sessions", "session_end.clears")
def test_last_session_removes_the_tracker(tell: Teller, project: Project) -> None:
    """The end of a session that is not the last one keeps the tracker, even an empty one."""
    tell("session_start", session_id="s1")
    tell("session_start", session_id="s2")
    spawn(tell, "s1", "a1", "engineer")
    assert tell("session_end", session_id="s1")["deleted"] == []
    assert tracked(project) == []
    assert tell("session_end", session_id="s2")["deleted"] == [TRACKER]
    assert not (project.root / BESIDE).exists()


@pytest.mark.requirement("agents.sessions")
def test_a_session_is_over_a_day_after_its_last_event(tell: Teller, project: Project, clock: Clock) -> None:
    """A session without an end keeps its agents until a day after its last event."""
    spawn(tell, "s1", "a1", "engineer")
    for event, params in (("pre_tool_use", {"tool": "Bash"}), ("post_tool_use", {"tool": "Bash"})):
        clock.advance(20 * HOUR_MS)
        tell(event, session_id="s1", **params)
    clock.advance(20 * HOUR_MS)
    tell("session_start", session_id="s2")
    assert [name for name, _, _ in tracked(project)] == ["a1"]
    clock.advance(6 * HOUR_MS)
    tell("session_start", session_id="s2")
    assert tracked(project) == []
    assert tell("session_end", session_id="s2")["deleted"] == [TRACKER]


@pytest.mark.requirement("agents.sessions")
def test_an_event_is_noted_once_an_hour(tell: Teller, project: Project, clock: Clock) -> None:
    """A use of a tool writes nothing, unless the last known event of the session is an hour old."""
    spawn(tell, "s1", "a1", "engineer")
    before = beside(project)
    for _ in range(3):
        edits(tell, "s1", "a1")
        edits(tell, "s3", "a1")
    assert beside(project) == before
    clock.advance(HOUR_MS)
    for _ in range(3):
        edits(tell, "s1", "a1")
        edits(tell, "s3", "a1")
    assert [line["kind"] for line in beside(project)[len(before) :]] == ["seen"]


@pytest.mark.requirement("agents.sessions", "pre_tool_use.who")
def test_one_id_in_two_sessions_means_two_agents(tell: Teller, project: Project) -> None:
    """The same agent_id in two sessions is two agents; an event without a session gets the restrictions of both."""
    spawn(tell, "s1", "a1", "engineer")
    spawn(tell, "s2", "a1", "architect")
    assert tracked(project) == [("a1", "engineer", "running"), ("a1", "architect", "running")]
    assert [edits(tell, session, "a1") for session in ("s1", "s2", "s3", "")] == ["allow", "deny", "deny", "deny"]
    tell("subagent_complete", session_id="s2", agent_id="a1")
    assert tracked(project) == [("a1", "engineer", "running"), ("a1", "architect", "completed")]
    assert spawn(tell, "s1", "a1", "engineer")["resumed"] is True
    assert tell("agent_resume", session_id="s3", agent_id="a1")["resumed"] is False
    assert len(tracked(project)) == 2
    tell("session_end", session_id="s1")
    assert tracked(project) == [("a1", "architect", "completed")]
    assert edits(tell, "s2", "a1") == "deny"


@pytest.mark.requirement("agents.sessions", "session_start.resets")
def test_broken_tracker_keeps_the_agents_of_other_sessions(tell: Teller, project: Project) -> None:
    """At the start of a session a broken tracker is renamed, and the valid entries of other sessions stay."""
    spawn(tell, "s1", "a1", "architect")
    entries = json.loads((project.root / TRACKER).read_text())
    put(project, TRACKER, [*entries, {"agent_id": 5}])
    tell("session_start", session_id="s2")
    assert tracked(project) == [("a1", "architect", "running")]
    assert edits(tell, "s1", "a1") == "deny"
    assert (project.root / f"{OWN}/conflict-agent-tracker.json").exists()


@pytest.mark.requirement("agents.sessions")
def test_thousands_of_sessions_are_checked_in_one_pass() -> None:
    """Which of them are over is found by looking at each agent once."""
    looks = [0]

    class Counted(Records):
        def session_of(self, entry: dict[str, Any]) -> str:
            looks[0] += 1
            return super().session_of(entry)

    entries = [{"agent_id": f"a{number}", "started_at": f"2026-01-0{number % 9}T00:00:00Z"} for number in range(3000)]
    extras = {(f"a{n}", f"2026-01-0{n % 9}T00:00:00Z"): {"session_id": f"s{n}"} for n in range(3000)}
    seen = {f"s{number}": "2026-01-01T00:00:00Z" for number in range(3000)}
    ended = Counted(entries, extras, seen).sessions_outside("2026-01-03T00:00:00Z", "2026-01-07T12:00:00Z")
    assert looks[0] == 3000
    assert ended == {f"s{number}" for number in range(3000) if number % 9 in (0, 1, 2, 8)}
