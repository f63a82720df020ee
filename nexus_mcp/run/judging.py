"""Judge an attempt from its record: look for each kind of failure in a fixed order. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nexus_mcp.run import briefs, environment_faults, routing, verdict
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.events import SETUP
from nexus_mcp.run.outcome import Category, Outcome
from nexus_mcp.run.projection import AUTHORS, AttemptRecord, SessionRecord
from nexus_mcp.wording import join_first

NO_VERDICT = "The reviewer was asked twice and gave no verdict, so the work is not judged."
UNVERIFIED = "No check passes and the task has no reviewer, so nothing verifies the work."


UNJUDGED: frozenset[Category | None] = frozenset(("environment", "harness-failure", "session-failure"))
"""Categories of failures that do not judge the files: the work may already be complete when the next attempt begins."""


_NOT_MERGED: frozenset[Category | None] = frozenset(("merge-conflict", "regression"))
"""Categories of failures of accepted work that conflicts with the merged work of other tasks."""


def has_no_fault(outcome: Outcome | None) -> bool:
    """Return whether no judgement found a fault in the work of an attempt: it was not judged, or it was accepted."""
    return outcome is None or outcome.ok or outcome.category in UNJUDGED | _NOT_MERGED


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that judging needs and that the record lacks.

    `is_work`: the task has to change files. `may_edit`: its owner may edit files. `has_reviewers`: agents review the
    work after the checks.
    """

    is_work: bool
    may_edit: bool
    has_reviewers: bool


def judge(record: AttemptRecord, facts: Facts, config: RunConfig) -> Outcome | str:
    """Return the outcome of the present round, or a question to a person if nothing else can judge it."""
    setup = [check for check in record.checks if check.name == SETUP and not check.ok]
    if setup:
        last_setup = setup[-1]
        why = environment_faults.check_fault("run.setup", last_setup.code, last_setup.summary)
        return _failure("environment", f"Setup failed. {why}" if why else f"Setup failed: {last_setup.summary}")
    last = next((session for session in reversed(record.sessions) if session.role in AUTHORS), None)
    ended = _session_outcome(last) if last is not None else None
    if ended is not None:
        return ended
    return _work_outcome(record, facts, config) or _checks_outcome(record, facts)


def has_failed(record: AttemptRecord, facts: Facts, config: RunConfig) -> bool:
    """Return whether the work of the sessions already fails the attempt, so that checks and reviews are useless."""
    return _work_outcome(record, facts, config) is not None


def _session_outcome(last: SessionRecord) -> Outcome | None:
    """Return the failure of a session whose role changes files; None if it ended well."""
    outside = _outside_failure(last)
    if outside is not None:
        return outside
    if last.guard or last.signal is not None or last.code != 0:
        how = last.guard or (f"signal {last.signal}" if last.signal is not None else f"exit code {last.code}")
        return _failure("session-failure", f"The session ended by {how}. {last.error}")
    if not last.is_done:
        return _failure("harness-failure", "The harness ended without reporting the end of its session.")
    question = briefs.question_in(last.last_message)
    return None if question is None else _failure("blocked", question)


def _outside_failure(session: SessionRecord) -> Outcome | None:
    """Return a failure that the agent did not cause: the harness cannot work here, or its account reached a limit."""
    if session.code and environment_faults.names_full_disk(session.error):
        return _failure("environment", f"The disk is full: {session.error} {environment_faults.GO_ON}")
    if session.failure == "environment" and session.code == environment_faults.NOT_FOUND:
        return _failure("environment", f"The harness cannot be started: {session.error or 'command not found'}")
    if session.failure == "environment":
        return _failure("environment", session.error or "The harness cannot work here: is it logged in?")
    if session.failure == "limit":
        return _failure("limit", session.error or "The account of the harness has reached a limit.")
    return None


def _work_outcome(record: AttemptRecord, facts: Facts, config: RunConfig) -> Outcome | None:
    """Return the first fault in the work of the sessions, None without one: a refused commit, forbidden changes or
    tools, no change, or no test file.
    """
    chosen = record.attempt.strategy
    refused = next((session.refused for session in record.sessions if session.refused), "")
    if refused:  # some or all of the work is not committed, so no other fault is searched
        return _failure("tests-failing", f"The work cannot be committed: {refused}")
    for session in record.sessions:
        wrong = routing.violations(session.files, session.role, chosen, config)
        if wrong:
            return _failure(
                "isolation-violation", f"The session {session.role} changed files that it may not: {_list(wrong)}"
            )
    if record.files and not facts.may_edit:
        return _failure("capability-violation", f"The agent may not edit files, and changed {_list(record.files)}")
    used = [tool for session in record.sessions if session.role in AUTHORS for tool in session.forbidden]
    if used:
        return _failure("capability-violation", f"The agent used tools that it may not use: {_list(used)}")
    if facts.is_work and not record.files:
        return _failure("no-change", "No file was changed, and the acceptance of the task asks for a change.")
    writers = [session for session in record.sessions if session.role == "test-writer"]
    if writers and not record.round and not any(routing.has_tests(session.files, config) for session in writers):
        return _failure("no-tests", "The test session made no test file.")
    return None


def _checks_outcome(record: AttemptRecord, facts: Facts) -> Outcome | str:
    failing = [check for check in record.checks if not check.ok and not check.known]
    if failing:
        faults = (environment_faults.check_fault(one.name, one.code, one.summary) for one in failing)
        if outside := next(filter(None, faults), ""):
            return _failure("environment", outside)
        numbers = [check.failures for check in failing if check.failures is not None]
        reason = "\n\n".join(f"{check.name} fails:\n{check.summary}" for check in failing)
        return Outcome("tests-failing", reason, sum(numbers) if len(numbers) == len(failing) else len(failing))
    if facts.has_reviewers:
        return _verdict_outcome(record)
    # A check that already failed before the run verifies nothing.
    return Outcome() if any(check.ok for check in record.checks) else UNVERIFIED


def _verdict_outcome(record: AttemptRecord) -> Outcome | str:
    is_verifier = record.attempt.strategy == "three-session-tdd"
    for event in record.verdicts:
        found = verdict.Verdict.model_validate(event.verdict) if event.verdict is not None else None
        if found is None and not (is_verifier and record.checks):
            return _silent_reviewer(record) or f"{NO_VERDICT} {event.fault}".rstrip()
        outcome = verdict.categorize(found, checks_ok=True)
        if not outcome.ok:
            return outcome
    return Outcome()


def _silent_reviewer(record: AttemptRecord) -> Outcome | None:
    """Return the failure that kept the last reviewer from working, None if there is none."""
    last = record.sessions[-1] if record.sessions else None
    return None if last is None or last.role in AUTHORS else _outside_failure(last)


def _failure(category: Category, reason: str) -> Outcome:
    return Outcome(category, reason.strip())


def _list(files: tuple[str, ...] | list[str]) -> str:
    return join_first(files, 20)
