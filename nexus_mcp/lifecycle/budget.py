"""Fit the context of an event into the limit of a harness.

Claude Code and Codex replace or shorten a context of more than 10 000 characters, so the model would lose the end of a
skill. If a context is too long, this module puts the most important texts first. In place of an omitted text, or of the
end of a text, it names the place where the model can read it, if there is room for that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OUTCOME, SKILL, STATE, NOTES = range(4)
"""Kinds of texts, the most important first: OUTCOME (results of tags, restrictions, and texts of no other kind), a
skill, the progress of the work, the index of the notes.
"""
REST = {
    OUTCOME: "plan_status and task_list have the state",
    SKILL: "the resource nexus://skills/{name} has the whole text: read it now, before you begin",
    STATE: "plan_status and task_list have the whole state",
    NOTES: "the folders memory, context and rules below .nexus/ have the notes",
}
_SHORTEST = 400
"""If fewer characters than this are left, a text that does not fit is left out as a whole, not shown in part."""


class Part:
    """A text of a context, its kind, and for a skill its name."""

    __slots__ = ("kind", "name", "text")

    def __init__(self, text: str, kind: int, name: str = "") -> None:
        self.text = text
        self.kind = kind
        self.name = name


def fit(parts: Sequence[Part], limit: int) -> str:
    """Return the texts, joined. If they have more than `limit` characters in all, put the most important first, and
    shorten them to `limit` characters in all. A `limit` of 0 means no limit.
    """
    if not limit or sum(len(part.text) + 2 for part in parts) <= limit:
        return "\n\n".join(part.text for part in parts)
    texts: list[str] = []
    left = limit
    for part in sorted(parts, key=lambda part: part.kind):
        text = _shorten(part, left)
        if text:
            texts.append(text)
            left -= len(text) + 2
    return "\n\n".join(texts)


def _shorten(part: Part, room: int) -> str:
    """Return the text. If the room is too small, return its first lines and a note where the rest is, or "" if even the
    note does not fit.
    """
    if len(part.text) <= room:
        return part.text
    where = REST[part.kind].format(name=part.name)
    reserve = len(where) + 60
    if room < reserve:
        return ""
    lines = part.text.split("\n")
    shown: list[str] = []
    used = 0
    if room >= _SHORTEST:
        for line in lines:
            if used + len(line) + 1 > room - reserve:
                break
            shown.append(line)
            used += len(line) + 1
    missing = len(part.text) - used
    return "\n".join([*shown, f"({missing} more characters are left out here; {where}.)"])
