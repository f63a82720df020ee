"""user_message: handle the tags of a message, and describe the progress.

Tags that write files are carried out here. For any other tag the answer tells the model what to do. A [d] also goes to
the model if only the model knows which question the user decided. The rules are in docs/tags.md.

Only words of the user can have tags. Some harnesses also report the answer of a subagent, the text of a command or
their own notices as messages: a tag in such a message is plain text. Tags in a session of a run are plain text, too.
"""

from __future__ import annotations

import os

from nexus_mcp.briefing.progress import HEAD, plan_text, tasks_text
from nexus_mcp.lifecycle.budget import SKILL, STATE
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.session_memory import PLAN_TEXT, TASKS_TEXT, SessionMemory
from nexus_mcp.lifecycle.skill_hints import give_hints
from nexus_mcp.lifecycle.sources import both_of, catalog_of, snapshot_of, tell_copies
from nexus_mcp.quoting import inert, quote
from nexus_mcp.wording import join_first
from nexus_mcp.workspace import RUN_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USER = "user"
"""The origin of a message that the user typed, and the default. The others are agent, command and system."""
_QUESTIONS, _TITLE, _WORDS = 20, 160, 400


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Carry out or describe the bracket tags, and describe the progress of plan and tasks.

    The message itself stays as it is.
    """
    is_typed = params.get("origin", USER) == USER and not os.environ.get(RUN_VARIABLE)
    prompt = params.get("prompt", "") if is_typed else ""
    memory = SessionMemory(ctx, params.get("session_id", ""))
    for warning in memory.take_carried():
        ctx.warn(warning)
    tags = _handle_tags(ctx, memory, prompt) if "[" in prompt else []
    give_hints(ctx, memory, prompt)
    plan, tasks = both_of(ctx)  # read after the tags, because one of them may have recorded a decision
    parts = {PLAN_TEXT: plan_text(plan), TASKS_TEXT: tasks_text(tasks)}
    memory.end_skill(has_work=not (plan is None and tasks is None))
    memory.begin_turn()
    tell_copies(ctx)
    new = memory.select_new(parts)
    memory.save()
    if new:
        ctx.give(HEAD, *new, kind=STATE)
    return {"tags": tags}


def _handle_tags(ctx: EventContext, memory: SessionMemory, prompt: str) -> list[str]:
    """Carry out the tags that write files, describe each tag in the context, and note the last skill as active.

    Return the tags, in order, in lower case.
    """
    from nexus_mcp.tags.parse import Message, tag_name

    catalog = catalog_of(ctx)
    message = Message(prompt, catalog.vocabulary["tags"])
    if not message.tags:
        return []
    from nexus_mcp.lifecycle.session_context import skill_text
    from nexus_mcp.tags.act import run_steps
    from nexus_mcp.tags.actions import decide
    from nexus_mcp.tags.route import Outcomes

    steps = run_steps(message, catalog, ctx.store, ctx.harness_id, ctx.host.actor)
    # A decision that was not recorded is left to the model: _describe names the questions.
    done = {step["start"]: step for step in steps if step["action"] != decide.NAME or "path" in step}
    outcomes = Outcomes(catalog, ctx.store, ctx.harness_id, snapshot_of(ctx))
    skills: dict[str, tuple[str, str]] = {}
    words: dict[str, str] = {}
    for tag in message.tags:
        at, name = tag["start"], f"The user's tag [{tag_name(tag)}]"
        if at in done:
            ctx.give(_describe_result(name, done[at]))
            continue
        one = outcomes.with_warning(message, tag)
        ctx.give(_describe(name, one))
        if one["outcome"] == "skill":
            skills[one["skill"]] = one["mode"], skill_text(catalog, ctx.harness_id, one)
            words[one["skill"]] = tag["text"]
    if message.left_out:
        ctx.warn(f"The message has {message.left_out} more tags, which were ignored.")
    if skills and ctx.host.has_skills:
        for skill, (mode, _) in skills.items():
            ctx.give(_start_text(skill, mode, words[skill]), kind=SKILL)
        memory.note_skill(skill, mode)
        skills = {}
    for skill, mode, text in memory.select_skills(skills) if skills else ():
        if text:
            ctx.instruct(skill, text)
        else:
            how = f"mode {mode}" if mode else "without a mode"
            ctx.give(f"The skill {skill} is active now, {how}. Follow its text, which you have.")
    return [inert(f"{tag['tag']}:{tag['variant']}" if tag["variant"] else tag["tag"]) for tag in message.tags]


def _start_text(skill: str, mode: str, words: str) -> str:
    """Return the instruction to start a skill that the harness has."""
    with_words = f", with: {quote(words.strip(), _WORDS)}" if words.strip() else ""
    return f"Start the skill {skill} now{f', mode {mode}' if mode else ''}{with_words}."


def _describe(name: str, tag: dict[str, Any]) -> str:
    """Describe one tag: the requested action, and the advice on what to do first or instead."""
    advice = f" {tag['advice']}" if tag["advice"] else ""
    if tag["outcome"] == "skill":
        return f"{name} starts the skill {tag['skill']}.{advice}"
    if tag["outcome"] == "nothing":
        return f"{name} does nothing now:{advice}"
    if "issue" in tag["would"]:
        issue = tag["would"]["issue"]
        shown_issue = f"issue {issue['id']} {quote(issue['title'], _TITLE)}"
        return f"{name} records the text behind it as a decision: call plan_decide for {shown_issue}.{advice}"
    pending = tag["would"]["pending"]
    shown = join_first(pending, _QUESTIONS, lambda issue: f"issue {issue['id']} {quote(issue['title'], _TITLE)}")
    return (
        f"{name} records the text behind it as a decision: call plan_decide for the question that it answers. "
        f"Open are {shown}.{advice}"
    )


def _describe_result(name: str, step: dict[str, Any]) -> str:
    """Describe the result of one tag that writes files, and the next step."""
    from nexus_mcp.tags.act import lines

    advice = step["next_step"]
    if step["result"] == "failed":
        return f"{name} did nothing: {advice}"
    if step["result"] == "would_extend":
        from nexus_mcp.program import command

        question = f"Ask the user which of the two, and pass that message to the command {command('act')} on stdin."
        return f"{name} stored nothing yet. {advice} {question}"
    what, *more = lines(step, quoting=True)
    question = " Run that command only if the user says so." if step.get("proposals") else ""
    return "\n".join([f"{name} is carried out already: {what}.", *more, f"Tell the user. {advice}{question}".rstrip()])


EVENT = Event(optional=("prompt", "origin", "session_id"), run=run)
