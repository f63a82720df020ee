"""Fresh or resume: every row of the rules (docs/resume.md)."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.catalog import resume
from nexus_mcp.catalog.load import load
from tests.catalog.resume_rows import ARCHITECT, ENGINEER, FRESH, RESUME, ROWS, TESTER, A, B, entry
from tests.support import stamp, task


def decided(
    owner: str | None, entries: list[dict[str, Any]], text: str = f"Mend {A}", *, mechanism: bool = True, **more: Any
) -> tuple[str, str | None, str]:
    """(mode, agent id, reason) for a task with this context."""
    agents = load(None).agents
    given = task(1, context=text, **({} if owner is None else {"owner": owner}), **more)
    found = resume.decide(given, entries, agents.get(owner or ""), mechanism=mechanism, readers=(TESTER,))
    assert found["reread"] == [] or found["mode"] == "resume"
    return found["mode"], found.get("agent_id"), found["reason"]


@pytest.mark.parametrize(("row", "owner", "policy", "entries", "wanted"), ROWS, ids=[row[0] for row in ROWS])
def test_rules_choose_fresh_or_resume(
    row: str, owner: str, policy: str | None, entries: list[dict[str, Any]], wanted: tuple[str, str | None, str]
) -> None:
    """Contract §5, resume tiers and owner_reuse_policy."""
    more: dict[str, Any] = {} if policy is None else {"owner_reuse_policy": policy}
    assert decided(owner, entries, **more) == wanted


@pytest.mark.parametrize("policy", [None, "resume", "resume_if_same_artifact", "fresh"])
@pytest.mark.parametrize("owner", [ENGINEER, ARCHITECT, TESTER])
def test_harness_without_resume_starts_fresh(owner: str, policy: str | None) -> None:
    """Contract §5: no resume mechanism, fresh."""
    more: dict[str, Any] = {} if policy is None else {"owner_reuse_policy": policy}
    mode, agent_id, _ = decided(owner, [entry("x1", owner, A)], mechanism=False, **more)
    assert (mode, agent_id) == (FRESH, None)


@pytest.mark.parametrize("policy", [None, "resume", "resume_if_same_artifact", "fresh"])
@pytest.mark.parametrize("owner", [ENGINEER, ARCHITECT, TESTER])
def test_owner_without_a_recorded_id_starts_fresh(owner: str, policy: str | None) -> None:
    """Contract §5: no recorded id, fresh; an agent of the tracker without an id cannot be called."""
    more: dict[str, Any] = {} if policy is None else {"owner_reuse_policy": policy}
    nameless = entry("x1", owner, A)
    del nameless["agent_id"]
    assert decided(owner, [nameless], **more)[:2] == (FRESH, None)


@pytest.mark.parametrize(
    ("policy", "entries", "wanted"),
    [
        (None, [entry("a1", ARCHITECT), entry("a2", ARCHITECT)], (RESUME, "a1", "its tier is persistent")),
        (None, [entry("a2", ARCHITECT)], (RESUME, "a2", "its tier is persistent")),
        (None, [], (FRESH, None, "a1 did not run in this session")),
        (None, [entry("a1", "designer")], (FRESH, None, "a1 is an agent of another owner")),
        ("resume", [], (RESUME, "a1", "the task asks for resume")),
    ],
)
def test_owner_agent_id_comes_before_the_newest_agent(
    policy: str | None, entries: list[dict[str, Any]], wanted: tuple[str, str | None, str]
) -> None:
    """owner_agent_id wins over the newest agent of the owner's name; an agent unknown to the session counts only if the
    task names it.
    """
    more: dict[str, Any] = {} if policy is None else {"owner_reuse_policy": policy}
    assert decided(ARCHITECT, entries, owner_agent_id="a1", **more) == wanted


def test_the_files_are_read_again_first() -> None:
    """Contract §5, bounded: the agent reads the files of the task again before it continues, however their paths are
    spelled.
    """
    given = task(1, context="Mend ./src/a.py:12 and /p/src/b.py.", owner=ENGINEER)
    entries = [entry("e1", ENGINEER, "/p/src/a.py", "src/b.py", "src/c.py")]
    found = resume.decide(given, entries, load(None).agent(ENGINEER), mechanism=True, root="/p")
    assert found["reread"] == [A, B]
    assert found["agent_id"] == "e1"


@pytest.mark.parametrize(
    ("owner", "reason"), [(None, "the task has no owner"), ("bob", "its owner is no agent of the catalog")]
)
def test_owner_without_catalog_entry_starts_fresh(owner: str | None, reason: str) -> None:
    """Nothing is known of how long it is kept."""
    assert decided(owner, [entry("b1", "bob", A)]) == (FRESH, None, reason)


def test_task_without_named_files_starts_fresh() -> None:
    """A task that names no files cannot match the files of an agent."""
    found = decided(ENGINEER, [entry("e1", ENGINEER, A)], "Mend it")
    assert found == (FRESH, None, "the task names no files, so they cannot be the same")


@pytest.mark.parametrize(
    "broken",
    [
        {"agent_id": ["e1"]},
        {"agent_name": {"x": 1}},
        {"files_touched": "src/a.py"},
        {"files_touched": [1, None]},
    ],
)
def test_invalid_tracker_fields_count_as_absent(broken: dict[str, Any]) -> None:
    """A field that is no text counts as absent."""
    assert decided(ENGINEER, [{**entry("e1", ENGINEER, A), **broken}])[:2] == (FRESH, None)


def test_incomparable_times_count_as_later() -> None:
    """Another harness's spelling of a time: the edit may have been later."""
    other = {**entry("w1", "writer", A), "stopped_at": "2020-01-01 00:00"}
    assert decided(ENGINEER, [entry("e1", ENGINEER, A), other])[0] == FRESH


@pytest.mark.parametrize(
    ("edit", "who"),
    [
        (("w1", A, stamp(2000)), "w1"),
        (("", A, stamp(2000)), "the main session"),
        (("t1", "/p/src/a.py", stamp(2000)), "t1"),
        (("w1", f"/elsewhere/{A}", stamp(2000)), "w1"),
        (("w1", A, stamp(1000)), "w1"),
        (("w1", A, "2020-01-01 00:00"), "w1"),
        (("r1", A, stamp(500)), "r1"),
        (("w1", A, stamp(999)), ""),
        (("", A, stamp(999)), ""),
        (("e1", A, stamp(2000)), ""),
        (("w1", B, stamp(2000)), ""),
    ],
)
def test_later_edits_in_the_tool_log_prevent_a_resume(edit: tuple[str, str, str], who: str) -> None:
    """Contract §5, bounded: an edit since, by another agent or the main one; of one that still runs, at any time."""
    entries = [entry("e1", ENGINEER, A, end=1000), entry("r1", "writer", end=None), entry("t1", TESTER, end=2500)]
    given = task(1, context=f"Mend {A}", owner=ENGINEER)
    found = resume.decide(
        given, entries, load(None).agent(ENGINEER), mechanism=True, root="/p", readers=(TESTER,), edits=[edit]
    )
    same = "its tier is bounded, the files are the same, and no other agent has edited them since"
    wanted = (FRESH, f"{who} may have edited {A} since e1 did") if who else (RESUME, same)
    assert (found["mode"], found["reason"]) == wanted


@pytest.mark.parametrize(("resumed", "mode"), [(900, RESUME), (2000, FRESH), (None, RESUME)])
def test_agent_resumed_since_prevents_a_resume(resumed: int | None, mode: str) -> None:
    """Contract §5, bounded: after another resume of an agent the tracker no longer has the files that it touched
    before.
    """
    other = entry("w1", "writer", B, end=3000)
    other |= {} if resumed is None else {"last_resumed_at": stamp(resumed)}
    found = decided(ENGINEER, [entry("e1", ENGINEER, A, end=1000), other])
    assert found[0] == mode
    assert (found[2] == f"w1 may have edited {A} since e1 did") is (mode == FRESH)


def test_edit_before_a_resume_counts_for_the_run_before() -> None:
    """Contract §5, bounded: one that is resumed, and runs, touched the files in the run before."""
    again = {"last_resumed_at": stamp(3000), "status": "running"}
    resumed = {**entry("e1", ENGINEER, A, end=1000), **again}
    assert decided(ENGINEER, [resumed, entry("w1", "writer", A, end=900)])[0] == RESUME
    assert decided(ENGINEER, [resumed, entry("w1", "writer", A, end=2000)])[0] == FRESH


@pytest.mark.parametrize("policy", [None, "resume"])
def test_resumed_agent_reads_again_files_that_others_edited(policy: str | None) -> None:
    """The agent is always resumed; it gets the list of its files, and the task's, that another agent has edited
    since.
    """
    entries = [entry("a1", ARCHITECT, B), entry("e1", ENGINEER, B, end=2000)]
    given = {**task(1, context=f"Mend {A}", owner=ARCHITECT), **({"owner_reuse_policy": policy} if policy else {})}
    agent = load(None).agents[ARCHITECT]
    found = resume.decide(given, entries, agent, mechanism=True)
    assert (found["mode"], found["agent_id"], found["reread"]) == (RESUME, "a1", [B])
    log = [("main", A, stamp(3000)), ("", A, stamp(500))]
    assert resume.decide(given, entries, agent, mechanism=True, edits=log)["reread"] == [A, B]
    assert resume.decide(given, entries[:1], agent, mechanism=True)["reread"] == []
    assert resume.decide(given, entries, agent, mechanism=True, readers=(ENGINEER,))["reread"] == []


def test_unrecorded_agent_reads_all_files_again() -> None:
    """If the tracker lacks the agent id in the task, the edits of other agents are unknown, so all files are read
    again.
    """
    given = task(1, context=f"Mend {A}", owner=ARCHITECT, owner_agent_id="old", owner_reuse_policy="resume")
    found = resume.decide(given, [], load(None).agents[ARCHITECT], mechanism=True)
    assert (found["mode"], found["agent_id"], found["reread"]) == (RESUME, "old", [A])
