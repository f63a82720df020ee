"""Complete state files of many shapes, of current and old harnesses: the input of the mutations."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.support import cycle, issue, plan, pretty, stamp, task, tasks

Json = Any

PLAN, TASKS, HISTORY = "state/plan.json", "state/tasks.json", "history.json"
TRACKER = "state/nexus-mcp/agent-tracker.json"
TOOL_LOG, OPLOG, JOURNAL = "state/tool-log.jsonl", "state/oplog.jsonl", "state/txn.json"
_FOREIGN = {"x-note": {"by": "another harness", "score": 1.50, "list": [1, [2.0, {"deep": None}]]}, "über": "größer"}


def valid(rng: random.Random) -> dict[str, bytes]:
    """Return files of a project as a session may find them, each in the form of some harness."""
    return {
        PLAN: _laid_out(rng, _plan(rng, rng.randrange(1, 9))),
        TASKS: _laid_out(rng, _tasks(rng)),
        HISTORY: _history(rng),
        TRACKER: pretty(_agents(rng)),
        ".gitignore": b"state/\n",
    }


def tool_log(rng: random.Random) -> bytes:
    """Return a tool log as post_tool_use writes it."""
    lines = [
        {
            "timestamp": stamp(number),
            "agent_id": rng.choice(("a-1", "a-2")),
            "tool": "Edit",
            "file": rng.choice(("src/a.py", "src/b.py", "docs/é.md")),
            "status": "ok",
        }
        for number in range(rng.randrange(1, 12))
    ]
    return "".join(json.dumps(line, ensure_ascii=rng.random() < 0.5) + "\n" for line in lines).encode()


def _plan(rng: random.Random, number: int) -> Json:
    issues = [
        issue(id, f"Question {id}", rng.choice(("pending", "decided")), **_foreign(rng))
        for id in range(1, rng.randrange(1, 6))
    ]
    for found in issues:
        if found["status"] == "decided":
            found["decision"] = rng.choice(("Yes", "", "Ja — 是", "line\nline"))
        if rng.random() < 0.2:
            found.update(how_agents=["architect"], how_summary={"architect": "Do"}, how_agent_ids={"architect": "a-1"})
    version = {"schema_version": rng.choice(("0.5", "0.9", "0.1"))} if rng.random() < 0.2 else {}
    return plan(number, rng.choice(("Topic", "Thème", "T" * 200)), issues, **version, **_foreign(rng))


def _tasks(rng: random.Random) -> Json:
    items = [
        task(id, status=rng.choice(("pending", "in_progress", "completed")), deps=_deps(rng, id), **_foreign(rng))
        for id in range(1, rng.randrange(1, 7))
    ]
    for found in items:
        if rng.random() < 0.3:
            found.update(approach="Slowly", owner="engineer", owner_agent_id="a-1", plan_issue=1)
    return {
        **tasks(*items, goal=rng.choice(("", "Ship it")), decisions=["One", "Zwei"][: rng.randrange(3)]),
        **_foreign(rng),
    }


def _deps(rng: random.Random, id: int) -> list[Json]:
    return [rng.choice((dep, float(dep))) for dep in range(1, id) if rng.random() < 0.4] + [99] * (rng.random() < 0.1)


def _history(rng: random.Random) -> bytes:
    found: list[Json] = []
    for number in range(rng.randrange(6)):
        at = stamp(1_700_000_000_000 + number * 60_000)
        archived = rng.choice((None, _plan(rng, number + 1)))
        new = cycle(archived, *_tasks(rng)["tasks"], at=at, branch=rng.choice(("main", "feature/é", "HEAD")))
        if rng.random() < 0.4:  # in the form of old versions
            del new["schema_version"]
            new.update(_foreign(rng, 1.0), memoryHint={"taskCount": 2})
            for name in rng.sample(("branch", "tasks", "plan", "completed_at"), k=rng.randrange(3)):
                new.pop(name)
        found.append(new)
    return _laid_out(
        rng, {**({"schema_version": "0.5"} if rng.random() < 0.3 else {}), "cycles": found, **_foreign(rng)}
    )


def _agents(rng: random.Random) -> Json:
    found: list[Json] = [{"harness_id": "claude", "started_at": stamp(0), **_foreign(rng)}]
    for number in range(1, rng.randrange(1, 5)):
        entry: Json = {"harness_id": "nexus-mcp", "started_at": stamp(number), "agent_name": "engineer"}
        entry.update(agent_id=f"a-{number}", resume_count=rng.randrange(3), status=rng.choice(("running", "completed")))
        found.append(entry)
    return found


def _foreign(rng: random.Random, chance: float = 0.15) -> Json:
    """Return unknown fields, with the probability `chance`."""
    return _FOREIGN if rng.random() < chance else {}


def _laid_out(rng: random.Random, value: Json) -> bytes:
    if rng.random() < 0.6:
        return pretty(value)
    indent = rng.choice((None, 1, 4))
    text = json.dumps(value, indent=indent, ensure_ascii=rng.random() < 0.5)
    text = rng.choice(("", "\ufeff")) + text.replace("\n", rng.choice(("\n", "\r\n"))) + rng.choice(("", "\n", "\n\n"))
    return text.encode()
