"""Handle the bracket tags of a message: carry out those that write files, and tell the model what the others ask for.

The rules are in docs/tags.md. A decision is left to the model, which knows the question that it answers.
"""

from __future__ import annotations

from nexus_mcp.lifecycle import session_context
from nexus_mcp.lifecycle.session_context import skill_digest, skill_key
from nexus_mcp.lifecycle.sources import catalog_of
from nexus_mcp.quoting import inert, quoted
from nexus_mcp.tags.parse import Message, tag_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

_QUESTIONS, _TITLE = 20, 160


def give(ctx: EventContext, session: str, prompt: str) -> list[str]:
    """Carry out the tags that write files, add the result of each tag to the context, and remember the last skill.

    Return the tags, in order, in lower case.
    """
    catalog = catalog_of(ctx)
    message = Message(prompt, catalog.vocabulary["tags"])
    if not message.tags:
        return []
    from nexus_mcp.tags.route import route_tags

    done = _carry_out(ctx, catalog, message)
    left = [tag for tag in message.tags if tag["start"] not in done]
    found = {tag["start"]: tag for tag in route_tags(message, left, catalog, ctx.store, ctx.harness_id)}
    skills: dict[str, dict[str, Any]] = {}
    for tag in message.tags:
        at = tag["start"]
        if at in done:
            ctx.give(_describe_result(tag, done[at]))
            continue
        if found[at]["outcome"] == "skill":
            skills[found[at]["skill"]] = found[at]
        ctx.give(_describe(found[at]))
    if message.left_out:
        ctx.warn(f"The message has {message.left_out} more tags, which were not looked at.")
    if skills:
        _start(ctx, session, catalog, list(skills.values()))
    return [inert(f"{tag['tag']}:{tag['variant']}" if tag["variant"] else tag["tag"]) for tag in message.tags]


def _carry_out(ctx: EventContext, catalog: Catalog, message: Message) -> dict[int, dict[str, Any]]:
    """Carry out the tags that write files; return the step of each by the position of the tag."""
    from nexus_mcp.tags.act import run_steps
    from nexus_mcp.tags.actions import ACTIONS

    return {step["start"]: step for step in run_steps(message, catalog, ctx.store) if step["action"] in ACTIONS}


def _start(ctx: EventContext, session: str, catalog: Catalog, tags: list[dict[str, Any]]) -> None:
    """Give the texts of the skills that the model does not have since a compaction; the last one becomes active."""
    known = session_context.recall(ctx, session)
    digests: dict[str, str] = dict(known.get("given", {}))
    for tag in tags:
        skill, text = tag["skill"], _skill_text(catalog, ctx.harness_id, tag)
        key, seen = skill_key(skill), skill_digest(text)
        if digests.get(key) != seen:
            ctx.instruct(text)
        elif (skill, tag["mode"]) != (known.get("skill"), known.get("mode", "")):
            mode = f"mode {tag['mode']}" if tag["mode"] else "without a mode"
            ctx.give(f"The skill {skill} is active now, {mode}. Follow its text, which you have.")
        digests[key] = seen
    fields = session_context.skill_fields(ctx, tags[-1]["skill"], tags[-1]["mode"])
    if "by" in known:  # after a compaction no text is repeated
        fields["given"] = digests
    session_context.note(ctx, session, **fields)


def _skill_text(catalog: Catalog, harness_id: str, tag: dict[str, Any]) -> str:
    from nexus_mcp.lifecycle.session_context import text

    return text(catalog, harness_id, tag)


def _describe(tag: dict[str, Any]) -> str:
    """Describe the request of one tag, and what to do first or instead."""
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


def _describe_result(tag: dict[str, Any], step: dict[str, Any]) -> str:
    """Describe the result of one tag that writes files, and the next step."""
    from nexus_mcp.tags.act import lines

    name, advice = f"The user's tag [{tag_name(tag)}]", step["next_step"]
    if step["result"] == "failed":
        return f"{name} did nothing: {advice}"
    if step["result"] == "would_extend":
        from nexus_mcp.program import command

        question = f"Ask the user which, and give that to the command {command('act')} on stdin."
        return f"{name} stored nothing yet. {advice} {question}"
    what, *more = lines(step, quoting=True)
    question = " Run that only if the user says so." if step.get("proposals") else ""
    return "\n".join([f"{name} is carried out already: {what}.", *more, f"Tell the user. {advice}{question}".rstrip()])
