"""Write the JSON Schemas of runs below schemas/run/ from the models in nexus_mcp/run/: `make docs`.

Only keywords that our evaluator knows are written (docs/decisions/0002), so a schema is a little wider than its model:
the models judge, the schemas tell other programs the form.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.events import EVENT
from nexus_mcp.run.status import StatusFile
from nexus_mcp.run.verdict import Verdict

FOLDER = Path(__file__).resolve().parent.parent / "schemas" / "run"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DROPPED = frozenset(("title", "discriminator", "minItems", "propertyNames", "default"))
_RENAMED = {"oneOf": "anyOf", "exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def documents() -> dict[str, dict[str, Any]]:
    """Return name -> schema: the section `run` of the config, events of the log, verdicts, and the status file."""
    return {
        "config": _document("The section run of .nexus/config.yml", RunConfig.model_json_schema()),
        "event": _document("One line of events.jsonl of a run", EVENT.json_schema()),
        "verdict": _document("The verdict of a reviewer or verifier", Verdict.model_json_schema()),
        "status": _document("status.json of a run", StatusFile.model_json_schema(mode="serialization")),
    }


def text(schema: dict[str, Any]) -> str:
    """Return the text of the file of a schema."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def _document(title: str, schema: dict[str, Any]) -> dict[str, Any]:
    plain = _plain(schema)
    return {"$schema": DIALECT, "title": title, **{name: value for name, value in plain.items() if name != "title"}}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the keywords that our evaluator knows, and a description for each field."""
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _DROPPED or (keyword == "additionalProperties" and value is True):
            continue
        name = _RENAMED.get(keyword, keyword)
        if keyword == "const":
            found["enum"] = [value]
        elif keyword in ("properties", "$defs"):
            found[name] = {key: _plain(one) for key, one in value.items()}
        elif isinstance(value, dict):
            found[name] = _plain(value)
        elif keyword in ("anyOf", "oneOf"):
            found[name] = [_plain(one) for one in value]
        else:
            found[name] = " ".join(value.split()) if keyword == "description" else value
    for key, one in found.get("properties", {}).items():
        one["description"] = FIELDS[key]
    return found


FIELDS = {
    # Config
    "harness": "The harness of the work, or {do, check}: of the work and of reviews.",
    "jobs": "How many attempts run at once.",
    "isolation": "worktree: each attempt has its own.",
    "worktrees": "The folder of the worktrees, outside of the repository.",
    "setup": "Commands that run in each new worktree.",
    "setup_timeout_s": "Seconds that a setup command may take.",
    "link": "Files of the checkout that worktrees get as links.",
    "checks": "Name to command: the ground truth of a run. null switches one off.",
    "check_timeout_s": "Seconds that a check may take.",
    "session_timeout_s": "Seconds that a session may take.",
    "tiers": "The tiers of models in rising order, each with its number of attempts.",
    "escalate": "Whether later attempts may use a higher tier.",
    "mend": "How often a session goes on with the output of failing checks.",
    "strategies": "Which strategy a task gets.",
    "default": "The strategy of all other tasks.",
    "by_owner": "Owner to strategy.",
    "tags": "Tag in the texts of a task to strategy.",
    "tests": "Patterns of the paths of tests; in a verdict: what was seen of the tests.",
    "test_writer_may": "Paths that a test writer may change beside tests.",
    "review": "Category of an owner, text or risk, to the agents that judge.",
    "max_cost_usd": "USD after which nothing more starts.",
    "max_minutes": "Minutes after which nothing more starts.",
    "max_attempts": "Attempts after which nothing more starts.",
    "cost_warning": "The share of the cost limit at which a warning comes.",
    "guards": "Pattern of model names to limits of a session.",
    "stale_warn_s": "Seconds without an event until a warning.",
    "stale_abort_s": "Seconds without an event until the session is ended.",
    "investigation_cap": "Tools before the first edit.",
    "post_edit_cap": "Tools after the last edit without a check.",
    "questions": "Questions: how long they wait, and which are asked.",
    "timeout_s": "Seconds until the fallback.",
    "fallback": "What happens without an answer.",
    "triggers": "Trigger to whether it asks.",
    "hooks": "Event of the run to a command of the user.",
    "command": "The command.",
    "timeout_ms": "Milliseconds that it may take.",
    "strip_env": "Variables that sessions and checks do not get.",
    "regression": "When checks run on merged work: at each merge, at the end, or never.",
    "advisor": "Whether an advisor is asked before the second escalation.",
    "sandbox": "What sessions run in: none, bwrap, or a command.",
    "unsafe": "Whether the harness may do everything; needs a sandbox.",
    "prices": "Pattern of model names to USD per million tokens.",
    "drivers": "Harnesses beside the known ones.",
    "resume": "The command that resumes a session.",
    "format": "text, or jsonl with events.",
    "done": "A pattern whose match says that the session ended by itself; in events: whether it did.",
    "tier": "The tier of the model.",
    "attempts": "The number of attempts.",
    "input": "Tokens in; as a price, of a million of them.",
    "output": "Tokens out; as a price, of a million of them; of evidence, what the command printed.",
    # Events
    "seq": "The number of the event in its log, from 1.",
    "at": "When it happened.",
    "task": "The task.",
    "attempt": "The attempt, which counts over all tiers.",
    "type": "The kind of the event.",
    "run": "The run.",
    "pid": "The process.",
    "host": "The machine.",
    "base": "The commit to begin at.",
    "options": "The options as typed.",
    "strategy": "The strategy.",
    "model": "The model, empty where the harness chooses.",
    "agent": "The agent.",
    "advise": "Whether an advisor is asked first.",
    "findings": "Findings of earlier attempts, or of a reviewer.",
    "path": "The folder.",
    "branch": "The branch.",
    "fence": "The number of the lease; an older one does not count any more.",
    "phase": "The phase of the attempt.",
    "role": "The role of the session.",
    "create_time": "When the process was created, in seconds since 1970.",
    "id": "The id.",
    "cost_usd": "USD, absent where unknown.",
    "name": "The name.",
    "value": "The value that was reached.",
    "code": "The exit code.",
    "signal": "The signal.",
    "guard": "The guard that ended the session.",
    "fault": "Why there is no verdict.",
    "parts": "Part of the checkout to its digest.",
    "forbidden": "Tools that the agent may not use and used.",
    "failure": "Why it failed, where the harness says so.",
    "error": "The error as the harness reported it.",
    "files": "Files.",
    "commit": "The commit.",
    "last_message": "The last message of the session.",
    "refused": "What a commit hook printed that refused the work.",
    "ok": "Whether it is good.",
    "seconds": "How long it took.",
    "summary": "The end of its output, or the question.",
    "failures": "How many failures there are, absent where unknown.",
    "known": "Whether it failed before the run, too.",
    "verdict": "The verdict, absent where there was none.",
    "category": "The category of the failure.",
    "reason": "The reason.",
    "before": "The value before: a tier or a limit.",
    "after": "The value after: a tier or a limit.",
    "why": "The reason.",
    "by_hand": "Whether a person completed it.",
    "fresh": "Whether it begins at the merged work.",
    "trigger": "What made it ask.",
    "answer": "The answer.",
    "by": "Who answered.",
    "spent_usd": "USD spent.",
    "limit_usd": "The limit in USD.",
    "status": "The status.",
    # Verdict
    "version": "The version of the form.",
    "approved": "Whether the work is accepted.",
    "allPassing": "Whether all tests pass.",
    "passCount": "Tests that pass.",
    "failCount": "Tests that fail.",
    "testModifications": "Whether tests were changed.",
    "detected": "Whether there are changes.",
    "legitimate": "Whether the changes are legitimate.",
    "reasoning": "The reasoning.",
    "acceptanceCriteria": "The criteria of the acceptance.",
    "allMet": "Whether all are met.",
    "criteria": "Each criterion.",
    "criterion": "The criterion.",
    "met": "Whether it is met.",
    "note": "A note.",
    "quality": "The quality of the code.",
    "rating": "good, acceptable or poor.",
    "issues": "What is wrong.",
    "fixes": "What the verifier fixed.",
    "severity": "must, should or could.",
    "place": "Where.",
    "what": "What is wrong.",
    "how": "How to see it.",
    "want": "What is wanted instead.",
    "evidence": "Commands that show it.",
    "agent_id": "The id of the agent.",
    # Status
    "feature": "The goal of the task list.",
    "startedAt": "When the run began.",
    "dryRun": "Whether nothing was started.",
    "crashedAt": "When the executor was last alive, if it died.",
    "crashSignal": "The signal that ended it, if known.",
    "progress": "Numbers of tasks.",
    "total": "All tasks.",
    "passed": "Completed tasks.",
    "failed": "Failed tasks.",
    "paused": "Paused tasks.",
    "blocked": "Blocked tasks.",
    "skipped": "Skipped tasks.",
    "pending": "All other tasks.",
    "cost": "What it cost.",
    "spent": "USD spent, null where unknown.",
    "limit": "The limit in USD, null without one.",
    "current": "The attempt that has run longest, null between attempts.",
    "taskId": "The task.",
    "storyId": "The task, as a text.",
    "title": "The title of the task.",
    "complexity": "The tier.",
    "tddStrategy": "The strategy.",
    "parallel": "What runs at once.",
    "enabled": "Whether attempts may run at once.",
    "maxConcurrency": "How many may.",
    "active": "Those that do.",
    "worktreePath": "The worktree.",
    "iterations": "All attempts so far.",
    "updatedAt": "When the file was written.",
    "lastHeartbeat": "When the executor was last alive.",
    "durationMs": "Milliseconds since the run began.",
}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, schema in documents().items():
        (FOLDER / f"{name}.schema.json").write_text(text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
