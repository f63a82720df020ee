"""user_message: handle the tags of a message, and describe the progress.

Tags that write files are carried out here. What the others ask for is told to the model, a decision among them: the
model knows the question that it answers. The rules are in docs/tags.md.
"""

from __future__ import annotations

from nexus_mcp.briefing.progress import HEAD, plan_text, tasks_text
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.session_context import PLAN_TEXT, TASKS_TEXT, SessionMemory, skill_text
from nexus_mcp.lifecycle.sources import both_of, catalog_of, snapshot_of, tell_copies
from nexus_mcp.quoting import inert, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_QUESTIONS, _TITLE = 20, 160


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Describe what the bracket tags ask for, and the progress of plan and tasks.

    The message is never changed, and its text is not returned.
    """
    prompt = params.get("prompt", "")
    plan, tasks = both_of(ctx)
    parts = {PLAN_TEXT: plan_text(plan), TASKS_TEXT: tasks_text(tasks)}
    memory = SessionMemory(ctx, params.get("session_id", ""))
    tags = _handle_tags(ctx, memory, prompt) if "[" in prompt else []
    memory.end_skill(has_work=not (plan is None and tasks is None))
    tell_copies(ctx)
    new = memory.select_new(parts)
    memory.save()
    if new:
        ctx.give(HEAD, *new)
    return {"tags": tags}


def _handle_tags(ctx: EventContext, memory: SessionMemory, prompt: str) -> list[str]:
    """Carry out the tags that write files, add the result of each tag to the context, and note the last skill.

    Return the tags, in order, in lower case.
    """
    from nexus_mcp.tags.parse import Message, tag_name

    catalog = catalog_of(ctx)
    message = Message(prompt, catalog.vocabulary["tags"])
    if not message.tags:
        return []
    from nexus_mcp.tags.act import run_steps
    from nexus_mcp.tags.actions import ACTIONS
    from nexus_mcp.tags.route import Outcomes

    steps = run_steps(message, catalog, ctx.store)
    done = {step["start"]: step for step in steps if step["action"] in ACTIONS}
    outcomes = Outcomes(catalog, ctx.store, ctx.harness_id, snapshot_of(ctx))
    skills: dict[str, tuple[str, str]] = {}
    for tag in message.tags:
        at, name = tag["start"], f"The user's tag [{tag_name(tag)}]"
        if at in done:
            ctx.give(_describe_result(name, done[at]))
            continue
        one = {**tag, **outcomes.with_warning(message, tag)}
        ctx.give(_describe(name, one))
        if one["outcome"] == "skill":
            skills[one["skill"]] = one["mode"], skill_text(catalog, ctx.harness_id, one)
    if message.left_out:
        ctx.warn(f"The message has {message.left_out} more tags, which were not looked at.")
    for skill, mode, text in memory.select_skills(skills) if skills else ():
        if text:
            ctx.instruct(text)
        else:
            how = f"mode {mode}" if mode else "without a mode"
            ctx.give(f"The skill {skill} is active now, {how}. Follow its text, which you have.")
    return [inert(f"{tag['tag']}:{tag['variant']}" if tag["variant"] else tag["tag"]) for tag in message.tags]


def _describe(name: str, tag: dict[str, Any]) -> str:
    """Describe one tag: what it asks for, and what to do first or instead."""
    advice = f" {tag['advice']}" if tag["advice"] else ""
    if tag["outcome"] == "skill":
        return f"{name} starts the skill {tag['skill']}.{advice}"
    if tag["outcome"] == "nothing":
        return f"{name} does nothing as things are:{advice}"
    open_ones = tag["would"]["pending"]
    shown = [f"issue {issue['id']} {quoted(issue['title'], _TITLE)}" for issue in open_ones[:_QUESTIONS]]
    more = f" and {len(open_ones) - len(shown)} more" if len(open_ones) > len(shown) else ""
    return (
        f"{name} records the text behind it as a decision: call plan_decide for the question that it answers. "
        f"Open are {', '.join(shown)}{more}.{advice}"
    )


def _describe_result(name: str, step: dict[str, Any]) -> str:
    """Describe the result of one tag that writes files, and the next step."""
    from nexus_mcp.tags.act import lines

    advice = step["next_step"]
    if step["result"] == "failed":
        return f"{name} did nothing: {advice}"
    if step["result"] == "would_extend":
        from nexus_mcp.program import command

        question = f"Ask the user which, and give that to the command {command('act')} on stdin."
        return f"{name} stored nothing yet. {advice} {question}"
    what, *more = lines(step, quoting=True)
    question = " Run that only if the user says so." if step.get("proposals") else ""
    return "\n".join([f"{name} is carried out already: {what}.", *more, f"Tell the user. {advice}{question}".rstrip()])


EVENT = Event(optional=("prompt", "session_id"), run=run)
