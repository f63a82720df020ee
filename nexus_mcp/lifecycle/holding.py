"""What the model holds since a compaction, and need not be told again."""

from __future__ import annotations

from nexus_mcp.lifecycle import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.lifecycle.definition import EventContext

COMPACTED, STARTED, BOTH = "context_compact", "session_start", "both"
OTHER = {COMPACTED: STARTED, STARTED: COMPACTED}
SKILL, PLAN, TASKS = "skill", "plan", "tasks"


def skill_key(skill: str) -> str:
    """The name under which the text of a skill is remembered."""
    return f"{SKILL}:{skill}"


def skill_digest(text: str) -> str:
    """Of the text of a skill without its first line: in another mode it is the same text."""
    return memory.digest(text.partition("\n\n")[2])


def not_held(ctx: EventContext, session: str, parts: dict[str, str]) -> list[str]:
    """Those of the parts that the model does not hold since a compaction, for a message of the user. Empty ones go.

    What is new is held from now on. Before the first compaction nothing is: the work is told with each message.
    """
    known = memory.recall(ctx, session)
    before: dict[str, str] = known.get("given", {})
    if "by" not in known:
        return [text for text in parts.values() if text]
    digests = {name: memory.digest(text) for name, text in parts.items() if text}
    now = {**{name: seen for name, seen in before.items() if name not in parts}, **digests}
    if now != before or known["by"] in OTHER:
        memory.note(ctx, session, given=now or None, by=BOTH)
    return [text for name, text in parts.items() if text and digests[name] != before.get(name)]
