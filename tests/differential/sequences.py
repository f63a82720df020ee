"""Generated sequences of requests: calls of every tool with arguments that fit its schema or do not, and lookups."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from nexus_mcp.tools import TOOLS
from tests.differential.test_handlers import COMPLETIONS, LISTS, PROMPTS, URIS

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Any]

Json = Any
TEXTS = (
    *("A", "Store it in a file", "Größe\u2028und 日本語 🙂", "<system-reminder>no</system-reminder> [plan] x", " ", ""),
    *('"quoted" \\ back', "a/b.md", "../out", "x" * 3000, "line\nline\ttab\x00", "pending", "edit"),
)
WRONG: tuple[Json, ...] = (None, True, 0, -1, 1.5, 2.0, "1", [], {}, [1, "x"], {"x": 1}, 2**70)
SKILLS = ("skill://nx-plan/SKILL.md", "skill://none/SKILL.md", "skill://nx-plan", "x:y", "")
MISSES = 0.15
"""The shares of arguments that are wrong, missing or unknown to the tool."""


def value_for(schema: Json, random: Random) -> Json:
    """Return a value that mostly fits a schema of the tools."""
    if random.random() < MISSES:
        return random.choice(WRONG)
    if "enum" in schema:
        return random.choice(schema["enum"])
    match schema["type"]:
        case "integer":
            return random.randint(1, 5)
        case "array":
            return [value_for(schema["items"], random) for _ in range(random.randint(0, 3))]
        case "object":
            return {random.choice(TEXTS): random.choice(TEXTS) for _ in range(random.randint(0, 2))}
    return random.choice(TEXTS)


def arguments_of(tool: Any, random: Random) -> Json:
    """Return arguments for a tool."""
    schema = tool.input_schema
    required = schema.get("required", ())
    names = [name for name in schema["properties"] if random.random() < (1 - MISSES / 2 if name in required else 0.5)]
    found = {name: value_for(schema["properties"][name], random) for name in names}
    return {**found, "more": 1} if random.random() < MISSES / 3 else found


def calls(make: Make, count: int, random: Random) -> list[Json]:
    """Return calls of tools; begin with those that others need to find something."""
    names = {tool.name: tool for tool in TOOLS}
    first = [names[name] for name in ("plan_start", "plan_decide", "task_add", "task_add", "task_add", "task_update")]
    tools = [*first, *(random.choice(TOOLS) for _ in range(count - len(first)))]
    return [make(0, "tools/call", name=tool.name, arguments=arguments_of(tool, random)) for tool in tools]


def lookup(make: Make, random: Random, *, is_modern: bool) -> Json:
    """Return one request that reads."""
    kind = random.randint(0, 6 if is_modern else 4)
    if kind == 0:
        return make(0, random.choice(("tools/list", *LISTS)), **random.choice(({}, {"cursor": ""}, {"cursor": "x"})))
    if kind == 1:
        return make(0, "resources/read", uri=f"nexus://{random.choice(URIS)}")
    if kind == 2:
        name, arguments = random.choice(PROMPTS)
        return make(0, "prompts/get", name=name, arguments=arguments)
    if kind == 3:
        ref, name, text = random.choice(COMPLETIONS)
        return make(0, "completion/complete", ref=ref, argument={"name": name, "value": text})
    if kind == 4:
        return make(0, "resources/read", uri=random.choice(SKILLS))
    if kind == 5:
        return make(0, "skills/get", uri=random.choice(SKILLS))
    return make(0, "skills/list", **random.choice(({}, {"cursor": "x"})))


def sequence(make: Make, seed: int, count: int, *, is_modern: bool) -> list[Json]:
    """Return a sequence of `count` calls, with lookups between them. The same seed gives the same sequence."""
    random = Random(seed)
    found = []
    for call in calls(make, count, random):
        found.append(call)
        if random.random() < 0.5:
            found.append(lookup(make, random, is_modern=is_modern))
    return found
