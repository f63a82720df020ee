"""What a project says of agents and tools, changed by command: under the lock, checked before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nexus_mcp.catalog.building import own_value
from nexus_mcp.catalog.editing import comments
from nexus_mcp.catalog.editing.placing import place
from nexus_mcp.catalog.editing.rewriting import rewritten, written
from nexus_mcp.catalog.sources import AGENTS, MAP, META, Own
from nexus_mcp.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.catalog.sources import Source
    from nexus_mcp.store.store import Store

_MAP_HEAD = "What the tools of a harness are for; what stands here wins over what is shipped."
_AGENT_HEAD = "What this project adds to the agent; all else is as shipped."


class Edit:
    """A change of the file at `path` from `.nexus`; `start` and `head` are what a new one begins with."""

    __slots__ = ("change", "head", "path", "removing", "start")

    def __init__(
        self, path: str, change: Callable[[Any], None], start: dict[str, Any], head: str, removing: str = ""
    ) -> None:
        self.path = path
        self.change = change
        self.start = start
        self.head = head
        self.removing = removing


def of_agent(agent_id: str, capability: str, canonical: Iterable[str], *, add: bool) -> Edit:
    """Add a capability to an agent, or take an added one away. `canonical` are those that it has of itself."""

    def change(value: dict[str, Any]) -> None:
        if "capabilities" not in value:
            comments.put(value, "capabilities", list(canonical))
        if add:
            comments.append(value["capabilities"], capability)
        else:
            comments.take_out(value["capabilities"], capability)

    return Edit(f"{AGENTS}/{agent_id}/{META}", change, {"id": agent_id}, _AGENT_HEAD, "" if add else capability)


def of_class(harness: str, name: str, tool: str, before: Iterable[str], *, add: bool) -> Edit:
    """Add a tool to a class, or take it out. `before` are its tools now, for a file that does not have the class."""

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

    return Edit(MAP, change, {}, _MAP_HEAD, "" if add else tool)


def carry_out(store: Store, edit: Edit, shipped: dict[str, Any]) -> str:
    """Make the change; the path of the file from the project's root. `shipped` is the shipped catalog as a value.

    Raises CatalogError when the file, or all of them together, could not be used then; PathRefused, StorageError: with
    nothing written. NotConfirmed.
    """
    with store.nexus() as nexus:  # a change that is refused leaves not so much as a folder
        _made(None if nexus is None else Own(nexus), edit, shipped)
    with store.locked_nexus() as (nexus, held):
        place(nexus, edit.path, _made(Own(nexus), edit, shipped), held)
        return nexus.show(edit.path)


def _made(source: Own | None, edit: Edit, shipped: dict[str, Any]) -> bytes:
    """The file with the change. Raises CatalogError, also for what the rest of the project makes of it."""
    over = _Over(source, edit.path)
    before = over.read(edit.path)
    over.data = (
        written(edit.start, edit.head, edit.change)
        if before is None
        else rewritten(before, over.shown(edit.path), edit.change, removing=edit.removing)
    )
    try:
        own_value(over, shipped)
    except CatalogError as error:
        raise CatalogError(error.faults, next_step="With the change it would read so; nothing was changed.") from error
    return over.data


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
