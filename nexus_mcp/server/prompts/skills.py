"""Build a prompt for each skill, also for a manual-only one, because a user requests a prompt by name."""

from __future__ import annotations

from functools import partial

from nexus_mcp.briefing.progress import progress_lines
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quote
from nexus_mcp.server.prompts.actions import outcome
from nexus_mcp.server.prompts.definition import Argument, Arguments, Prompt, own_words
from nexus_mcp.server.prompts.templates import typed_words, without_expansions
from nexus_mcp.server.resources.catalogued import body, harness_chapter
from nexus_mcp.state import tasks as lists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.server.resources.definition import ReadContext

RUN = "nx-run"
MAX_ROWS = 50
"""Largest number of task ids in one list of a text; task_list has all tasks."""
_REQUEST = Argument("request", "What it is about", "What it is about, in your own words.")


def prompts(ctx: ReadContext) -> list[Prompt]:
    """Return one prompt per skill, sorted by id. Raise StorageError."""
    skills = ctx.catalog().skills
    return [of_skill(ctx, name, skills[name], name) for name in sorted(skills)]


def of_skill(ctx: ReadContext, name: str, skill: dict[str, Any], called: str) -> Prompt:
    """Return the prompt for the skill `name`, registered as `called`: its own name or its tag."""
    modes = _modes(ctx, name)
    arguments = []
    if modes:
        meanings = "; ".join(f"{mode}: {text}" for mode, text in modes.items())
        arguments.append(
            Argument(
                "mode", "Mode", f"Leave it out for the usual way. {meanings}", lambda _: modes, fits=modes.__contains__
            )
        )
    if name == RUN:
        description = "Id of the one task to carry out; all of them when left out."
        arguments.append(Argument("task", "Task", description, _tasks, fits=str.isdecimal))
    return Prompt(
        called,
        title=skill["name"],
        description=skill["description"],
        arguments=(*arguments, _REQUEST),
        text=partial(_text, name=name, skill=skill, modes=modes),
        template=partial(_template, name=name, skill=skill, modes=modes),
    )


def _modes(ctx: ReadContext, name: str) -> dict[str, str]:
    """Return {variant: description} of all variants of the skill's tags."""
    tags = ctx.catalog().vocabulary["tags"].values()
    return {
        variant: entry["description"]
        for tag in tags
        if tag.get("skill") == name
        for variant, entry in tag["variants"].items()
    }


def _text(ctx: ReadContext, arguments: Arguments, *, name: str, skill: dict[str, Any], modes: dict[str, str]) -> str:
    parts = [body(ctx, "skills", name).strip(), f"## Where things stand\n\n{progress_lines(ctx.store.snapshot())}"]
    if (hint := _hint(ctx, name)) != "":
        parts.append(hint)
    if skill["harness_notes"]:
        parts.append(harness_chapter(ctx))
    if "mode" in arguments:
        parts.append(f"## Mode\n\n{arguments['mode']}: {modes[arguments['mode']]}")
    if "task" in arguments:
        parts.append(f"## Task\n\n{_only(ctx, arguments['task'])}")
    if "request" in arguments:
        parts.append(own_words("## What the user asks for", arguments["request"]))
    return "\n\n".join(parts)


def _template(
    ctx: ReadContext, values: dict[str, str], *, name: str, skill: dict[str, Any], modes: dict[str, str]
) -> str:
    """Return the text, the placeholders for the user's words, and how to recognize a mode or task id in these words."""
    text = without_expansions(_text(ctx, Arguments({}), name=name, skill=skill, modes=modes))
    known = ", ".join(f"`{mode}` ({meaning})" for mode, meaning in modes.items())
    hints = [f"If the first word is {known}, it is the mode."] if modes else []
    if name == RUN:
        hints.append("If the first word is a number, it is the id of the one task to carry out.")
    words = typed_words("## What the user asks for", values)
    return "\n\n".join([text, words, *hints])


def _only(ctx: ReadContext, task: str) -> str:
    """Return the instruction to carry out only this task; if there is no such task, the instruction to wait."""
    shown = quote(task, 40)
    only = f"Carry out only the task with the id {shown}"
    try:
        current = ctx.store.tasks()
    except NexusError:
        return only  # the progress lines report the error
    ids = [] if current is None else [str(one["id"]) for one in current["tasks"]]
    if current is not None and task in ids:
        return f"{only}{_waits(current, current['tasks'][ids.index(task)])}"
    there = f"the tasks are {', '.join(ids[:MAX_ROWS])}{', …' * (len(ids) > MAX_ROWS)}" if ids else "there are no tasks"
    return (
        f"There is no task {shown}; {there}. The number may be the first of the user's words and not a task id. "
        "Carry out nothing before the user has said which task is meant."
    )


def _waits(current: dict[str, Any], task: dict[str, Any]) -> str:
    """Return the unmet dependencies of the task as a sentence; "" if it has none or is not pending."""
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
    which = ", ".join(waits[:MAX_ROWS]) + ", …" * (len(waits) > MAX_ROWS)
    return (
        f". It is not ready: it depends on {which}. Tell the user so, and carry it out only once these tasks are "
        "completed, or if the user still wants it now."
    )


def _hint(ctx: ReadContext, name: str) -> str:
    """Return the instruction to give the user the advice of the skill's tag (Outcomes.of); "" without such advice."""
    tags = ctx.catalog().vocabulary["tags"]
    tag = next((tag for tag in tags if tags[tag].get("skill") == name), None)
    try:
        advice = "" if tag is None else outcome(ctx, tag)["advice"]
    except NexusError:
        return ""  # the progress lines report the error
    return f"Before anything else tell the user: {advice}" if advice else ""


def _tasks(ctx: ReadContext) -> Iterable[str]:
    """Return the ids of the tasks that are not completed, ready ones first."""
    current = ctx.store.tasks()
    if current is None:
        return ()
    ready = [str(number) for number in lists.ready(current)]
    rest = [str(task["id"]) for task in current["tasks"] if task["status"] != lists.COMPLETED]
    return dict.fromkeys([*ready, *rest])
