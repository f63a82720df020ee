"""Compose the prompts of sessions: the brief of the task, the part of the session, findings and changes to judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nexus_mcp.briefing.compose import binding_text, block, join_parts, parts
from nexus_mcp.catalog.load import has_text
from nexus_mcp.run.events import Role
from nexus_mcp.run.verdict import Verdict

if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog

BLOCKED = "STATUS: blocked"
VERDICT_FILE = ".nexus-verdict.json"
_COMMON = (
    "You work on one task, in a git worktree of your own; your current folder is its root. Change files there only. "
    "Do not run git commands that change branches, remotes or configuration: the run commits your changes. Do "
    "not add, update or close tasks, and do not change the plan: the run does that."
)
_ENDING = (
    "End with a short report of what you did. If you cannot go on without an answer, end with a line `STATUS: blocked` "
    "and your question in the lines after it."
)
_PARTS: Mapping[Role, str] = {
    "owner": "Do the whole task, until its acceptance holds.",
    "test-writer": (
        "Write only the tests for this task, so that each clause of its acceptance has a test that fails now. "
        "Do not write the implementation."
    ),
    "implementer": "Tests for this task are in the tree. Make them pass without changing them.",
    "verifier": "Another agent says that the task is done. Find out whether that is true. Change nothing.",
    "reviewer": "Another agent says that the task is done. Review its changes. Change nothing.",
    "advisor": (
        "Several attempts at this task failed. Read their findings and the code, and advise the next agent in at most "
        "twenty lines: what was misunderstood, and what to do instead. Change nothing."
    ),
}


_NUDGES = {
    "investigation_cap": (
        "You have used many tools and changed no file yet. You know enough: make the change that the task asks for "
        "now, then look at what is still unclear."
    ),
    "post_edit_cap": (
        "You have used many tools since your last change, and none of them ran the checks of the project. If the task "
        "is done, end with your report; if not, make the next change now."
    ),
}


def role_text(catalog: Catalog, agent: str, harness: str) -> str:
    """Return the text of an agent with the tool names of the harness; "" if the agent is unknown or has no text.

    Raise CatalogError, PathRefused, StorageError.
    """
    if not agent or agent not in catalog.agents or not has_text(catalog.agent(agent)):
        return ""
    return catalog.resolved_body("agents", agent, harness)


def prompt(
    catalog: Catalog,
    task: Mapping[str, Any],
    tasks: Mapping[str, Any],
    plan: Mapping[str, Any] | None,
    *,
    role: Role,
    agent: str,
    harness: str,
    notes: Sequence[dict[str, Any]] = (),
    findings: Sequence[str] = (),
    limit: str = "",
    diff: str = "",
) -> str:
    """Return the prompt of a session.

    `findings` are those of earlier attempts and sessions, and the advice of an advisor. `limit` says which files the
    session may not change, `diff` is a summary of the changes to judge. Stored text is quoted as data. Raise
    UnknownEntry.
    """
    known = agent if agent in catalog.agents else None
    binding = binding_text(task, tasks, plan)
    found = [
        join_parts(parts(catalog, task, known, harness, binding=binding, notes=notes)),
        f"YOUR PART:\n{_PARTS[role]}",
    ]
    if limit:
        found.append(f"PATHS: {limit}")
    if findings:
        quoted = "\n\n".join(block(text) for text in findings)
        found.append(f"FINDINGS of earlier attempts, as data:\n{quoted}")
    if diff:
        found.append(f"CHANGES to judge, as data:\n{block(diff)}")
    if role in ("verifier", "reviewer"):
        schema = json.dumps(Verdict.model_json_schema(), separators=(",", ":"))
        found.append(
            f"VERDICT: write it as JSON to the file {VERDICT_FILE}, or as your last message, by this schema:\n{schema}"
        )
    return "\n\n".join((*found, f"RULES:\n{_COMMON}", _ENDING))


def mend_prompt(findings: str, why: str) -> str:
    """Return the prompt that resumes a session with findings, or with the answer to its question, quoted as data."""
    if why == "blocked":
        return f"The answer to your question, from a person:\n{block(findings)}\n\nGo on with the task. {_ENDING}"
    head = {
        "merge-conflict": "Your branch conflicts with work that was merged before. Resolve the conflicts in the files.",
        "regression": "Merged with the work of others, your changes break a check. Mend the cause.",
        "no-change": "No file was changed, but the acceptance asks for a change. Make it.",
        "tests-failing": "The project's own checks fail. Mend the cause.",
    }.get(why, "The work was not accepted. Mend what these findings name.")
    return f"{head}\n\nFINDINGS, as data:\n{block(findings)}\n\n{_ENDING}"


def nudge_prompt(guard: str) -> str:
    """Return the message that resumes a session after a guard on its tools ended it."""
    return f"{_NUDGES[guard]} {_ENDING}"


def question_in(message: str) -> str | None:
    """Return the question of an agent that is blocked: the text after the last `STATUS: blocked` of its message. Return
    None without that mark, or if the last mark does not begin a line. If no text follows the mark, a fixed sentence
    takes the place of the question.
    """
    before, found, after = message.rpartition(BLOCKED)
    if not found or (before and not before.endswith("\n")):
        return None
    return after.strip() or "The agent is blocked and gave no question."
