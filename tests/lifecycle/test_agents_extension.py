"""agents.extension.jsonl has the events that could not get the lock; unreadable lines in it stay."""

from __future__ import annotations

import json
import subprocess
import sys
from time import process_time
from typing import Any

import pytest

from nexus_mcp.store import agents_extension, lock
from nexus_mcp.store.agents import EVENT_WAIT_S
from nexus_mcp.store.folder import Folder
from tests.events import handle
from tests.lifecycle.sessions import BESIDE, OLD, OWN, TRACKER, beside, edits, locked, spawn, tracked
from tests.lifecycle.support import Teller, put
from tests.support import Clock, Project, tasks


@pytest.fixture
def tell(project: Project, clock: Clock) -> Teller:
    put(project, ".nexus/state/tasks.json", tasks())
    return Teller(project.root, clock, "claude-code")


@pytest.fixture
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "__defaults__", (None, 0.01))


@pytest.mark.requirement("agents.extension")
@pytest.mark.usefixtures("_no_wait")
def test_events_without_the_lock_count_at_once(tell: Teller, project: Project) -> None:
    """Events without the lock are recorded beside the tracker, count at once, and are in the tracker after the next
    event.
    """
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


@pytest.mark.requirement("agents.extension", "events.deadline")
def test_an_agent_waits_for_the_lock_for_half_a_second(
    tell: Teller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that its event is recorded before the hook has to answer; other events have their whole time."""
    waits: list[float] = []
    real = lock.acquire

    def noted(state: Folder, wait: float, *more: Any) -> Any:
        waits.append(wait)
        return real(state, wait, *more)

    monkeypatch.setattr("nexus_mcp.store.lock.acquire", noted)
    spawn(tell, "s1", "a1", "engineer")
    tell("session_end", session_id="s1")
    assert waits[0] == EVENT_WAIT_S
    assert waits[-1] > EVENT_WAIT_S


@pytest.mark.requirement("agents.extension")
@pytest.mark.parametrize("is_one_agent", [False, True])
def test_ten_thousand_waiting_events_are_folded_in_linear_time(
    project: Project, clock: Clock, *, is_one_agent: bool
) -> None:
    """The next event folds them into the tracker, in time linear in them: a hook has half a second for all of it."""
    few = _fold_time(Project(project.root / "few"), clock, 1_000, is_one_agent=is_one_agent)
    many = _fold_time(Project(project.root / "many"), clock, 10_000, is_one_agent=is_one_agent)
    assert many < 30 * few


def _fold_time(project: Project, clock: Clock, count: int, *, is_one_agent: bool) -> float:
    """Seconds of the processor that an event takes after `count` events that wait; quadratic would be 100 times."""
    events = [
        {
            "kind": "spawn",
            "id": f"{number:016x}",
            "agent_id": "a" if is_one_agent else f"a{number}",
            "session_id": f"s{number}",
            "agent_name": "Explore",
            "at": f"2026-07-28T08:{number // 1000:02d}:00.{number % 1000:03d}Z",
        }
        for number in range(count)
    ]
    put(project, BESIDE, "".join(json.dumps(event) + "\n" for event in events).encode())
    tell = Teller(project.root, clock, "claude-code")
    began = process_time()
    spawn(tell, "new", "b", "plan")
    took = process_time() - began
    assert len(tracked(project)) == count + 1
    assert [line["kind"] for line in beside(project)] == ["fold"]
    return took


@pytest.mark.requirement("agents.extension")
def test_unreadable_lines_are_kept_aside(tell: Teller, project: Project) -> None:
    """Unreadable lines are skipped and kept in another file; every other line counts."""
    spawn(tell, "s1", "a1", "Explore")
    path = project.root / BESIDE
    spoilt = b'{"kind": "spawn", "agent_id"\n{"kind": "fold", "agents": 5}\n\xff\x00\n[]\n{"kind": "later", "x": 1}\n'
    path.write_bytes(spoilt + path.read_bytes() + b'{"kind": "spawn", "id": "1"')
    assert edits(tell, "s1", "a1") == "allow"
    spawn(tell, "s1", "a2", "Plan")
    assert [edits(tell, "s1", one) for one in ("a1", "a2")] == ["allow", "allow"]
    assert (project.root / f"{OWN}/conflict-agents.extension.jsonl").read_bytes().startswith(spoilt)
    assert [line["kind"] for line in beside(project)] == ["fold"]


@pytest.mark.requirement("agents.extension")
def test_end_names_the_removed_tracker_beside_an_unreadable_file(tell: Teller, project: Project) -> None:
    """The end of the last session reports both: the tracker as deleted, and the new name of the unreadable file."""
    tell("session_start", source="startup", session_id="s1")
    with open(project.root / BESIDE, "wb") as file:
        file.truncate(agents_extension.READ_LIMIT + 1)
    answer = tell("session_end", session_id="s1")
    assert answer["deleted"] == [TRACKER]
    assert not (project.root / TRACKER).exists()
    assert f"{OWN}/conflict-agents.extension.jsonl" in answer["warnings"][0]


@pytest.mark.requirement("agents.extension", "links.refused")
def test_linked_extension_file_is_not_followed(tell: Teller, project: Project) -> None:
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
    """For any number of events the size of agents.extension.jsonl is bounded by the data that it has to hold."""
    tell("session_start", session_id="s1")
    for number in range(300):
        spawn(tell, "s1", f"a{number % 5}", "Explore")
    assert (project.root / BESIDE).stat().st_size < 2 * agents_extension.TIDY_FROM
    assert not (project.root / OLD).exists()


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
    """Also when no hook waits for the lock: each agent is known, and in the tracker after the next event."""
    command = [sys.executable, "-c", SPAWNING, str(project.root)]
    running = [subprocess.Popen([*command, f"s{who}", "50"]) for who in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    wanted = [(f"s{who}", f"s{who}-{number}") for who in range(4) for number in range(50)]
    assert [edits(tell, *who) for who in wanted] == ["allow"] * 200
    spawn(tell, "s0", "last", "engineer")
    assert sorted(name for name, _, _ in tracked(project)) == sorted(["last", *(name for _, name in wanted)])
    assert all(entry["resume_count"] == 0 for entry in json.loads((project.root / TRACKER).read_text()))
