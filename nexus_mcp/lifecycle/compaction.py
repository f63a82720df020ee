"""What a model is given after its context was compacted, and that it is given only once.

A harness may tell of one compaction twice: by context_compact, and by session_start with the source "compact". The one
that comes second gives nothing but what changed between. A message of the user after that is a new beginning, and so is
the same event again: it is of another compaction, which took away what was given.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.knowledge.shown import text as notes_text
from nexus_mcp.lifecycle import active_skill, memory
from nexus_mcp.lifecycle.holding import BOTH, OTHER, PLAN, SKILL, TASKS, skill_digest, skill_key
from nexus_mcp.lifecycle.known import catalog_of, notes_of
from nexus_mcp.lifecycle.picture import HEAD, agents_text, plan_text, tasks_text
from nexus_mcp.lifecycle.stored import both_of
from nexus_mcp.state.agent_records import ANONYMOUS
from nexus_mcp.store.agent_files import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext


def give(ctx: EventContext, session: str, *, by: str) -> None:
    """Put the parts into the context, fresh from disk, but for those that the other event gave for this compaction."""
    known = active_skill.follow(ctx, session)
    parts = _parts(ctx, known, session)
    skill = parts.pop(SKILL, "")
    given = {name: memory.digest(text) for name, text in parts.items()}
    key = skill_key(known["skill"]) if skill else ""
    if skill:
        given[key] = skill_digest(skill)
    before: dict[str, str] = {}

    def settled(now: dict[str, Any]) -> dict[str, Any]:
        nonlocal before
        is_second = now.get("by") == OTHER[by]
        before = now.get("given", {}) if is_second else {}
        return {"given": given or None, "by": BOTH if is_second else by}

    if given or memory.has_begun(ctx):  # a project without Nexus is left as it is
        memory.settle(ctx, session, settled)
    new = [text for name, text in parts.items() if given[name] != before.get(name)]
    if skill and given[key] != before.get(key):
        ctx.instruct(skill)
    if new:
        ctx.give(HEAD, *new)


def _parts(ctx: EventContext, known: dict[str, str], session: str) -> dict[str, str]:
    """Name and text of each part that there is."""
    skill = _skill(ctx, known)
    plan, tasks = both_of(ctx)
    parts = {
        SKILL: skill,
        PLAN: plan_text(plan),
        TASKS: tasks_text(tasks),
        "notes": notes_text(notes_of(ctx)),
        "agents": _agents(ctx, session),
    }
    return {name: text for name, text in parts.items() if text}


def _skill(ctx: EventContext, known: dict[str, str]) -> str:
    if "skill" not in known:
        return ""
    from nexus_mcp.lifecycle.skill_text import active

    return active(ctx, catalog_of(ctx), known["skill"], known.get("mode", ""))


def _agents(ctx: EventContext, session: str) -> str:
    """The agents of the session, and those of which no session is known."""
    entries: list[dict[str, Any]] = []
    fault: NexusError | None
    try:
        agents = read(ctx.store, ctx.harness_id)
        records, fault = agents.records, agents.fault or agents.extension_fault
        for entry in records.entries:
            if records.session_of(entry) in (session, ANONYMOUS):
                name = next(iter(records.names_of(entry)), None)
                entries.append({**entry, "agent_name": name})
    except NexusError as error:
        fault = error
    if fault is not None:
        head = "Not all agents of this session are known" if entries else "The agents of this session are not known"
        ctx.warn(f"{head}: {fault.fault}. {fault.next_step}".rstrip())
    return agents_text(entries)
