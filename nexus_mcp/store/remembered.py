"""`.nexus/state/<harness id>/remembered.extension.json`: what the events of a session have to know of earlier ones."""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.state import remembered
from nexus_mcp.store.codec import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.state.remembered import Entry
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store

NAME = "remembered.extension.json"
LIMIT = 1 << 20


def read(store: Store, harness_id: str) -> list[Entry]:
    """The sessions that are remembered; none when there is no file, or one that cannot be used.

    Raises PathRefused, StorageError.
    """
    with store.state() as state:
        own = None if state is None else state.child(harness_id)
        if own is None:
            return []
        with own:
            return _read(own)[0]


def has_place(store: Store, harness_id: str) -> bool:
    """Whether the harness has its folder here: some session began. Raises PathRefused, StorageError."""
    with store.state() as state:
        own = None if state is None else state.child(harness_id)
        if own is not None:
            own.close()
        return own is not None


def change(store: Store, harness_id: str, make: Callable[[list[Entry]], list[Entry]]) -> str:
    """Put what `make` makes of them in their place. A file that cannot be used is kept under another name: "" for none.

    Raises StateError, PathRefused and StorageError with nothing written, NotConfirmed.
    """
    from nexus_mcp.store import atomic
    from nexus_mcp.store.harness_files import own_folder

    with own_folder(store, harness_id) as (own, held):
        entries, is_good = _read(own)
        made = make(entries)
        if is_good and made == entries:
            return ""
        kept = "" if is_good else own.show(atomic.set_aside(own, NAME, f"conflict-{NAME}"))
        atomic.put(own, NAME, encode({"sessions": made}), held.check)
        return kept


def _read(own: Folder) -> tuple[list[Entry], bool]:
    """(the sessions, whether the file is one of ours or absent)."""
    try:
        data = own.read(NAME, LIMIT)
        value = {"sessions": []} if data is None else decode(data, own.show(NAME))
    except StateError:
        return [], False
    sessions = remembered.usable(value)
    return ([], False) if sessions is None else (sessions, True)
