"""A prompt for each skill: its text, for a user who asks for it. Also for those that are never chosen by a model."""

from __future__ import annotations

from functools import partial

from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quoted
from nexus_mcp.server.prompts.definition import Argument, Prompt, own_words
from nexus_mcp.server.prompts.standing import MOST, standing
from nexus_mcp.server.prompts.telling import outcome
from nexus_mcp.server.resources.wording import body
from nexus_mcp.state import tasks as lists
from nexus_mcp.tags.skills import harness_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.server.prompts.definition import Given
    from nexus_mcp.server.resources.definition import Look

RUN = "nx-run"
_UNKNOWN_HARNESS = (
    "Nothing is known of the harness that you run in. Where the text speaks of starting or resuming an agent, use what "
    "the harness has for it; where it has nothing, do the work yourself, and start afresh rather than resume."
)
_REQUEST = Argument("request", "What it is about", "What it is about, in your own words.")


def prompts(look: Look) -> list[Prompt]:
    """Raises StorageError."""
    skills = look.catalog().skills
    return [of_skill(look, name, skills[name], name) for name in sorted(skills)]


def of_skill(look: Look, name: str, skill: dict[str, Any], called: str) -> Prompt:
    """The prompt for the skill `name`, `called` by that or by its tag."""
    modes = _modes(look, name)
    arguments = []
    if modes:
        told = "; ".join(f"{mode}: {text}" for mode, text in modes.items())
        arguments.append(
            Argument("mode", "Mode", f"Left out for the usual way. {told}", lambda _: modes, fits=modes.__contains__)
        )
    if name == RUN:
        told = "Id of the one task to carry out; all of them when left out."
        arguments.append(Argument("task", "Task", told, _tasks, fits=str.isdecimal))
    return Prompt(
        called,
        title=skill["name"],
        description=skill["description"],
        arguments=(*arguments, _REQUEST),
        text=partial(_text, name=name, skill=skill, modes=modes),
    )


def _modes(look: Look, name: str) -> dict[str, str]:
    """The variants that the tags of the skill have, each with what it means."""
    tags = look.catalog().vocabulary["tags"].values()
    return {
        variant: entry["description"]
        for tag in tags
        if tag.get("skill") == name
        for variant, entry in tag["variants"].items()
    }


def _text(look: Look, given: Given, *, name: str, skill: dict[str, Any], modes: dict[str, str]) -> str:
    parts = [body(look, "skills", name).strip(), f"## Where things stand\n\n{standing(look)}"]
    if (hint := _hint(look, name)) != "":
        parts.append(hint)
    if skill["harness_notes"]:
        notes = harness_notes(skill, look.workspace.harness_id) or _UNKNOWN_HARNESS
        parts.append(f"## The harness\n\n{notes}")
    if "mode" in given:
        parts.append(f"## Mode\n\n{given['mode']}: {modes[given['mode']]}")
    if "task" in given:
        parts.append(f"## Task\n\n{_only(look, given['task'])}")
    if "request" in given:
        parts.append(own_words("## What the user asks for", given["request"]))
    return "\n\n".join(parts)


def _only(look: Look, task: str) -> str:
    """Which task is to be carried out, by the id that the user gave."""
    shown = quoted(task, 40)
    told = f"Only this one of the tasks, by its id: {shown}"
    try:
        current = look.store.tasks()
    except NexusError:
        return told  # where things stand says what is wrong
    ids = [] if current is None else [str(one["id"]) for one in current["tasks"]]
    if current is not None and task in ids:
        return f"{told}{_waits(current, current['tasks'][ids.index(task)])}"
    there = f"there are {', '.join(ids[:MOST])}{', …' * (len(ids) > MOST)}" if ids else "there are no tasks"
    return (
        f"There is no task {shown}; {there}. It may be that the number is the first of the user's words, and no task. "
        "Carry out nothing before the user has said what is meant."
    )


def _waits(current: dict[str, Any], task: dict[str, Any]) -> str:
    """What a pending task depends on that is not completed, "" when nothing."""
    states = {one["id"]: one["status"] for one in current["tasks"]}
    if task["status"] != lists.PENDING:
        return ""
    waits = [
        f"task {one} ({states.get(one, 'there is no such task')})"
        for one in dict.fromkeys(task["deps"])
        if states.get(one) != lists.COMPLETED
    ]
    if not waits:
        return ""
    which = ", ".join(waits[:MOST]) + ", …" * (len(waits) > MOST)
    return (
        f". It is not ready: it depends on {which}. Tell the user so, and carry it out only once what it depends on is "
        "completed, or when the user wants it even so."
    )


def _hint(look: Look, name: str) -> str:
    """What stands in the way of a skill, and what to do about it: what its tag is answered in a message."""
    tags = look.catalog().vocabulary["tags"]
    tag = next((tag for tag in tags if tags[tag].get("skill") == name), None)
    try:
        advice = "" if tag is None else outcome(look, tag)["advice"]
    except NexusError:
        return ""  # the lines before say so
    return f"Before anything else tell the user: {advice}" if advice else ""


def _tasks(look: Look) -> Iterable[str]:
    """Ids of tasks, the ready ones first."""
    current = look.store.tasks()
    if current is None:
        return ()
    ready = [str(number) for number in lists.ready(current)]
    rest = [str(task["id"]) for task in current["tasks"] if task["status"] != lists.COMPLETED]
    return dict.fromkeys([*ready, *rest])
