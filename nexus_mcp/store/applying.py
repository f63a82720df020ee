"""Bring the files to where a journal says, from wherever a crash, git or another program left them."""

from __future__ import annotations

from contextlib import ExitStack

from nexus_mcp.state import shapes
from nexus_mcp.store import atomic, journal, places
from nexus_mcp.store.original import ChangedMeanwhile, read
from nexus_mcp.store.replacing import Replacement, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.growing import Growth
    from nexus_mcp.store.original import Original

    Prepared = Mapping[str, tuple[str, Original | None]]
    """The path of a file -> (the temporary file that holds its new bytes, the file as the change read it)."""


def apply(nexus: Folder, state: Folder, change: dict[str, Any], growth: Growth | None, prepared: Prepared) -> list[str]:
    """Bring the files to where the journal `change` says. The names of copies of what other programs saved meanwhile.

    `growth` is what the prepared file of the history was made from, under this lock. It is None, and `prepared` empty,
    after a crash. The journal itself stays. Raises OSError, Unsynced or a NexusError; then it can be applied again
    later.
    """
    if change["cycle"] is not None:
        _apply_cycle(nexus, state, change["cycle"], growth, prepared.get(journal.HISTORY, ("", None))[0])
    kept: list[str] = []
    for file in change["files"]:
        with ExitStack() as stack:
            # A folder that is gone is made for what belongs into it, not for what is to go.
            gone = file["content"] is None
            place = places.found(stack, state, file["name"])
            folder, name = place if gone or place[0] else places.made(stack, state, file["name"], [])
            if folder is not None:
                if folder is not state and not prepared:
                    atomic.sweep(folder)  # of what was prepared there by whoever died
                kept += _applied(folder, name, file, change["id"], prepared.get(file["name"]))
                if folder is not state:
                    atomic.confirm(folder)
    atomic.confirm(state)
    return kept


def _applied(
    folder: Folder, name: str, file: dict[str, Any], id_: str, prepared: tuple[str, Original | None] | None
) -> list[str]:
    """As `_apply_file`, again where the file came or went meanwhile. Raises ChangedMeanwhile where it always does."""
    if prepared is not None and prepared[1] is not None:
        try:
            replacement = Replacement(folder, name, prepared[1], id_)
            replacement.install(prepared[0], journal.content_of(file))
            return [replacement.copy] * bool(replacement.copy)
        except ChangedMeanwhile:
            pass
    return repeated(lambda: _apply_file(folder, name, file, id_))


def _apply_file(folder: Folder, name: str, file: dict[str, Any], id_: str) -> list[str]:
    found = read(folder, name, journal.SESSION_LIMIT)
    seen = journal.digest(found.content())
    if seen == file["after"]:
        return []
    if found.data is not None and seen != file["before"]:
        found.disown()  # somebody without our lock changed it in between: both are kept, theirs under another name
    content = journal.content_of(file)
    replacement = Replacement(folder, name, found, id_)
    replacement.install("" if content is None else replacement.prepare(content), content)
    return [replacement.copy] * bool(replacement.copy)


def _apply_cycle(nexus: Folder, state: Folder, cycle: dict[str, Any], growth: Growth | None, temporary: str) -> None:
    if growth is not None and temporary:
        if growth.is_due() and _is_installed(growth, temporary):
            return
        nexus.unlink(temporary)  # git has written another history since: that one is to have the cycle, too
    repeated(lambda: _append(nexus, state, cycle))


def _is_installed(growth: Growth, temporary: str) -> bool:
    try:
        growth.install(temporary)
    except ChangedMeanwhile:
        return False
    return True


def _append(nexus: Folder, state: Folder, cycle: dict[str, Any]) -> None:
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.history.growing import Growth
    from nexus_mcp.store.history.memory import Memory

    with Archive(nexus, state, Memory()) as past:
        if past.has(cycle):
            atomic.confirm(nexus)  # perhaps by a rename that never was: the only other copies go in the next step
            return
        shapes.check_writable(past.version, journal.SHOWN_HISTORY)
        growth = Growth(past, cycle)
        growth.install(growth.prepare())
