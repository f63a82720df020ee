"""memory_gc, `[m:gc]`: proposes which notes of .nexus/memory/ could go, with the reasons.

A note is deleted only when the user says so (`nexus-mcp memory gc --apply`), or when .nexus/config.yml has thresholds
for doing it unasked and all three hold by what is on record (contract §5); always as a git commit.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

from nexus_mcp.knowledge import cleanup, notes, reads
from nexus_mcp.program import command
from nexus_mcp.quoting import quoted
from nexus_mcp.state import times
from nexus_mcp.tags import config
from nexus_mcp.tags.actions.definition import Action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.knowledge.cleanup import Signals
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.tags.actions.definition import Desk

KIND = "memory"
MOST_SHOWN = 50
_NAMED, _LONGEST = 5, 100
_APPLY = "memory gc --apply"


class Found:
    """The notes that could go, and those that may go unasked; `path` of each is its name."""

    __slots__ = ("certain", "proposed")

    def __init__(self, proposed: list[Signals], certain: list[Signals]) -> None:
        self.proposed = proposed
        self.certain = certain


_NOTHING = Found([], [])


def preview(desk: Desk, _variant: str, _text: str) -> dict[str, Any]:
    with _opened(desk) as (nexus, folder):
        return _foretold(_NOTHING if nexus is None or folder is None else _found(desk, nexus, folder))


def run(desk: Desk, _variant: str, _text: str) -> dict[str, Any]:
    return clean(desk, apply=False)


def clean(desk: Desk, *, apply: bool) -> dict[str, Any]:
    """Delete what may go unasked, with `apply` all that is proposed. Raises NexusError with nothing changed."""
    with _opened(desk) as (nexus, folder):
        if nexus is None or folder is None:
            return told(_NOTHING, {})
        found = _found(desk, nexus, folder)
        chosen = found.proposed if apply else found.certain
        if not chosen:
            return told(found, {})
        from nexus_mcp.tags.actions.deletion import Deletion

        prepared = Deletion(folder, chosen, desk.store.patience)
    with notes.locked(desk.store, KIND) as (_, folder, held):
        names, left, trouble = prepared.carry_out(folder, held)
    gone = {name: prepared.restore[name] for name in names}
    rest = Found([one for one in found.proposed if one.path not in gone], [])
    return told(rest, gone, prepared.commit, left, trouble)


@contextmanager
def _opened(desk: Desk) -> Iterator[tuple[Folder | None, Folder | None]]:
    """(`.nexus`, the folder of the notes), None where absent."""
    with desk.store.nexus() as nexus:
        folder = None if nexus is None else nexus.child(KIND)
        with folder or nullcontext():
            yield nexus, folder


def told(
    found: Found, gone: dict[str, str], commit: str = "", changed: list[str] | None = None, trouble: str = ""
) -> dict[str, Any]:
    """The members of a step: what is proposed, what is gone, and how to get that back. `trouble`: what went wrong."""
    shown = found.proposed[:MOST_SHOWN]
    advice = [f"{command(_APPLY)} deletes them as a git commit, from which each can be had back."] if shown else []
    if changed:
        listed = ", ".join(quoted(name, _LONGEST) for name in changed)
        advice.insert(0, f"Left there, because somebody changed or holds them: {listed}.")
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


def _foretold(found: Found) -> dict[str, Any]:
    """The members of a preview: what `run` would delete at once, and what it would propose."""
    if not found.certain:
        return told(found, {})
    from nexus_mcp.tags.actions.deletion import MOST

    sure = found.certain[:MOST]
    names = {one.path for one in sure}
    rest = told(Found([one for one in found.proposed if one.path not in names], []), {})
    listed = ", ".join(quoted(f"{KIND}/{one.path}", _LONGEST) for one in sure[:_NAMED])
    more = f" and {len(sure) - _NAMED} more" if len(sure) > _NAMED else ""
    advice = (
        f"[m:gc] and {command('memory gc')} delete at once, as a git commit, because of delete_unasked in "
        f".nexus/config.yml: {listed}{more}."
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


def _found(desk: Desk, nexus: Folder, folder: Folder) -> Found:
    own = config.read(nexus).get("memory", {})
    stamp = desk.store.stamp()
    # By a clock that is beyond all years every note would be old enough to go.
    now = 0.0 if stamp == times.LAST else reads.seconds(stamp) or 0.0
    state = nexus.child("state")
    with state or nullcontext():
        record = reads.gathered(state)
    by_path = [(f"{KIND}/{name}", written) for name, written in notes.written(folder)]
    known = cleanup.signals(by_path, record, now)
    for one in known:
        one.path = one.path.removeprefix(f"{KIND}/")
    limits = {**desk.catalog.vocabulary["memory_policy"]["cleanup"], **own.get("propose", {})}
    unasked = own.get("delete_unasked")
    certain = [] if unasked is None else cleanup.certain(known, unasked, record, now)
    return Found(cleanup.proposed(known, limits), certain)


ACTION = Action(preview, run)
