"""memory_gc, `[m:gc]`: propose notes of .nexus/memory/ for deletion, with the reasons.

A note is deleted only by `nexus-mcp memory gc --apply`, or if .nexus/config.yml allows deletion without a question and
the access logs prove that the note meets all three limits set there (docs/config.md). A deletion is always a git
commit.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

from nexus_mcp.knowledge import cleanup, notes
from nexus_mcp.program import command
from nexus_mcp.quoting import quote
from nexus_mcp.state import times
from nexus_mcp.tags import config
from nexus_mcp.tags.actions.definition import Action
from nexus_mcp.wording import join_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.knowledge.cleanup import Signals
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.tags.actions.definition import ActionContext

KIND = "memory"
MOST_SHOWN = 50
_NAMED, _LONGEST = 5, 100
_APPLY = "memory gc --apply"


class Candidates:
    """The notes proposed for deletion, and those to delete without a question. Their `path` is a file name."""

    __slots__ = ("certain", "proposed")

    def __init__(self, proposed: list[Signals], certain: list[Signals]) -> None:
        self.proposed = proposed
        self.certain = certain


_NOTHING = Candidates([], [])


def preview(ctx: ActionContext, _variant: str, _text: str) -> dict[str, Any]:
    with _open(ctx) as (nexus, folder):
        return _preview_result(_NOTHING if nexus is None or folder is None else _select(ctx, nexus, folder))


def run(ctx: ActionContext, _variant: str, _text: str) -> dict[str, Any]:
    return clean(ctx, apply=False)


def clean(ctx: ActionContext, *, apply: bool) -> dict[str, Any]:
    """Delete the certain candidates, or with `apply` the proposed notes, at most MOST (notes_git.py) of them; return
    the fields of a step.

    Raise NexusError; then nothing was changed.
    """
    with _open(ctx) as (nexus, folder):
        if nexus is None or folder is None:
            return _result(_NOTHING, {})
        found = _select(ctx, nexus, folder)
        chosen = found.proposed if apply else found.certain
        if not chosen:
            return _result(found, {})
        from nexus_mcp.tags.actions.notes_git import Deletion

        prepared = Deletion(folder, chosen, ctx.store.deadline)
    with notes.locked_folder(ctx.store, KIND) as (_, folder, held):
        names, left, trouble = prepared.carry_out(folder, held)
    restore_commands = {name: prepared.restore[name] for name in names}
    rest = Candidates([one for one in found.proposed if one.path not in restore_commands], [])
    return _result(rest, restore_commands, prepared.commit, left, trouble)


@contextmanager
def _open(ctx: ActionContext) -> Iterator[tuple[Folder | None, Folder | None]]:
    """Yield (`.nexus`, the folder of the notes), opened; None for an absent one."""
    with ctx.store.nexus() as nexus:
        folder = None if nexus is None else nexus.child(KIND)
        with folder or nullcontext():
            yield nexus, folder


def _result(
    found: Candidates, gone: dict[str, str], commit: str = "", changed: list[str] | None = None, trouble: str = ""
) -> dict[str, Any]:
    """Return the fields of a step: proposals, deleted notes and how to restore them. `trouble` is a warning."""
    shown = found.proposed[:MOST_SHOWN]
    advice = [f"{command(_APPLY)} deletes these notes in a git commit; each can be restored."] if shown else []
    if changed:
        names = ", ".join(quote(name, _LONGEST) for name in changed)
        advice.insert(0, f"Not deleted, because they were changed, or cannot be removed now: {names}.")
    if trouble:
        advice.insert(0, trouble)
    return {
        "result": "deleted" if gone else "proposed" if shown else "nothing",
        "proposals": [_proposal(one) for one in shown],
        "more": len(found.proposed) - len(shown),
        "deleted": [{"path": f"{KIND}/{name}", "restore": restore} for name, restore in gone.items()],
        **({"commit": commit} if commit else {}),
        "next_step": " ".join(advice),
    }


def _preview_result(found: Candidates) -> dict[str, Any]:
    """Return the fields of a preview: the notes that `run` would delete at once, and those that it would propose."""
    if not found.certain:
        return _result(found, {})
    from nexus_mcp.tags.actions.notes_git import MOST

    sure = found.certain[:MOST]
    names = {one.path for one in sure}
    rest = _result(Candidates([one for one in found.proposed if one.path not in names], []), {})
    notes = join_first(sure, _NAMED, lambda one: quote(f"{KIND}/{one.path}", _LONGEST))
    advice = (
        f"Because of delete_unasked in .nexus/config.yml, [m:gc] and {command('memory gc')} delete these notes at "
        f"once, in a git commit: {notes}."
    )
    others = f" {command(_APPLY)} deletes the others, too." if rest["proposals"] else ""
    return {
        **rest,
        "result": "deletes",
        "deletes": [_proposal(one) for one in sure],
        "next_step": f"{advice}{others}",
    }


def _proposal(one: Signals) -> dict[str, Any]:
    return {"path": f"{KIND}/{one.path}", "reasons": one.reasons()}


def _select(ctx: ActionContext, nexus: Folder, folder: Folder) -> Candidates:
    own = config.read(nexus).get("memory", {})
    stamp = ctx.store.stamp()
    # A clock beyond the last valid time would make every note old enough.
    now = 0.0 if stamp == times.LAST else cleanup.seconds(stamp) or 0.0
    state = nexus.child("state")
    with state or nullcontext():
        record = cleanup.read_access_logs(state)
    by_path = [(f"{KIND}/{name}", written) for name, written in notes.list_written(folder)]
    known = cleanup.signals(by_path, record, now)
    for one in known:
        one.path = one.path.removeprefix(f"{KIND}/")
    limits = {**ctx.catalog.vocabulary["memory_policy"]["cleanup"], **own.get("propose", {})}
    unasked = own.get("delete_unasked")
    certain = [] if unasked is None else cleanup.select_certain(known, unasked, record, now)
    return Candidates(cleanup.select_proposed(known, limits), certain)


ACTION = Action(preview, run)
