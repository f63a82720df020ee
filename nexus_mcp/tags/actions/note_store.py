"""memory_store and rule_store: store a text as a note, by the rules of docs/tags.md.

`[m] name.md: text` creates that note in .nexus/memory/ or appends to it. Without a name the note is named after the
first words of the text, unless a similar note exists (merge before create): then nothing is written, and the result
asks the user to choose. If a note already contains the text, nothing is written either. `[rule:frontend] text` adds to
.nexus/rules/frontend.md, `[rule] text` to .nexus/rules/general.md.
"""

from __future__ import annotations

from contextlib import nullcontext

from nexus_mcp import schemas
from nexus_mcp.knowledge import index, merge, notes
from nexus_mcp.knowledge.index import SUFFIX
from nexus_mcp.knowledge.merge import WIDE, words
from nexus_mcp.knowledge.scan import Scan
from nexus_mcp.quoting import quote, quoted_name
from nexus_mcp.tags.actions.definition import Action, split_tag_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.tags.actions.definition import ActionContext

KIND, RULES = "memory", "rules"
_GENERAL = "general"
FOLDER = f".nexus/{KIND}"
_MOST_TAGS = 5
_LONGEST = notes.LONGEST_NAME + 20


class Placement:
    """The note for a text: its file name `name`, which is "" if the user has to choose. `own` is the name in the
    message or, without one, a free name made from the text. `similar` has the paths of the other notes on the same
    subject.
    """

    __slots__ = ("is_new", "name", "own", "similar", "tags", "text")

    def __init__(self, text: str, tags: list[str], name: str, own: str, similar: list[str], *, is_new: bool) -> None:
        self.text = text
        self.tags = tags
        self.name = name
        self.own = own
        self.similar = similar
        self.is_new = is_new


def preview(ctx: ActionContext, _: str, text: str) -> dict[str, Any]:
    with ctx.store.nexus() as nexus:
        placement = _refresh_and_place(ctx, nexus, text)
        if not placement.name:
            return _choice(placement)
        before = notes.read(nexus, KIND, placement.name)
        return _result(_would(before, placement.text), placement)


def run(ctx: ActionContext, _: str, text: str) -> dict[str, Any]:
    with ctx.store.nexus() as nexus:  # first without the lock, because if nothing is written, no folder may be created
        placement = _refresh_and_place(ctx, nexus, text)
    if not placement.name:
        return _choice(placement)
    with notes.locked_folder(ctx.store, KIND) as (_nexus, folder, held):
        if _scan(ctx).refresh(folder):  # another process may have created such a note meanwhile
            placement = _place(ctx, folder, text)
        if not placement.name:
            return _choice(placement)
        return _result(notes.put(folder, placement.name, placement.text, placement.tags, held), placement)


def _refresh_and_place(ctx: ActionContext, nexus: Folder | None, text: str) -> Placement:
    """Refresh the notes, then return the placement as `_place` does."""
    folder = None if nexus is None else nexus.child(KIND)
    with folder or nullcontext():
        _scan(ctx).refresh(folder)
        return _place(ctx, folder, text)


def _scan(ctx: ActionContext) -> Scan:
    """Return the notes, cached between the tags of one message."""
    if ctx.memory is None:
        ctx.memory = Scan(KIND)
    return ctx.memory


def _place(ctx: ActionContext, folder: Folder | None, text: str) -> Placement:
    """Return the note for the text. Raise NexusError for a text or a name that cannot be stored."""
    policy = ctx.catalog.vocabulary["memory_policy"]
    name, rest = notes.split_name(text.strip())
    tags, stored = split_tag_line(rest, "m")
    if name:
        notes.check_name(name, policy["name_pattern"], FOLDER)
    taken = _scan(ctx).notes
    # Leave out notes whose names do not match the pattern: `check_name` refuses such names in a message, and they are
    # untrusted.
    is_note = schemas.search(policy["name_pattern"])
    there = {one: note for one, note in taken.items() if is_note(one)}
    similar = merge.find_matches(stored, tags, there.values(), policy["merge"])
    own = name or notes.make_name(stored, taken)
    # A harness may send a message twice, so a text that a note has already is not stored again.
    holder = "" if name else _scan(ctx).find_holder(folder, stored, there)
    chosen = name or holder or ("" if similar else own)
    tags = tags or [word for word in words(stored) if word[0] < WIDE and len(word) <= index.LONGEST_TAG][:_MOST_TAGS]
    others = [path for path in similar if path != f"{KIND}/{chosen}"]
    return Placement(stored, tags, chosen, own, others, is_new=chosen not in taken)


def _result(result: str, placement: Placement) -> dict[str, Any]:
    advice = ""
    if placement.similar and placement.is_new:
        listed = ", ".join(quote(path, _LONGEST) for path in placement.similar)
        advice = f"Similar notes: {listed}. If they say the same, keep one of them."
    path = f"{KIND}/{placement.name}"
    return {"result": result, "path": path, "similar": placement.similar, "next_step": advice}


def _choice(placement: Placement) -> dict[str, Any]:
    best = _name(placement.similar[0])
    advice = (
        f"The text belongs to {quote(placement.similar[0], _LONGEST)}, so no new note is begun. To add it there, "
        f"write {quote(f'[m] {best}:', _LONGEST)} and the text; for a note of its own, "
        f"{quote(f'[m] {placement.own}:', _LONGEST)} and the text."
    )
    return {
        "result": "would_extend",
        "path": placement.similar[0],
        "similar": placement.similar[1:],
        "next_step": advice,
    }


def _would(before: str | None, text: str) -> str:
    """Return the effect of storing the text in a note with this content."""
    return "creates" if before is None else "unchanged" if notes.contains(before, text) else "extends"


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def preview_rule(ctx: ActionContext, variant: str, text: str) -> dict[str, Any]:
    name, _, stored = _parse_rule(ctx, variant, text)
    with ctx.store.nexus() as nexus:
        before = notes.read(nexus, RULES, name)
    return _rule_result(_would(before, stored), name)


def run_rule(ctx: ActionContext, variant: str, text: str) -> dict[str, Any]:
    name, tags, stored = _parse_rule(ctx, variant, text)
    with notes.locked_folder(ctx.store, RULES) as (_, folder, held):
        return _rule_result(notes.put(folder, name, stored, tags, held), name)


def _parse_rule(ctx: ActionContext, variant: str, text: str) -> tuple[str, list[str], str]:
    """Return (file name, tags for a new file, text). Raise NexusError for a text or name that cannot be stored."""
    pattern = ctx.catalog.vocabulary["memory_policy"]["name_pattern"]
    tags, stored = split_tag_line(text, f"rule:{quoted_name(variant)}" if variant else "rule")
    name = notes.check_name(f"{variant or _GENERAL}{SUFFIX}", pattern, f".nexus/{RULES}")
    return name, tags or [name.removesuffix(SUFFIX)[: index.LONGEST_TAG]], stored


def _rule_result(result: str, name: str) -> dict[str, Any]:
    return {"result": result, "path": f"{RULES}/{name}", "similar": [], "next_step": ""}


ACTION = Action(preview, run)
RULE_ACTION = Action(preview_rule, run_rule)
