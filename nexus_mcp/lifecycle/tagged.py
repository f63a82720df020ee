"""The bracket tags of a message: those that do file work do it, of the others the model is told what to do.

The rules are those of docs/tags.md. A decision is for the model, which knows which question it answers.
"""

from __future__ import annotations

from nexus_mcp.lifecycle import active_skill, memory
from nexus_mcp.lifecycle.holding import skill_digest, skill_key
from nexus_mcp.lifecycle.known import catalog_of
from nexus_mcp.quoting import inert, quoted
from nexus_mcp.tags.message import Message, tag_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

_QUESTIONS, _TITLE = 20, 160


def give(ctx: EventContext, session: str, prompt: str) -> list[str]:
    """Carries out the tags that do file work, puts what became of all into the context, and remembers the last skill.

    Returns the tags, in order, in lower case.
    """
    catalog = catalog_of(ctx)
    message = Message(prompt, catalog.vocabulary["tags"])
    if not message.tags:
        return []
    from nexus_mcp.tags.route import routed

    done = _done(ctx, catalog, message)
    left = [tag for tag in message.tags if tag["start"] not in done]
    found = {tag["start"]: tag for tag in routed(message, left, catalog, ctx.store, ctx.harness_id)}
    skills: dict[str, dict[str, Any]] = {}
    for tag in message.tags:
        at = tag["start"]
        if at in done:
            ctx.give(_carried_out(tag, done[at]))
            continue
        if found[at]["outcome"] == "skill":
            skills[found[at]["skill"]] = found[at]
        ctx.give(_told(found[at]))
    if message.left_out:
        ctx.warn(f"The message has {message.left_out} more tags, which were not looked at.")
    if skills:
        _start(ctx, session, catalog, list(skills.values()))
    return [inert(f"{tag['tag']}:{tag['variant']}" if tag["variant"] else tag["tag"]) for tag in message.tags]


def _done(ctx: EventContext, catalog: Catalog, message: Message) -> dict[int, dict[str, Any]]:
    """Carry out the tags that do file work: what became of each, by the place of the tag."""
    from nexus_mcp.tags.act import steps
    from nexus_mcp.tags.actions import ACTIONS

    return {step["start"]: step for step in steps(message, catalog, ctx.store) if step["action"] in ACTIONS}


def _start(ctx: EventContext, session: str, catalog: Catalog, tags: list[dict[str, Any]]) -> None:
    """Give the texts of the skills that the model does not hold since a compaction; the last one is active then."""
    known = memory.recall(ctx, session)
    given: dict[str, str] = dict(known.get("given", {}))
    for tag in tags:
        skill, text = tag["skill"], _skill_text(catalog, ctx.harness_id, tag)
        key, seen = skill_key(skill), skill_digest(text)
        if given.get(key) != seen:
            ctx.instruct(text)
        elif (skill, tag["mode"]) != (known.get("skill"), known.get("mode", "")):
            mode = f"mode {tag['mode']}" if tag["mode"] else "without a mode"
            ctx.give(f"The skill {skill} is active now, {mode}. Work by its text, which you were given.")
        given[key] = seen
    fields = active_skill.begun(ctx, tags[-1]["skill"], tags[-1]["mode"])
    if "by" in known:  # there was a compaction: what comes after it is not given twice
        fields["given"] = given
    memory.note(ctx, session, **fields)


def _skill_text(catalog: Catalog, harness_id: str, tag: dict[str, Any]) -> str:
    from nexus_mcp.lifecycle.skill_text import text

    return text(catalog, harness_id, tag)


def _told(tag: dict[str, Any]) -> str:
    """One tag: what it asks for, and what is to be done first, or instead."""
    name, advice = f"The user's tag [{tag_name(tag)}]", f" {tag['advice']}" if tag["advice"] else ""
    if tag["outcome"] == "skill":
        return f"{name} starts the skill {tag['skill']}.{advice}"
    if tag["outcome"] == "nothing":
        return f"{name} does nothing as things are: {tag['advice']}"
    open_ones = tag["would"]["pending"]
    shown = [f"issue {issue['id']} {quoted(issue['title'], _TITLE)}" for issue in open_ones[:_QUESTIONS]]
    more = f" and {len(open_ones) - len(shown)} more" if len(open_ones) > len(shown) else ""
    return (
        f"{name} records the text behind it as a decision: call plan_decide for the question that it answers. "
        f"Open are {', '.join(shown)}{more}.{advice}"
    )


def _carried_out(tag: dict[str, Any], step: dict[str, Any]) -> str:
    """One tag that does file work: what became of it, and what is left to the user."""
    from nexus_mcp.tags.steps import lines

    name, advice = f"The user's tag [{tag_name(tag)}]", step["next_step"]
    if step["result"] == "failed":
        return f"{name} did nothing: {advice}"
    if step["result"] == "would_extend":
        from nexus_mcp.program import command

        asked = f"Ask the user which, and give that to the command {command('act')} on stdin."
        return f"{name} kept nothing yet. {advice} {asked}"
    what, *more = lines(step, quoting=True)
    asked = " Run that only if the user says so." if step.get("proposals") else ""
    return "\n".join([f"{name} is carried out already: {what}.", *more, f"Tell the user. {advice}{asked}".rstrip()])
