"""Remember what a session's model has in its context, and give it again after a compaction.

The memory is a file, because each hook is a new process. Without it the model only gets more text than needed.

A harness may report one compaction twice: by context_compact, and by session_start with source "compact". The second
event gives only what changed in between. A user message after that, or the same event again, starts anew.
"""

from __future__ import annotations

import os

from nexus_mcp.catalog.placeholders import command, resolved
from nexus_mcp.catalog.tool_names import ANY, called
from nexus_mcp.errors import NexusError
from nexus_mcp.knowledge.index import text as notes_text
from nexus_mcp.lifecycle.progress_text import HEAD, agents_text, plan_text, tasks_text
from nexus_mcp.lifecycle.sources import both_of, catalog_of, notes_of
from nexus_mcp.quoting import quoted_name
from nexus_mcp.state import session_memory
from nexus_mcp.state.agents import ANONYMOUS
from nexus_mcp.store import harness_files as file
from nexus_mcp.store.agents import read
from nexus_mcp.store.paths import PLAN, TASKS

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.state.session_memory import Entry

COMPACTED, STARTED, BOTH = "context_compact", "session_start", "both"
OTHER = {COMPACTED: STARTED, STARTED: COMPACTED}
SKILL, PLAN_TEXT, TASKS_TEXT = "skill", "plan", "tasks"
SEEN = "seen"
_OVER = dict.fromkeys(("skill", "mode", "work", "history"))


def recall(ctx: EventContext, session: str) -> dict[str, Any]:
    """Return the memory of a session: some of the keys skill, mode, work, history, given and by."""
    try:
        return session_memory.find(file.read_sessions(ctx.store, ctx.harness_id), session)
    except NexusError:  # reported by the next write
        return {}


def has_begun(ctx: EventContext) -> bool:
    """Return whether a session of this harness started here; other projects are not written to."""
    try:
        return file.has_place(ctx.store, ctx.harness_id)
    except NexusError:  # reported by the next write
        return True


def note(ctx: EventContext, session: str, **fields: object) -> None:
    """Update keys in the memory of a session; None removes a key."""
    now = ctx.store.stamp()
    _change(ctx, lambda entries: session_memory.note(entries, session, now, fields))


def update(ctx: EventContext, session: str, choose: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Update the memory of a session atomically with the result of `choose(memory)`.

    `choose` is called once without the lock, so also if the memory cannot be written, and again under the lock.
    """
    choose(recall(ctx, session))
    now = ctx.store.stamp()
    _change(
        ctx, lambda entries: session_memory.note(entries, session, now, choose(session_memory.find(entries, session)))
    )


def forget(ctx: EventContext, session: str) -> None:
    """Delete the memory of a session."""
    if recall(ctx, session):
        _change(ctx, lambda entries: session_memory.forget(entries, session))


def digest(text: str) -> str:
    """Return a short digest of a text. It need not be secure: forged collisions gain nothing."""
    from zlib import crc32

    data = text.encode("utf-8", "surrogatepass")
    return f"{len(data)}-{crc32(data):08x}"


def _change(ctx: EventContext, make: Callable[[list[Entry]], list[Entry]]) -> None:
    try:
        kept = file.change_sessions(ctx.store, ctx.harness_id, make)
    except NexusError as error:
        ctx.warn(f"The state of this session could not be saved, so texts may be repeated: {error}")
        return
    if kept:
        ctx.warn(f"The saved state of earlier sessions could not be read, and is kept as {kept}. Check its content.")


def skill_key(skill: str) -> str:
    """Return the key of the text of a skill in the memory."""
    return f"{SKILL}:{skill}"


def skill_digest(text: str) -> str:
    """Return the digest of the text of a skill without its first line, which only names the mode."""
    return digest(text.partition("\n\n")[2])


def select_new(ctx: EventContext, session: str, parts: dict[str, str]) -> list[str]:
    """Return the non-empty parts that the model does not have since a compaction, and remember them.

    Before the first compaction every message gets all parts.
    """
    known = recall(ctx, session)
    before: dict[str, str] = known.get("given", {})
    if "by" not in known:
        return [text for text in parts.values() if text]
    digests = {name: digest(text) for name, text in parts.items() if text}
    now = {**{name: seen for name, seen in before.items() if name not in parts}, **digests}
    if now != before or known["by"] in OTHER:
        note(ctx, session, given=now or None, by=BOTH)
    return [text for name, text in parts.items() if text and digests[name] != before.get(name)]


def active(ctx: EventContext, catalog: Catalog, skill: str, mode: str) -> str:
    """Return the text of the active skill, fresh from disk; "" with a warning if it cannot be read."""
    from nexus_mcp.tags.skills import harness_notes

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
        "mode": mode if mode in modes else "",  # from an untrusted file, and the text is an instruction
        "body": body,
        "harness_notes": harness_notes(entry, ctx.harness_id),
    }
    return text(catalog, ctx.harness_id, routed)


def text(catalog: Catalog, harness_id: str, routed: Mapping[str, str]) -> str:
    """Return the text of a skill: mode, body with placeholders resolved, and the notes of the harness.

    `routed` has skill, mode, body and harness_notes, as in the outcome of a tag (tags/route.py).
    """
    mode = f", mode {routed['mode']}" if routed["mode"] else ""
    head = f"The skill {routed['skill']} is active{mode}. Work by its text:"
    parts = (head, _worded(catalog, harness_id, routed["body"]), routed["harness_notes"])
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _worded(catalog: Catalog, harness_id: str, body: str) -> str:
    known, invocations = catalog.maps.get(harness_id), catalog.vocabulary["invocations"]
    naming = ANY if known is None else known["nexus_tools"]
    return resolved(
        body,
        {
            "tool": lambda name: f"`{called(naming, name)}`",
            "agent": str,
            "skill": str,
            "command": lambda name: command(name, harness_id),
            "action": lambda name: str(invocations[name]["say"]) if name in invocations else name,
        },
    )


def skill_fields(ctx: EventContext, skill: str, mode: str) -> dict[str, object]:
    """Return the memory keys for a skill that a tag starts now."""
    return {**_OVER, "skill": skill, "mode": mode or None, "history": _history(ctx)}


def follow(ctx: EventContext, session: str) -> dict[str, Any]:
    """Return the memory of the session, without a skill that has ended; record whether there is work for it.

    Closing a cycle removes plan and tasks together. So a skill ends if it had either and now has neither, or if the
    history has grown since its start. A skill that never had work lasts until another starts, or the session ends.
    """
    known = recall(ctx, session)
    if "skill" not in known:
        return known
    fields: dict[str, Any] = {}
    if _has_work(ctx):
        fields = {} if "work" in known else {"work": SEEN}
    elif "work" in known or known.get("history", "") not in ("", _history(ctx)):
        fields = _OVER
    if fields:
        note(ctx, session, **fields)
    return {name: value for name, value in {**known, **fields}.items() if value is not None}


def _has_work(ctx: EventContext) -> bool:
    """Return whether there is a plan or a task list. A malformed file counts: its cycle is not closed."""
    try:
        with ctx.store.state() as state:
            return state is not None and (state.check_plain(PLAN) or state.check_plain(TASKS))
    except NexusError:  # reported by the next read
        return True


def _history(ctx: EventContext) -> str:
    """Return the size of history.json in bytes, which grows with each closed cycle."""
    try:
        return str(os.lstat(os.path.join(ctx.workspace.root, ".nexus", "history.json")).st_size)
    except OSError:  # absent; other errors are reported by the next read
        return "0"


def give(ctx: EventContext, session: str, *, by: str) -> None:
    """Add the parts to the context, fresh from disk, except those that the other event gave for this compaction."""
    known = follow(ctx, session)
    parts = _parts(ctx, known, session)
    skill = parts.pop(SKILL, "")
    digests = {name: digest(text) for name, text in parts.items()}
    key = skill_key(known["skill"]) if skill else ""
    if skill:
        digests[key] = skill_digest(skill)
    before: dict[str, str] = {}

    def settled(now: dict[str, Any]) -> dict[str, Any]:
        nonlocal before
        is_second = now.get("by") == OTHER[by]
        before = now.get("given", {}) if is_second else {}
        return {"given": digests or None, "by": BOTH if is_second else by}

    if digests or has_begun(ctx):  # a project without Nexus is not written to
        update(ctx, session, settled)
    new = [text for name, text in parts.items() if digests[name] != before.get(name)]
    if skill and digests[key] != before.get(key):
        ctx.instruct(skill)
    if new:
        ctx.give(HEAD, *new)


def _parts(ctx: EventContext, known: dict[str, str], session: str) -> dict[str, str]:
    """Return name and text of each non-empty part."""
    skill = _skill(ctx, known)
    plan, tasks = both_of(ctx)
    parts = {
        SKILL: skill,
        PLAN_TEXT: plan_text(plan),
        TASKS_TEXT: tasks_text(tasks),
        "notes": notes_text(notes_of(ctx)),
        "agents": _agents(ctx, session),
    }
    return {name: text for name, text in parts.items() if text}


def _skill(ctx: EventContext, known: dict[str, str]) -> str:
    if "skill" not in known:
        return ""
    return active(ctx, catalog_of(ctx), known["skill"], known.get("mode", ""))


def _agents(ctx: EventContext, session: str) -> str:
    """Return the text about the agents of the session, and those without a known session."""
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
