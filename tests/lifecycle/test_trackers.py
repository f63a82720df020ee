"""Unusable trackers and links are refused with one text, and stay unchanged."""

from __future__ import annotations

import json

import pytest

from nexus_mcp.errors import NexusError, PathRefused, StateError
from tests.lifecycle.support import ACCESS, SPAWN, TRACKER, UNMAPPED, Teller, put
from tests.support import Json, Project, without_lock

CALLS = {
    "agent_spawn": SPAWN,
    "agent_resume": {"agent_id": "a1"},
    "agent_complete": {"agent_id": "a1", "last_message": "x"},
}
GOOD = {"harness_id": "nexus-mcp", "started_at": "2026-01-02T03:04:05.000Z", "agent_id": "a1"}
BROKEN: dict[str, tuple[Json, str]] = {
    "empty": ("", "is empty"),
    "cut": ('[{"harness_id": "a"', "is not JSON"),
    "object": ({}, "is not a valid agent-tracker file: / must be of type array"),
    "no id": ([GOOD, {"started_at": "x"}], "/1/harness_id is required"),
    "no time": ([{"harness_id": "a"}], "/0/started_at is required"),
    "text": (["a"], "/0 must be of type object"),
    "status": ([{**GOOD, "status": "asleep"}], "/0/status must be one of running, completed"),
    "status type": ([{**GOOD, "status": None}], "/0/status must be of type string"),
    "twice": ('[{"harness_id": "a", "harness_id": "a", "started_at": "b"}]', "the same key twice"),
    "latin": (b'[{"harness_id": "\xe9"}]', "is not UTF-8"),
    "markers": ("<<<<<<< ours\n[]\n=======\n[]\n>>>>>>> theirs\n", "has git conflict markers"),
}


@pytest.mark.requirement("agents.broken", "files.broken-kept", "files.broken-quiet")
@pytest.mark.parametrize("event", ["agent_resume", "agent_complete"])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_tracker_is_refused_without_a_change(tell: Teller, project: Project, name: str, event: str) -> None:
    """A tracker that is none is refused with its name and place, and no byte of the project changes."""
    content, problem = BROKEN[name]
    put(project, TRACKER, content)
    before = without_lock(project.snapshot())
    with pytest.raises(StateError) as caught:
        tell.send(event, CALLS[event])
    assert str(caught.value).startswith(TRACKER)
    assert problem in str(caught.value)
    assert "asleep" not in str(caught.value)
    assert without_lock(project.snapshot()) == before


@pytest.mark.requirement("agent_spawn.given", "agents.broken", "files.broken-kept")
@pytest.mark.parametrize("name", BROKEN)
def test_unrecordable_agent_still_gets_its_context(tell: Teller, project: Project, name: str) -> None:
    """An agent that cannot be recorded still gets its context, with the reason; no file changes."""
    project.put("rules/css.md", "<!-- tags: frontend -->\n")
    expected = tell("agent_spawn", agent_name="reviewer", agent_id="r1", harness_id="claude-code")
    content, problem = BROKEN[name]
    put(project, TRACKER.replace("nexus-mcp", "claude-code"), content)
    before = without_lock(project.snapshot())
    answer = tell("agent_spawn", agent_name="reviewer", agent_id="r1", harness_id="claude-code")
    (warning,) = answer.pop("warnings")
    assert answer == {name: value for name, value in expected.items() if name != "warnings"}
    assert warning.startswith("The agent was not recorded: ")
    assert problem in warning
    assert without_lock(project.snapshot()) == before


@pytest.mark.requirement("agents.broken", "pre_tool_use.capabilities")
def test_valid_entries_of_a_spoilt_tracker_still_restrict(tell: Teller, project: Project) -> None:
    """In a tracker with one malformed entry the other entries still name their agents, so their restrictions hold."""
    good = {**GOOD, "harness_id": "claude-code", "agent_name": "reviewer"}
    place = TRACKER.replace("nexus-mcp", "claude-code")
    put(project, place, [good, {"agent_id": "a2", "agent_name": "reviewer"}])
    fault = f"{place} is not a valid agent-tracker file: /1/harness_id is required; /1/started_at is required"
    for agent_id, decision, head in (
        ("a1", "deny", "The tracker is incomplete"),
        ("a2", "deny", "The tracker entry of the agent could not be read"),
    ):
        answer = tell(
            "pre_tool_use", harness_id="claude-code", tool="Edit", agent_id=agent_id, file=".nexus/rules/x.md"
        )
        assert (answer["decision"], answer["warnings"][0].startswith(f"{head}: {fault}")) == (decision, True)


@pytest.mark.requirement("session_end.aside", "files.broken-kept")
@pytest.mark.parametrize("name", BROKEN)
def test_session_end_keeps_a_broken_tracker_under_another_name(tell: Teller, project: Project, name: str) -> None:
    """The end of a session keeps a broken tracker under another name, and the next session begins without agents."""
    for number in ("", ".2"):
        before = put(project, TRACKER, BROKEN[name][0])
        aside = TRACKER.replace("agent-tracker", f"conflict-agent-tracker{number}")
        answer = tell("session_end")
        assert answer["deleted"] == []
        warning = f"The record of this session's agents could not be read, and is kept as {aside}. Check its content."
        assert answer["warnings"] == [warning]
        assert not (project.root / TRACKER).exists()
        assert (project.root / aside).read_bytes() == before
    assert tell("agent_spawn", **SPAWN)["warnings"] == [UNMAPPED]


@pytest.mark.requirement("links.refused", "tree.outside")
@pytest.mark.parametrize("event", [*CALLS, "session_end"])
@pytest.mark.parametrize("place", [".nexus", ".nexus/state", ".nexus/state/nexus-mcp", TRACKER, ACCESS])
def test_event_refuses_a_link_on_the_way(tell: Teller, project: Project, event: str, place: str) -> None:
    """A link on the way to a file of the event is refused, and its target stays."""
    outside = project.root.parent / "outside"
    if place in (TRACKER, ACCESS):
        outside.write_text("[]")
    else:
        outside.mkdir()
    link = project.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    before = without_lock(project.snapshot())
    if place == ACCESS and event != "session_end":
        assert tell.send(event, CALLS[event])["event"] == event
        assert project.snapshot()[ACCESS] == before[ACCESS]
    else:
        with pytest.raises(PathRefused) as caught:
            tell.send(event, CALLS.get(event, {}))
        assert str(caught.value).startswith(f"{place} is a symbolic link where ")
        assert without_lock(project.snapshot()) == before
    assert outside.read_text() == "[]" if outside.is_file() else list(outside.iterdir()) == []


def test_largest_resume_count_stays(tell: Teller, project: Project) -> None:
    """A resume count of as many nines as can be read stays: one more could not be read back."""
    before = put(
        project, TRACKER, f'[{{"harness_id": "a", "started_at": "b", "agent_id": "a1", "resume_count": {"9" * 4300}}}]'
    )
    with pytest.raises(StateError, match="more digits than can be read back"):
        tell("agent_resume", agent_id="a1")
    assert (project.root / TRACKER).read_bytes() == before


@pytest.mark.requirement("storage.pending")
@pytest.mark.parametrize("event", [*CALLS, "session_end"])
def test_uncompletable_journal_stops_changes_of_the_tracker(tell: Teller, project: Project, event: str) -> None:
    """While a recorded change waits that we cannot complete, an event changes nothing."""
    put(project, ".nexus/state/txn.json", {"version": 99})
    before = without_lock(project.snapshot())
    with pytest.raises(NexusError, match=r"txn\.json"):
        tell.send(event, CALLS.get(event, {}))
    assert without_lock(project.snapshot()) == before


@pytest.mark.requirement("files.broken-kept")
def test_first_and_last_unreadable_trackers_are_kept(tell: Teller, project: Project) -> None:
    """Of trackers that cannot be read the first few are kept, and the last."""
    for number in range(12):
        put(project, TRACKER, f"spoilt {number}")
        tell("session_start")
    kept = {path.name: path.read_text() for path in (project.root / TRACKER).parent.glob("conflict-*")}
    first = {f"conflict-agent-tracker.{number + 1}.json": f"spoilt {number}" for number in range(1, 7)}
    wanted = {"conflict-agent-tracker.json": "spoilt 0", **first, "conflict-agent-tracker.8.json": "spoilt 11"}
    assert kept == wanted


@pytest.mark.parametrize("agent_id", [[], ["a"], {}, {"a": 1}, 5, None, True])
@pytest.mark.parametrize("event", list(CALLS))
def test_an_agent_whose_id_is_no_text_hinders_no_other(
    tell: Teller, project: Project, event: str, agent_id: Json
) -> None:
    """Another program may write any value as an id: events of other agents are recorded, and the entry stays."""
    put(project, TRACKER, [{**GOOD, "agent_id": agent_id}, GOOD])
    assert "Internal error" not in str(tell(event, **CALLS[event]))
    tracker = json.loads((project.root / TRACKER).read_text())
    assert tracker[0] == {**GOOD, "agent_id": agent_id}
    assert len(tracker) == (3 if event == "agent_spawn" and CALLS[event]["agent_id"] != GOOD["agent_id"] else 2)
