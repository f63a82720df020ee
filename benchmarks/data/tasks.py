"""Task lists of N tasks, pending and completed, with dependencies on earlier ones.

The tasks have no owners, because upstream has another form for owners.
"""

from __future__ import annotations

import functools
import json
import random
from typing import Any

from benchmarks.data.words import phrase, sentences, stamp


def task(number: int, rng: random.Random, minutes: int, *, done: bool) -> dict[str, Any]:
    """Return one task as task_add writes it; it depends on at most one earlier task."""
    return {
        "id": number,
        "title": phrase(rng, 3, 8),
        "context": sentences(rng, 1, 2),
        "approach": phrase(rng, 6, 14),
        "acceptance": phrase(rng, 6, 14),
        "status": "completed" if done else "pending",
        "deps": [rng.randint(1, number - 1)] if number > 1 and rng.random() < 0.5 else [],
        "plan_issue": rng.randint(1, 3),
        "created_at": stamp(minutes),
    }


@functools.cache
def tasks_file(count: int, seed: int = 1) -> bytes:
    """Return a tasks.json with a goal and `count` tasks, the first half of them completed."""
    rng = random.Random(seed)
    tasks = [task(number, rng, number, done=number <= count // 2) for number in range(1, count + 1)]
    value = {"goal": phrase(rng, 4, 8), "decisions": [], "tasks": tasks}
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def plan_file(seed: int = 1) -> bytes:
    """Return a plan.json with three issues, one of them decided."""
    rng = random.Random(seed)
    issues: list[dict[str, Any]] = [
        {"id": number, "title": phrase(rng, 4, 10), "status": "pending"} for number in (1, 2, 3)
    ]
    issues[0].update(status="decided", decision=sentences(rng, 1, 2))
    plan = {
        "id": 1,
        "topic": phrase(rng, 3, 8),
        "issues": issues,
        "research_summary": sentences(rng, 1, 3),
        "created_at": stamp(0),
    }
    return json.dumps(plan, ensure_ascii=False, indent=2).encode() + b"\n"
