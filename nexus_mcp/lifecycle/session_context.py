"""Send the working context of a session again after a compaction.

The memory (session_memory.py) records the texts that the model has, so that two events of one compaction send no text
twice.
"""

from __future__ import annotations

from nexus_mcp.briefing.progress import HEAD, agents_text, plan_text, tasks_text
from nexus_mcp.errors import NexusError
from nexus_mcp.knowledge.index import text as notes_text
from nexus_mcp.lifecycle.budget import NOTES, STATE
from nexus_mcp.lifecycle.budget import SKILL as SKILL_KIND
from nexus_mcp.lifecycle.session_memory import (
    BOTH,
    DIGESTS,
    OTHER,
    PLAN_TEXT,
    SKILL,
    TASKS_TEXT,
    SessionMemory,
    digest,
    skill_digest,
)
from nexus_mcp.lifecycle.sources import both_of, catalog_of, notes_of
from nexus_mcp.quoting import quoted_name
from nexus_mcp.state.agents import ANONYMOUS
from nexus_mcp.store.agents import read

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.lifecycle.session_memory import Entry


def give(ctx: EventContext, session: str, *, by: str) -> None:
    """Add the working context of the session, read from disk now, to the answer.

    `by` names this event, COMPACTED or STARTED. A part that the other event of the same compaction has sent, and that
    has not changed since, is left out.
    """
    memory = SessionMemory(ctx, session)
    plan, tasks = both_of(ctx)
    memory.end_skill(has_work=not (plan is None and tasks is None))
    active = memory.fields.get("skill", "")
    skill = _active_text(ctx, active, memory.fields.get("mode", "")) if active else ""
    parts = {
        PLAN_TEXT: plan_text(plan),
        TASKS_TEXT: tasks_text(tasks),
        "notes": notes_text(notes_of(ctx)),
        "agents": _agents(ctx, session),
    }
    parts = {name: text for name, text in parts.items() if text}
    digests = {name: digest(text) for name, text in parts.items()}
    key = f"{SKILL}:{active}"
    if skill:
        digests[key] = skill_digest(skill)
    before: dict[str, str] = {}

    def settle(now: Entry) -> dict[str, Any]:
        nonlocal before
        is_second = now.get("by") == OTHER[by]
        before = now.get(DIGESTS, {}) if is_second else {}
        return {DIGESTS: digests or None, "by": BOTH if is_second else by}

    settle(memory.fields)  # sets `before` even if the memory cannot be written
    if digests or memory.has_place:  # without `.nexus/` both are false, and nothing is written
        memory.save(settle)
    new = {name: text for name, text in parts.items() if digests[name] != before.get(name)}
    if skill and digests[key] != before.get(key):
        if ctx.host.has_skills:
            # Claude Code may keep the text of a skill through a compaction.
            ctx.give(f"The skill {active} is active. If you do not have its text, start it again.", kind=SKILL_KIND)
        else:
            ctx.instruct(active, skill)
    if new:
        ctx.give(HEAD, kind=STATE)
        for name, text in new.items():
            ctx.give(text, kind=NOTES if name == "notes" else STATE)


def skill_text(catalog: Catalog, harness_id: str, routed: Mapping[str, str]) -> str:
    """Return the text of a skill: its name and mode, the body with placeholders resolved, and the notes of the harness.

    `routed` has skill, mode, body and harness_notes, as in the outcome of a tag (tags/route.py).
    """
    mode = f", mode {routed['mode']}" if routed["mode"] else ""
    head = f"The skill {routed['skill']} is active{mode}. Work by its text:"
    body = catalog.resolve(routed["body"], harness_id, catalog.naming(harness_id))
    return "\n\n".join(part.strip() for part in (head, body, routed["harness_notes"]) if part.strip())


def _active_text(ctx: EventContext, skill: str, mode: str) -> str:
    """Return the text of the active skill, fresh from disk; "" with a warning if it cannot be read."""
    catalog = catalog_of(ctx)
    try:
        entry, body = catalog.skill(skill), catalog.body("skills", skill)
    except NexusError as error:
        ctx.warn(f"The text of the skill {quoted_name(skill)} could not be read: {error}")
        return ""
    modes = {
        name for tag in catalog.vocabulary["tags"].values() if tag.get("skill") == skill for name in tag["variants"]
    }
    routed = {
        "skill": skill,
        # `mode` is from an untrusted file, and the model would follow any text that is in it.
        "mode": mode if mode in modes else "",
        "body": body,
        "harness_notes": catalog.notes(ctx.harness_id) if entry["harness_notes"] else "",
    }
    return skill_text(catalog, ctx.harness_id, routed)


def _agents(ctx: EventContext, session: str) -> str:
    """Return the text about the agents of the session, and those without a known session.

    Warn if the files of the agents have a fault.
    """
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
