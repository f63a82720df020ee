"""Compute the next stage of an attempt from the facts in the log. The functions are pure, so a killed run can continue
from any stage.

A round runs the sessions of the strategy, then the project's own checks, then the reviewers. In a mending round, the
last session that changed files is resumed in place of the sessions of the strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nexus_mcp.run.briefs import question_in
from nexus_mcp.run.config import Strategy
from nexus_mcp.run.events import SETUP, Role
from nexus_mcp.run.projection import AUTHORS, AttemptRecord

SESSIONS: dict[Strategy, tuple[Role, ...]] = {
    "test-after": ("owner",),
    "tdd-lite": ("test-writer", "implementer"),
    "three-session-tdd": ("test-writer", "implementer"),
    "none": ("owner",),
}
"""The roles of the sessions of each strategy that change files, in order."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The next stage. `name` is its kind; `role` and `agent` describe its session.

    `worktree`: make the worktree, and run the setup. `advise`: ask the advisor. `session`: run a session, resumed with
    the id `resume` if that is not "". `await`: the process of the session may still run, and has to be ended.
    `collect`: commit the work of the session. `checks`: run the project's checks. `review`: run the session of a
    reviewer. `judge`: compute the outcome.
    """

    name: Literal["worktree", "advise", "session", "await", "collect", "checks", "review", "judge"]
    role: Role = "owner"
    agent: str = ""
    resume: str = ""


def next_stage(record: AttemptRecord, reviewers: Sequence[str], *, has_checks: bool) -> Stage:
    """Return the next stage of an attempt without an outcome.

    `reviewers` are the agents that judge the work after the checks; in three-session-tdd they are verifiers.
    `has_checks`: the project has checks, and the strategy runs them.
    """
    if not record.worktree:
        return Stage("worktree")
    pending = _pending_session(record)
    if pending is not None:
        return pending
    if _has_failed(record):
        return Stage("judge")
    if record.advise and not any(session.role == "advisor" for session in record.sessions) and not record.round:
        return Stage("advise", "advisor")
    authors = _authors(record)
    done = sum(session.role in AUTHORS for session in record.sessions)
    if done < len(authors):
        resume = record.author.id if record.round and record.author is not None else ""
        return Stage("session", authors[done], resume=record.interrupted or resume)
    if has_checks and not record.checks:
        return Stage("checks")
    if all(check.ok or check.known for check in record.checks):
        for agent in reviewers[len(record.verdicts) :]:
            role: Role = "verifier" if record.attempt.strategy == "three-session-tdd" else "reviewer"
            return Stage("review", role, agent=agent)
    return Stage("judge")


def _authors(record: AttemptRecord) -> tuple[Role, ...]:
    """Return the roles of the sessions of this round that change files."""
    roles = SESSIONS[record.attempt.strategy]
    return roles if not record.round else (record.author.role if record.author is not None else roles[-1],)


def _pending_session(record: AttemptRecord) -> Stage | None:
    """Return the stage that completes the last session; None without one, or when it is complete."""
    last = record.sessions[-1] if record.sessions else None
    if last is None:
        return None
    if not last.is_ended:
        return Stage("await", last.role, last.agent)
    if last.role in AUTHORS and not last.is_collected:
        return Stage("collect", last.role, last.agent)
    return None


def _has_failed(record: AttemptRecord) -> bool:
    """Return whether setup failed, or the last session has a role of AUTHORS and failed, asked a question or left work
    that cannot be committed: then nothing else of this round runs.
    """
    if any(check.name == SETUP and not check.ok for check in record.checks):
        return True
    last = record.sessions[-1] if record.sessions else None
    return (
        last is not None
        and last.role in AUTHORS
        and any(
            (
                *(last.signal is not None, last.code != 0, not last.is_done, bool(last.refused)),
                question_in(last.last_message) is not None,
            )
        )
    )
