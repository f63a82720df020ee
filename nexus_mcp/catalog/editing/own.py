"""What a project says of agents and tools, changed by command: under the lock, checked before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.catalog.building import own_value
from nexus_mcp.catalog.editing import comments
from nexus_mcp.catalog.editing.placing import original_at, place, take_away
from nexus_mcp.catalog.editing.rewriting import comments_in, rewritten, value_of, written
from nexus_mcp.catalog.sources import AGENTS, MAP, META, Own
from nexus_mcp.errors import CatalogError
from nexus_mcp.store.replacing import repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.catalog.sources import Source
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.original import Original
    from nexus_mcp.store.store import Store

_MAP_HEAD = "What the tools of a harness are for; what stands here wins over what is shipped."
_AGENT_HEAD = "What this project adds to the agent; all else is as shipped."


class Edit:
    """A change of the file at `path` from `.nexus`; `start` and `head` are what a new one begins with.

    `tidy` takes out what says no more than what is shipped, once that is so.
    """

    __slots__ = ("change", "head", "path", "removing", "start", "tidy")

    def __init__(
        self,
        path: str,
        change: Callable[[Any], None],
        start: dict[str, Any],
        head: str,
        *,
        removing: str = "",
        tidy: Callable[[Any], None] | None = None,
    ) -> None:
        self.path = path
        self.change = change
        self.start = start
        self.head = head
        self.removing = removing
        self.tidy = tidy


class Done(NamedTuple):
    """`path` of the file from the project's root. `is_frozen`: it says what is shipped, for a comment that is there."""

    path: str
    is_frozen: bool


def of_agent(agent_id: str, capability: str, canonical: Iterable[str], *, add: bool) -> Edit:
    """Add a capability to an agent, or take an added one away. `canonical` are those that it has of itself by what is
    shipped, none for an agent of the project's own."""
    kept = list(canonical)

    def change(value: dict[str, Any]) -> None:
        if "capabilities" not in value:
            comments.put(value, "capabilities", list(kept))
        if add:
            comments.append(value["capabilities"], capability)
        else:
            comments.take_out(value["capabilities"], capability)

    def tidy(value: dict[str, Any]) -> None:
        if sorted(value["capabilities"]) == sorted(kept):
            comments.remove(value, "capabilities")

    path, start = f"{AGENTS}/{agent_id}/{META}", {"id": agent_id}
    if add:
        return Edit(path, change, start, _AGENT_HEAD)
    return Edit(path, change, start, _AGENT_HEAD, removing=capability, tidy=tidy if kept else None)


def of_class(
    harness: str, name: str, tool: str, before: Iterable[str], *, add: bool, below: Iterable[str] = ()
) -> Edit:
    """Add a tool to a class, or take it out. `before` are its tools now, for a file that does not have the class;
    `below` are those that are shipped, none for a harness of the project's own."""
    shipped = sorted(below)

    def change(value: dict[str, Any]) -> None:
        if harness not in value:
            comments.put(value, harness, {})
        if "classes" not in value[harness]:
            comments.put(value[harness], "classes", {})
        classes = value[harness]["classes"]
        if name not in classes:
            comments.put(classes, name, list(before))
        if add:
            comments.append(classes[name], tool)
        else:
            comments.take_out(classes[name], tool)

    def tidy(value: dict[str, Any]) -> None:
        if sorted(value[harness]["classes"][name]) == shipped:
            comments.remove(value[harness]["classes"], name)
            if not value[harness]["classes"]:
                comments.remove(value[harness], "classes")
            if not value[harness]:
                comments.remove(value, harness)

    if add:
        return Edit(MAP, change, {}, _MAP_HEAD)
    return Edit(MAP, change, {}, _MAP_HEAD, removing=tool, tidy=tidy if shipped else None)


def carry_out(store: Store, edit: Edit, shipped: dict[str, Any]) -> Done:
    """Make the change. `shipped` is the shipped catalog as a value. A file that then says nothing any more, and has no
    comment of anybody's, goes. The change is made again on what another program saved meanwhile.

    Raises CatalogError when the file, or all of them together, could not be used then; PathRefused, StorageError: with
    nothing written. NotConfirmed.
    """
    with store.nexus() as nexus:  # a change that is refused leaves not so much as a folder
        _made(None if nexus is None else Own(nexus), edit, shipped)
    with store.locked_nexus() as (nexus, held):
        return repeated(lambda: _carried_out(nexus, held, edit, shipped))


def _carried_out(nexus: Folder, held: Held, edit: Edit, shipped: dict[str, Any]) -> Done:
    """As `carry_out`, once. Raises ChangedMeanwhile, with nothing written, when another program saved the file."""
    original = original_at(nexus, edit.path)
    data, is_frozen, is_bare = _made(Own(nexus), edit, shipped, original)
    if not (is_bare and take_away(nexus, edit.path, original, held)):
        place(nexus, edit.path, original, data, held)
    return Done(nexus.show(edit.path), is_frozen)


def _made(
    source: Own | None, edit: Edit, shipped: dict[str, Any], original: Original | None = None
) -> tuple[bytes, bool, bool]:
    """(the file with the change, whether it says what is shipped for a comment's sake, whether it says nothing).

    `original` is the file, None for what the `source` has. Raises CatalogError, also for what the rest of the project
    makes of it.
    """
    over = _Over(source, edit.path)
    before = over.read(edit.path) if original is None else original.content()
    is_frozen = is_bare = False
    if before is None:
        over.data = written(edit.start, edit.head, edit.change)
    else:
        over.data, is_frozen, is_bare = _rewritten(before, over.shown(edit.path), edit)
    try:
        own_value(over, shipped)
    except CatalogError as error:
        raise CatalogError(error.faults, next_step="With the change it would read so; nothing was changed.") from error
    return over.data, is_frozen, is_bare


def _rewritten(before: bytes, shown: str, edit: Edit) -> tuple[bytes, bool, bool]:
    """As `_made`. What says no more than what is shipped goes, unless a comment would go with it."""
    data = rewritten(before, shown, edit.change, removing=edit.removing)
    if edit.tidy is None:
        return data, False, False
    plain = value_of(data, shown)
    edit.tidy(plain)
    if plain == value_of(data, shown):
        return data, False, False
    is_bare = plain == edit.start and comments_in(data) in ([], [f"# {edit.head}"])
    try:
        return rewritten(data, shown, edit.tidy), False, is_bare
    except CatalogError:
        return data, not is_bare, is_bare


class _Over:
    """The files of a project, one of them as it would be."""

    def __init__(self, source: Source | None, path: str) -> None:
        self._source = source
        self._path = path
        self.data: bytes | None = None

    def folders(self, name: str) -> list[str]:
        found = [] if self._source is None else self._source.folders(name)
        above, _, rest = self._path.partition("/")
        own = [rest.partition("/")[0]] if above == name and rest else []
        return sorted({*found, *own})

    def read(self, path: str) -> bytes | None:
        if path == self._path and self.data is not None:
            return self.data
        return None if self._source is None else self._source.read(path)

    def shown(self, path: str) -> str:
        return f".nexus/{path}"
