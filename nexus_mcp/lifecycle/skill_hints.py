"""Give the hints of skills whose triggers are in the first message of a session.

A skill names its triggers and its hint in meta.yml. The hint only tells the model that the skill exists. A skill starts
only by the user's tag, or if the model chooses it. Later messages of the session, and a message that starts a skill,
get no hint. A project in which no session of this harness started gets no hint either, because the record of the hint
would be the first file of this harness in the project.
"""

from __future__ import annotations

from nexus_mcp.lifecycle.session_memory import HINTED, SEEN
from nexus_mcp.lifecycle.sources import catalog_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.lifecycle.session_memory import SessionMemory

MOST = 3
"""Maximum hints of one message."""
SEARCHED = 1 << 16
"""Characters at the beginning of a message that are searched for triggers."""
_WIDE = "\u2e80"  # characters from this code point on count as scripts without blanks between words, such as Chinese


def give_hints(ctx: EventContext, memory: SessionMemory, prompt: str) -> None:
    """Add the hints of the matching skills to the context, if this is the first message of the session.

    This function notes in `memory` that the first message has passed; the caller saves it.
    """
    if HINTED in memory.fields or not memory.has_place:
        return
    memory.note({HINTED: SEEN})
    if "skill" in memory.fields:
        return
    for skill in find_skills(catalog_of(ctx).skills, prompt)[:MOST]:
        ctx.give(f"The skill {skill['id']} may fit this message. It is not started. {skill['hint']}")


def find_skills(skills: dict[str, dict[str, Any]], prompt: str) -> list[dict[str, Any]]:
    """Return the skills that have a hint and a trigger in the beginning of the message, sorted by id."""
    text = _fold(prompt[:SEARCHED])
    return [
        skill
        for _, skill in sorted(skills.items())
        if skill["hint"] and any(has_words(text, _fold(trigger)) for trigger in skill["triggers"])
    ]


def has_words(text: str, words: str) -> bool:
    """Return whether `text` contains `words`, not as a part of longer words.

    Words consist of letters, digits and underscores. A character from `_WIDE` on, such as a Chinese one, counts as a
    word of its own.
    """
    at = text.find(words) if words else -1
    while at >= 0:
        end = at + len(words)
        if not (_is_joined(text[at - 1 : at], words[0]) or _is_joined(text[end : end + 1], words[-1])):
            return True
        at = text.find(words, at + 1)
    return False


def _fold(text: str) -> str:
    """Return the text in lower case, with one blank between words."""
    return " ".join(text.casefold().split())


def _is_joined(neighbour: str, edge: str) -> bool:
    """Return whether two characters belong to one word; `neighbour` is "" at the ends of the text."""
    return _is_of_word(neighbour) and _is_of_word(edge) and neighbour < _WIDE and edge < _WIDE


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"
