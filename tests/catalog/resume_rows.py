"""The rules for fresh or resume as one table (docs/resume.md)."""

from __future__ import annotations

from typing import Any

from tests.support import stamp

ENGINEER, ARCHITECT, TESTER = "engineer", "architect", "tester"
A, B = "src/a.py", "src/b.py"


def entry(agent_id: str, name: str = ENGINEER, *files: str, start: int = 0, end: int | None = 1000) -> dict[str, Any]:
    """An agent of the tracker that ran from `start` to `end`, in milliseconds; None: it still runs."""
    ended = {"status": "running"} if end is None else {"status": "completed", "stopped_at": stamp(end)}
    head = {"harness_id": "claude-code", "started_at": stamp(start), "agent_name": name, "agent_id": agent_id}
    return {**head, "resume_count": 0, **ended, "files_touched": list(files)}


FRESH, RESUME = "fresh", "resume"
NOBODY = "no earlier agent of this owner is recorded"
SAME = "the files are the same, and no other agent has edited them since"
# row of the rules, owner, policy, tracker → mode, id, reason
ROWS: list[tuple[str, str, str | None, list[dict[str, Any]], tuple[str, str | None, str]]] = [
    (
        "ephemeral: always fresh",
        TESTER,
        None,
        [entry("t1", TESTER, A)],
        (FRESH, None, "its tier is ephemeral"),
    ),
    (
        "bounded: same owner, same files, nobody else's edit",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, A)],
        (RESUME, "e1", f"its tier is bounded, {SAME}"),
    ),
    (
        "bounded: another owner",
        ENGINEER,
        None,
        [entry("w1", "writer", A)],
        (FRESH, None, NOBODY),
    ),
    (
        "bounded: other files",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, B)],
        (FRESH, None, f"no earlier agent of this owner touched {A}"),
    ),
    (
        "bounded: a file of another folder that ends like it",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, f"vendor/old/{A}")],
        (FRESH, None, f"no earlier agent of this owner touched {A}"),
    ),
    (
        "bounded: another agent's edit of what may be the file",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, A, end=1000), entry("w1", "writer", f"/elsewhere/{A}", start=1500, end=2000)],
        (FRESH, None, f"w1 may have edited {A} since e1 did"),
    ),
    (
        "bounded: another agent's edit since",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, A, end=1000), entry("w1", "writer", A, start=1500, end=2000)],
        (FRESH, None, f"w1 may have edited {A} since e1 did"),
    ),
    (
        "bounded: another agent's edit before",
        ENGINEER,
        None,
        [entry("w1", "writer", A, end=900), entry("e1", ENGINEER, A, end=1000)],
        (RESUME, "e1", f"its tier is bounded, {SAME}"),
    ),
    (
        "bounded: another agent is at these files now",
        ENGINEER,
        None,
        [entry("w1", "writer", A, end=None), entry("e1", ENGINEER, A, start=100, end=1000)],
        (FRESH, None, f"w1 may have edited {A} since e1 did"),
    ),
    (
        "bounded: another agent's edit of another file",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, A, B, end=1000), entry("w1", "writer", B, start=1500, end=2000)],
        (RESUME, "e1", f"its tier is bounded, {SAME}"),
    ),
    (
        "bounded: a checker only read them since",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, A, end=1000), entry("t1", TESTER, A, start=1500, end=2000)],
        (RESUME, "e1", f"its tier is bounded, {SAME}"),
    ),
    (
        "bounded: of two engineers the one that had the files last",
        ENGINEER,
        None,
        [entry("e1", ENGINEER, A, end=1000), entry("e2", ENGINEER, A, start=1500, end=2000), entry("e3", ENGINEER, B)],
        (RESUME, "e2", f"its tier is bounded, {SAME}"),
    ),
    (
        "persistent: resumed within the session",
        ARCHITECT,
        None,
        [entry("a1", ARCHITECT)],
        (RESUME, "a1", "its tier is persistent"),
    ),
    (
        "persistent: the newest of its owner",
        ARCHITECT,
        None,
        [entry("a1", ARCHITECT), entry("a2", ARCHITECT), entry("d1", "designer")],
        (RESUME, "a2", "its tier is persistent"),
    ),
    (
        "persistent: not in this session",
        ARCHITECT,
        None,
        [],
        (FRESH, None, NOBODY),
    ),
    (
        "policy fresh over persistent",
        ARCHITECT,
        "fresh",
        [entry("a1", ARCHITECT)],
        (FRESH, None, "the task asks for fresh"),
    ),
    (
        "policy fresh over bounded",
        ENGINEER,
        "fresh",
        [entry("e1", ENGINEER, A)],
        (FRESH, None, "the task asks for fresh"),
    ),
    (
        "policy resume_if_same_artifact over persistent: other files",
        ARCHITECT,
        "resume_if_same_artifact",
        [entry("a1", ARCHITECT, B)],
        (FRESH, None, f"no earlier agent of this owner touched {A}"),
    ),
    (
        "policy resume_if_same_artifact over ephemeral: same files",
        TESTER,
        "resume_if_same_artifact",
        [entry("t1", TESTER, A)],
        (RESUME, "t1", f"the task asks for resume_if_same_artifact, {SAME}"),
    ),
    (
        "policy resume over ephemeral",
        TESTER,
        "resume",
        [entry("t1", TESTER)],
        (RESUME, "t1", "the task asks for resume"),
    ),
    (
        "policy resume over bounded: whatever the files",
        ENGINEER,
        "resume",
        [entry("e1", ENGINEER, B)],
        (RESUME, "e1", "the task asks for resume"),
    ),
    (
        "policy resume: no recorded id",
        ENGINEER,
        "resume",
        [],
        (FRESH, None, NOBODY),
    ),
    (
        "a policy that is none of the contract's counts as none",
        ENGINEER,
        "sometimes",
        [entry("e1", ENGINEER, A)],
        (RESUME, "e1", f"its tier is bounded, {SAME}"),
    ),
]
