"""memory_store, `[m] text`: keeps a text as a note in .nexus/memory/, by the policy of contract §5.

`[m] name.md: text` says which note it is for: it is begun, or added to. Without a name the text gets one by its words,
unless a note is there that it belongs to (merge before create): then nothing is written, and the answer says how to
have it either way.
"""

from __future__ import annotations

from contextlib import nullcontext

from nexus_mcp import schemas
from nexus_mcp.knowledge import merge, names, notes, tag_line
from nexus_mcp.knowledge.scan import Scan
from nexus_mcp.knowledge.words import WIDE, words
from nexus_mcp.quoting import quoted
from nexus_mcp.tags.actions.definition import Action, with_tags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.tags.actions.definition import Desk

KIND = "memory"
FOLDER = f".nexus/{KIND}"
_MOST_TAGS = 5
_LONGEST = names.LONGEST + 20


class Wanted:
    """Where a text goes: the note's `name`, "" when the user has to say; `own`, a name for a new one."""

    __slots__ = ("is_new", "name", "own", "similar", "tags", "text")

    def __init__(self, text: str, tags: list[str], name: str, own: str, similar: list[str], *, is_new: bool) -> None:
        self.text = text
        self.tags = tags
        self.name = name
        self.own = own
        self.similar = similar
        self.is_new = is_new


def preview(desk: Desk, _: str, text: str) -> dict[str, Any]:
    with desk.store.nexus() as nexus:
        wanted = _looked(desk, nexus, text)
        if not wanted.name:
            return _asked(wanted)
        before = notes.read(nexus, KIND, wanted.name)
        result = "creates" if before is None else "unchanged" if notes.has(before, wanted.text) else "extends"
        return _told(result, wanted)


def run(desk: Desk, _: str, text: str) -> dict[str, Any]:
    with desk.store.nexus() as nexus:  # first without the lock: where nothing is written nothing is made
        wanted = _looked(desk, nexus, text)
    if not wanted.name:
        return _asked(wanted)
    with notes.locked(desk.store, KIND) as (_nexus, folder, held):
        if _scan(desk).refresh(folder):  # another process may have begun such a note meanwhile
            wanted = _wanted(desk, folder, text)
        if not wanted.name:
            return _asked(wanted)
        return _told(notes.put(folder, wanted.name, wanted.text, wanted.tags, held), wanted)


def _looked(desk: Desk, nexus: Folder | None, text: str) -> Wanted:
    """As `_wanted`, with the notes as they are now."""
    folder = None if nexus is None else nexus.child(KIND)
    with folder or nullcontext():
        _scan(desk).refresh(folder)
        return _wanted(desk, folder, text)


def _scan(desk: Desk) -> Scan:
    """The notes, kept from one tag of a message to the next."""
    if desk.memory is None:
        desk.memory = Scan(KIND)
    return desk.memory


def _wanted(desk: Desk, folder: Folder | None, text: str) -> Wanted:
    """Raises NexusError for a text or a name that cannot be kept."""
    policy = desk.catalog.vocabulary["memory_policy"]
    name, rest = names.given(text.strip())
    tags, kept = with_tags(rest, "m")
    if name:
        names.checked(name, policy["name_pattern"], FOLDER)
    taken = _scan(desk).notes
    # What is not called as notes are cannot be named in a message, and its name may say anything.
    is_note = schemas.search(policy["name_pattern"])
    there = {given: note for given, note in taken.items() if is_note(given)}
    similar = merge.belongs_to(kept, tags, there.values(), policy["merge"])
    own = name or names.made(kept, taken)
    # A harness may tell of one message twice: what a note has already is kept once.
    has_it = "" if name else _scan(desk).holder(folder, kept, there)
    chosen = name or has_it or ("" if similar else own)
    tags = tags or [word for word in words(kept) if word[0] < WIDE and len(word) <= tag_line.LONGEST_TAG][:_MOST_TAGS]
    others = [path for path in similar if path != f"{KIND}/{chosen}"]
    return Wanted(kept, tags, chosen, own, others, is_new=chosen not in taken)


def _told(result: str, wanted: Wanted) -> dict[str, Any]:
    advice = ""
    if wanted.similar and wanted.is_new:
        listed = ", ".join(quoted(path, _LONGEST) for path in wanted.similar)
        advice = f"Similar notes: {listed}. If they say the same, keep one of them."
    path = f"{KIND}/{wanted.name}"
    return {"result": result, "path": path, "similar": wanted.similar, "next_step": advice}


def _asked(wanted: Wanted) -> dict[str, Any]:
    best = _name(wanted.similar[0])
    advice = (
        f"It belongs to {quoted(wanted.similar[0], _LONGEST)}, so no new note is begun. To add it there, write "
        f"{quoted(f'[m] {best}:', _LONGEST)} and the text; for a note of its own, "
        f"{quoted(f'[m] {wanted.own}:', _LONGEST)} and the text."
    )
    return {"result": "would_extend", "path": wanted.similar[0], "similar": wanted.similar[1:], "next_step": advice}


def _name(path: str) -> str:
    return path.rpartition("/")[2]


ACTION = Action(preview, run)
