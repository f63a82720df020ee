"""The random calls of the clients, each with a title or text that no other call has."""

from __future__ import annotations

import random

from tests.reliability.suite import Json

Call = tuple[str, dict[str, Json]]

# Load → the weight of each tool in it.
LOADS = {
    "mixed": {
        "task_add": 30,
        "task_update": 16,
        "plan_decide": 10,
        "task_close": 9,
        "plan_start": 8,
        "artifact_write": 9,
        "task_list": 7,
        "history_search": 7,
        "plan_status": 4,
    },
    "closing": {"task_close": 40, "task_add": 30, "plan_start": 15, "history_search": 5},
}
STATUSES = ("pending", "in_progress", "completed")
ARTIFACTS = ("a.md", "b.md", "deep/er/c.md")


def asked(rng: random.Random, load: str, unique: int) -> Call:
    """Return a random call; `unique` is a number that no other call gets."""
    weights = LOADS[load]
    tool = rng.choices([*weights], [*weights.values()])[0]
    return tool, arguments(tool, rng, unique)


def arguments(tool: str, rng: random.Random, unique: int) -> dict[str, Json]:
    """Return arguments for a call of the tool."""
    if tool == "task_add":
        return {"title": f"t{unique}", "context": "c" * rng.randint(1, 300)}
    if tool == "task_update":
        return {"id": rng.randint(1, 5), "status": rng.choice(STATUSES)}
    if tool == "plan_start":
        issues = [f"i{unique}.{number}" for number in (1, 2)]
        return {"topic": f"p{unique}", "issues": issues, "research_summary": "r" * rng.randint(0, 300)}
    if tool == "plan_decide":
        return {"issue_id": rng.randint(1, 2), "decision": f"d{unique}"}
    if tool == "artifact_write":
        return {"filename": rng.choice(ARTIFACTS), "content": text(unique, rng.choice((1, 100, 9000)))}
    if tool == "history_search":
        return {"query": "completed_at"}  # a word of every cycle
    return {}


def text(unique: int, size: int) -> str:
    """Return the content of an artifact, which shows whether it is whole."""
    name = f"{unique} of {size}"
    return f"{name}\n{'x' * size}\n{name}\n"


def is_whole(content: str) -> bool:
    """Return whether `text` made this content."""
    unique, _, size = content.split("\n", 1)[0].partition(" of ")
    return unique.isdecimal() and size.isdecimal() and content == text(int(unique), int(size))
