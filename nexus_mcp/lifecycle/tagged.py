"""What the bracket tags of a message ask for, as the model is told it; nothing is carried out (contract.md §5)."""

from __future__ import annotations

from nexus_mcp.knowledge.shown import quoted
from nexus_mcp.lifecycle import memory
from nexus_mcp.lifecycle.holding import skill_digest, skill_key
from nexus_mcp.lifecycle.known import catalog_of
from nexus_mcp.log import printable
from nexus_mcp.tags.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

_QUESTIONS, _TITLE = 20, 160


def give(ctx: EventContext, session: str, prompt: str) -> list[str]:
    """Puts what the tags ask for into the context, and remembers the skill that the last of them starts.

    The tags, in order, in lower case.
    """
    catalog = catalog_of(ctx)
    if not parse(prompt, catalog.vocabulary["tags"]):
        return []
    from nexus_mcp.tags.route import route

    routed = route(prompt, catalog, ctx.store, ctx.harness_id)
    skills: dict[str, dict[str, Any]] = {}
    for tag in routed["tags"]:
        if tag["outcome"] == "skill":
            skills[tag["skill"]] = tag
        ctx.context.append(_told(tag))
    if routed["left_out"]:
        ctx.warn(f"The message has {routed['left_out']} more tags, which were not looked at.")
    if skills:
        _start(ctx, session, catalog, list(skills.values()))
    return [_name(tag) for tag in routed["tags"]]


def _start(ctx: EventContext, session: str, catalog: Catalog, tags: list[dict[str, Any]]) -> None:
    """Give the texts of the skills that the model does not hold since a compaction; the last one is active then."""
    known = memory.recall(ctx, session)
    given: dict[str, str] = dict(known.get("given", {}))
    for tag in tags:
        skill, text = tag["skill"], _skill_text(catalog, ctx.harness_id, tag)
        key, seen = skill_key(skill), skill_digest(text)
        if given.get(key) != seen:
            ctx.context.append(text)
        elif (skill, tag["mode"]) != (known.get("skill"), known.get("mode", "")):
            mode = f"mode {tag['mode']}" if tag["mode"] else "without a mode"
            ctx.context.append(f"The skill {skill} is active now, {mode}. Work by its text, which you were given.")
        given[key] = seen
    fields: dict[str, object] = {"skill": tags[-1]["skill"], "mode": tags[-1]["mode"] or None, "work": None}
    if "by" in known:  # there was a compaction: what comes after it is not given twice
        fields["given"] = given
    memory.note(ctx, session, **fields)


def _skill_text(catalog: Catalog, harness_id: str, tag: dict[str, Any]) -> str:
    from nexus_mcp.lifecycle.skill_text import text

    return text(catalog, harness_id, tag)


def _told(tag: dict[str, Any]) -> str:
    """One tag: what it asks for, and what is to be done first, or instead."""
    name, advice = f"The user's tag [{_name(tag)}]", f" {tag['advice']}" if tag["advice"] else ""
    if tag["outcome"] == "skill":
        return f"{name} starts the skill {tag['skill']}.{advice}"
    if tag["outcome"] == "nothing":
        return f"{name} does nothing as things are: {tag['advice']}"
    if tag["action"] == "plan_decide":
        open_ones = tag["would"]["pending"]
        shown = [f"{issue['id']} {quoted(issue['title'], _TITLE)}" for issue in open_ones[:_QUESTIONS]]
        more = f" and {len(open_ones) - len(shown)} more" if len(open_ones) > len(shown) else ""
        return (
            f"{name} records the text behind it as a decision: call plan_decide for the question that it answers. "
            f"Open are {', '.join(shown)}{more}.{advice}"
        )
    path = tag["would"].get("path")
    what = f", for {path}" if path else ""
    return (
        f"{name} asks for {tag['action']}{what}. Carry it out: give the tag, and the text that the user wrote behind "
        f"it, to the command nexus-mcp act on stdin, and tell the user what it answers.{advice}"
    )


def _name(tag: dict[str, Any]) -> str:
    return printable(f"{tag['tag']}:{tag['variant']}" if tag["variant"] else tag["tag"])
