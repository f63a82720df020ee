"""Several sessions of one harness: each has its own agents, and what the tracker cannot hold stands beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from nexus_mcp.store import agents_extension, lock
from nexus_mcp.store.folder import Folder
from tests.cli.support import CHECKOUT
from tests.events import handle
from tests.lifecycle.support import Teller, put
from tests.support import Clock, Json, Project, tasks

OWN = ".nexus/state/claude-code"
TRACKER, BESIDE, OLD = f"{OWN}/agent-tracker.json", f"{OWN}/agents.extension.jsonl", f"{OWN}/agents.extension.old.jsonl"
HOUR_MS = 3_600_000
LINE = Draft202012Validator(json.loads((CHECKOUT / "schemas/lifecycle/agents-extension.schema.json").read_text()))
CONTRACT = {
    *("harness_id", "started_at", "agent_name", "agent_id", "last_resumed_at", "resume_count", "status"),
    *("stopped_at", "last_message", "files_touched"),
}


@pytest.fixture
def tell(project: Project, clock: Clock) -> Teller:
    put(project, ".nexus/state/tasks.json", tasks())
    return Teller(project.root, clock, "claude-code")


def spawn(tell: Teller, session: str, agent_id: str, name: str) -> dict[str, Any]:
    return tell("subagent_spawn", **_of(session), agent_id=agent_id, agent_name=name)


def edits(tell: Teller, session: str, agent_id: str, **more: Json) -> Json:
    """The decision about an edit by an agent."""
    return tell("pre_tool_use", **_of(session), agent_id=agent_id, tool="Edit", file="a.py", **more)["decision"]


def _of(session: str) -> dict[str, Json]:
    return {"session_id": session} if session else {}


def tracked(project: Project) -> list[tuple[str, str, str]]:
    """(id, name, status) of each agent in the tracker, whose entries have no field but those of the contract."""
    entries = json.loads((project.root / TRACKER).read_text())
    assert all(entry.keys() <= CONTRACT for entry in entries)
    return [(entry["agent_id"], entry.get("agent_name", ""), entry["status"]) for entry in entries]


def beside(project: Project) -> list[Json]:
    """The lines beside the tracker, each of which keeps its schema."""
    path = project.root / BESIDE
    lines = [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []
    for line in lines:
        LINE.validate(line)
    return lines


@contextmanager
def locked(project: Project) -> Iterator[None]:
    with Folder.root(str(project.state)) as state, lock.held(state):
        yield


@pytest.fixture
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "__defaults__", (None, 0.01))


@pytest.mark.requirement("agents.sessions", "pre_tool_use.capabilities")
def test_a_second_session_takes_no_agent_from_the_first(tell: Teller, project: Project) -> None:
    """The start and the end of a second session leave the agents of the first one, and what they may not do."""
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
    """A session that begins anew has no agents; those of other sessions, and of the anonymous one, stay."""
    for session in ("s1", "s2", ""):
        spawn(tell, session, f"of-{session}", "engineer")
    tell("session_start", session_id="s1", source=source)
    assert [name for name, _, _ in tracked(project)] == ["of-s2", "of-"]
    tell("session_start", source=source)
    assert [name for name, _, _ in tracked(project)] == ["of-s2"]


@pytest.mark.requirement("agents.sessions", "session_end.clears")
def test_the_tracker_goes_with_the_last_session(tell: Teller, project: Project) -> None:
    """The end of a session that is not the last leaves the tracker, were it empty."""
    tell("session_start", session_id="s1")
    tell("session_start", session_id="s2")
    spawn(tell, "s1", "a1", "engineer")
    assert tell("session_end", session_id="s1")["deleted"] == []
    assert tracked(project) == []
    assert tell("session_end", session_id="s2")["deleted"] == [TRACKER]
    assert not (project.root / BESIDE).exists()


@pytest.mark.requirement("agents.sessions")
def test_a_session_is_over_a_day_after_its_last_event(tell: Teller, project: Project, clock: Clock) -> None:
    """A session that never ends keeps its agents as long as it has events, and for a day more."""
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
def test_one_id_in_two_sessions(tell: Teller, project: Project) -> None:
    """The same agent_id in two sessions is two agents; who does not tell the session has the limits of both."""
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


@pytest.mark.requirement("pre_tool_use.unknown")
def test_an_unknown_agent(tell: Teller, project: Project) -> None:
    """An agent that nobody names may do what every agent may do, and the answer says so."""
    answer = tell("pre_tool_use", agent_id="x1", tool="Edit", file="a.py")
    assert (answer["decision"], answer["warnings"]) == ("deny", [])
    assert answer["reason"].startswith('Which agent "x1" is cannot be told: neither the tracker nor the event names it')
    assert 'architect, designer, postdoc and 4 more may not use "Edit"' in answer["reason"]
    answer = tell("pre_tool_use", agent_id="x1", tool="Bash")
    assert answer["decision"] == "allow"
    assert answer["warnings"] == [
        'Which agent "x1" is cannot be told: neither the tracker nor the event names it, so it may do what every agent '
        "may do."
    ]
    assert tell("pre_tool_use", agent_id="x1", tool="Read")["warnings"] == []
    assert edits(tell, "", "x1", agent_name="  ") == "deny"
    assert edits(tell, "", "x1", agent_name="Explore") == "allow"
    assert tell("pre_tool_use", tool="Edit", file="a.py")["decision"] == "allow"


@pytest.mark.requirement("pre_tool_use.unknown", "agent_spawn.given")
@pytest.mark.parametrize("name", ["Explore", "general-purpose", "Mein Agent"])
@pytest.mark.parametrize("session", ["s1", ""])
def test_a_name_that_the_catalog_does_not_have(tell: Teller, project: Project, name: str, session: str) -> None:
    """It counts as a name, also where the tracker has no place for it: the agent has no restrictions."""
    spawn(tell, session, "a1", name)
    assert edits(tell, session, "a1") == "allow"
    tell("subagent_complete", **_of(session), agent_id="a1")
    assert edits(tell, session, "a1") == "allow"
    text = tell("context_compact", **_of(session))["context"]
    assert f'"{name}", id "a1", completed' in text


@pytest.mark.requirement("pre_tool_use.unknown")
def test_an_agent_that_was_told_without_a_name(tell: Teller) -> None:
    """A spawn with a blank name leaves the agent unknown."""
    spawn(tell, "s1", "a1", " ")
    assert edits(tell, "s1", "a1") == "deny"


@pytest.mark.requirement("pre_tool_use.who")
def test_names_that_contradict_each_other(tell: Teller) -> None:
    """Where the tracker, a later spawn and the payload name an agent differently, the limits of all of them hold."""
    spawn(tell, "s1", "a1", "engineer")
    assert edits(tell, "s1", "a1") == "allow"
    assert edits(tell, "s1", "a1", agent_name="architect") == "deny"
    spawn(tell, "s1", "a1", "reviewer")
    assert edits(tell, "s1", "a1") == "deny"
    assert edits(tell, "s1", "a1", agent_name="engineer") == "deny"


@pytest.mark.requirement("pre_tool_use.capabilities")
def test_a_completed_agent_keeps_its_restrictions(tell: Teller) -> None:
    """What an agent may not do it may not do after its end either."""
    spawn(tell, "s1", "a1", "architect")
    tell("subagent_complete", session_id="s1", agent_id="a1")
    assert edits(tell, "s1", "a1") == "deny"


@pytest.mark.requirement("agents.extension")
@pytest.mark.usefixtures("_no_wait")
def test_events_that_cannot_get_the_lock(tell: Teller, project: Project) -> None:
    """They are recorded beside the tracker, count at once, and are in the tracker after the next event."""
    spawn(tell, "s1", "a1", "engineer")
    with locked(project):
        assert spawn(tell, "s1", "a2", "Explore")["resumed"] is False
        assert spawn(tell, "s2", "a1", "architect")["resumed"] is False
        assert spawn(tell, "s1", "a1", "engineer")["resumed"] is True
        assert tell("subagent_complete", session_id="s1", agent_id="a2", last_message="m" * 9000)["completed"] is True
        assert tell("agent_resume", session_id="s1", agent_id="nobody")["resumed"] is False
        assert [edits(tell, *who) for who in (("s1", "a1"), ("s1", "a2"), ("s2", "a1"))] == ["allow", "allow", "deny"]
        assert tracked(project) == [("a1", "engineer", "running")]
        assert '"Explore", id "a2", completed' in tell("context_compact", session_id="s1")["context"]
    kinds = [line["kind"] for line in beside(project)]
    assert kinds[-4:] == ["spawn", "spawn", "spawn", "complete"]
    tell("agent_resume", session_id="s2", agent_id="a1")
    assert tracked(project) == [("a1", "engineer", "running"), ("a2", "", "completed"), ("a1", "architect", "running")]
    entries = json.loads((project.root / TRACKER).read_text())
    assert [entry["resume_count"] for entry in entries] == [1, 0, 1]
    assert entries[1]["last_message"] == "m" * agents_extension.LONGEST_MESSAGE
    tell("agent_resume", session_id="s2", agent_id="a1")
    assert [entry["resume_count"] for entry in json.loads((project.root / TRACKER).read_text())] == [1, 0, 2]


@pytest.mark.requirement("agents.extension")
def test_lines_that_cannot_be_read(tell: Teller, project: Project) -> None:
    """They are passed over and kept aside; every other line counts."""
    spawn(tell, "s1", "a1", "Explore")
    path = project.root / BESIDE
    spoilt = b'{"kind": "spawn", "agent_id"\n{"kind": "fold", "agents": 5}\n\xff\x00\n[]\n{"kind": "later", "x": 1}\n'
    path.write_bytes(spoilt + path.read_bytes() + b'{"kind": "spawn", "id": "1"')
    assert edits(tell, "s1", "a1") == "allow"
    spawn(tell, "s1", "a2", "Plan")
    assert [edits(tell, "s1", one) for one in ("a1", "a2")] == ["allow", "allow"]
    assert (project.root / f"{OWN}/conflict-agents.extension.jsonl").read_bytes().startswith(spoilt)
    assert [line["kind"] for line in beside(project)] == ["fold"]


@pytest.mark.requirement("agents.extension", "links.refused")
def test_a_link_beside_the_tracker(tell: Teller, project: Project) -> None:
    """It is not followed: no agent is recorded, and each is unknown that the payload does not name."""
    spawn(tell, "s1", "a1", "engineer")
    path, target = project.root / BESIDE, project.root / "target"
    path.rename(target)
    before = target.read_bytes()
    path.symlink_to(target)
    answer = tell("pre_tool_use", session_id="s1", agent_id="a1", tool="Edit", file="a.py")
    assert (answer["decision"], len(answer["warnings"])) == ("deny", 1)
    assert f"{BESIDE} is a symbolic link where a file belongs" in answer["warnings"][0]
    assert edits(tell, "s1", "a1", agent_name="engineer") == "allow"
    assert target.read_bytes() == before


@pytest.mark.requirement("agents.extension")
def test_the_file_stays_small(tell: Teller, project: Project) -> None:
    """However many events there are, what stands beside the tracker is bounded by what it has to hold."""
    tell("session_start", session_id="s1")
    for number in range(300):
        spawn(tell, "s1", f"a{number % 5}", "Explore")
    assert (project.root / BESIDE).stat().st_size < 2 * agents_extension.TIDY_FROM
    assert not (project.root / OLD).exists()


@pytest.mark.requirement("agents.sessions", "session_start.resets")
def test_a_broken_tracker_of_two_sessions(tell: Teller, project: Project) -> None:
    """When a session starts, a broken tracker is kept aside, and the good entries of other sessions stay."""
    spawn(tell, "s1", "a1", "architect")
    entries = json.loads((project.root / TRACKER).read_text())
    put(project, TRACKER, [*entries, {"agent_id": 5}])
    tell("session_start", session_id="s2")
    assert tracked(project) == [("a1", "architect", "running")]
    assert edits(tell, "s1", "a1") == "deny"
    assert (project.root / f"{OWN}/conflict-agent-tracker.json").exists()


SPAWNING = """
import sys
from tests.events import handle
from nexus_mcp.workspace import Workspace
for number in range(int(sys.argv[3])):
    params = {"agent_name": "Explore", "agent_id": f"{sys.argv[2]}-{number}", "session_id": sys.argv[2]}
    handle("agent_spawn", params, Workspace(sys.argv[1], "claude-code"), wait=0.0)
"""


@pytest.mark.requirement("agents.extension", "agents.parallel")
def test_200_spawns_at_once_are_all_recorded(tell: Teller, project: Project) -> None:
    """Also when nobody waits for the lock: each agent is known, and in the tracker after the next event."""
    command = [sys.executable, "-c", SPAWNING, str(project.root)]
    running = [subprocess.Popen([*command, f"s{who}", "50"]) for who in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    wanted = [(f"s{who}", f"s{who}-{number}") for who in range(4) for number in range(50)]
    assert [edits(tell, *who) for who in wanted] == ["allow"] * 200
    spawn(tell, "s0", "last", "engineer")
    assert sorted(name for name, _, _ in tracked(project)) == sorted(["last", *(name for _, name in wanted)])
    assert all(entry["resume_count"] == 0 for entry in json.loads((project.root / TRACKER).read_text()))
