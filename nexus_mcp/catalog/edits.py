"""Change a project's agents and capability map by command: under the lock, and checked before anything is written.

A new file appears together with its folder, because an agent's folder without the file would be a fault.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.catalog import yaml_changes
from nexus_mcp.catalog.building import own_value
from nexus_mcp.catalog.sources import AGENTS, MAP, META, YAML_BYTES, Own
from nexus_mcp.catalog.yaml_changes import changed_file, comments_in, new_file, value_of
from nexus_mcp.errors import CatalogError, NexusError, NotConfirmed, StorageError
from nexus_mcp.store import atomic, conflicts
from nexus_mcp.store.folder import reason
from nexus_mcp.store.replacement import ChangedMeanwhile, Original, Replacement, read, retry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.catalog.sources import Source
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import HeldLock
    from nexus_mcp.store.replacement import Original
    from nexus_mcp.store.store import Store


_MAP_HEAD = "The classes of a harness's tools. Entries in this file override the shipped ones."
_AGENT_HEAD = "What this project adds to the agent. All other fields are as shipped."


def original_at(nexus: Folder, path: str) -> Original:
    """Return the present file at `path` in the folder `nexus`, an empty Original if it is absent. Raise PathRefused,
    StorageError, StateError.
    """
    *folders, name = path.split("/")
    with ExitStack() as stack:
        folder = nexus
        for part in folders:
            below = folder.child(part)
            if below is None:
                return Original()
            folder = stack.enter_context(below)
        return read(folder, name, YAML_BYTES)


def put_file(nexus: Folder, path: str, original: Original, data: bytes, held: HeldLock) -> None:
    """Write the file at `path` in the folder `nexus`, at most two folders below it, atomically. Call it under the lock.

    Raise ChangedMeanwhile if the file is no longer the `original`; PathRefused, StorageError with nothing changed;
    NotConfirmed.
    """
    *folders, name = path.split("/")
    with ExitStack() as stack:
        folder, new = nexus, False
        for part in folders[:-1]:
            below, new = nexus.make(part)
            folder = stack.enter_context(below)
        try:
            own = folder.child(folders[-1]) if folders else None
            if folders and own is None:
                if original.is_there:
                    raise ChangedMeanwhile(folder.show(path))
                _sweep(folder)
                _put_with_folder(folder, folders[-1], name, data, held)
                return
            target = stack.enter_context(own) if own is not None else folder
            conflicts.sweep(target)
            Replacement(target, name, original).put(data, held.check)
        except NotConfirmed:
            raise
        except BaseException:
            if new:
                nexus.remove_folder(folders[0])
            raise


def remove_file(nexus: Folder, path: str, original: Original, held: HeldLock) -> bool:
    """Remove the file at `path` in the folder `nexus`, together with the folder of its agent, if it is in one,
    atomically. Return True. Call it under the lock.

    Return False, with nothing changed, when that folder is absent or holds something else, or the file in it is no
    longer the `original`. Raise ChangedMeanwhile if a file directly in `nexus` is no longer the `original`;
    PathRefused, StorageError with nothing changed; NotConfirmed.
    """
    *folders, name = path.split("/")
    held.check()
    if not folders:
        Replacement(nexus, name, original).put(None)
        return True
    with ExitStack() as stack:
        try:
            above = nexus.child(folders[0])
            own = None if above is None else stack.enter_context(above).child(folders[1])
            if above is None or own is None:
                return False
            if not _is_gone(above, folders[1], stack.enter_context(own), (name, original)):
                return False
        except OSError as error:
            raise StorageError(nexus.show(path), "remove", reason(error)) from error
        try:
            atomic.confirm(above)
        except atomic.SyncFailed as error:
            raise NotConfirmed(nexus.show(path), reason(error.cause)) from error
    nexus.remove_folder(folders[0])  # the folder stays if it has other entries
    return True


def _is_gone(above: Folder, final: str, folder: Folder, file: tuple[str, Original]) -> bool:
    """Remove the folder `final` in `above` if it holds only this file, unchanged. Return whether it was removed. Raise
    OSError, StorageError.

    `folder` is the open folder, `file` is (the name of the file, the file as it was read).
    """
    name, original = file
    if folder.names() != [name]:
        return False
    temporary = f"{atomic.PREFIX}{os.urandom(8).hex()}"
    above.rename(final, temporary)  # a folder without its file would be a fault
    if folder.names() != [name] or not original.is_at(folder, name):
        above.rename(temporary, final)
        return False
    _empty(above, temporary, folder)
    return True


def _put_with_folder(above: Folder, final: str, name: str, data: bytes, held: HeldLock) -> None:
    """Write the file into a new folder with a temporary name, and then rename the folder to `final`."""
    temporary = f"{atomic.PREFIX}{os.urandom(8).hex()}"
    with above.make(temporary)[0] as folder:
        try:
            atomic.put(folder, name, data, held.check)
            try:
                above.rename(temporary, final)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):  # another process created it, with content
                    raise ChangedMeanwhile(above.show(final)) from error
                raise StorageError(above.show(final), "make", reason(error)) from error
        except BaseException:
            _empty(above, temporary, folder)
            raise
    try:
        atomic.confirm(above)
    except atomic.SyncFailed as error:
        raise NotConfirmed(f"{above.show(final)}/{name}", reason(error.cause)) from error


def _sweep(folder: Folder) -> None:
    """Remove the temporary folders that a crash left. Raise PathRefused, StorageError."""
    for name in folder.names():
        if name.startswith(atomic.PREFIX):
            leftover = folder.child(name)
            if leftover is not None:
                with leftover:
                    _empty(folder, name, leftover)


def _empty(above: Folder, name: str, folder: Folder) -> None:
    """Remove a temporary folder and the files in it, as far as possible."""
    try:
        for file in folder.names():
            folder.unlink(file)
    except (OSError, NexusError):
        return
    above.remove_folder(name)


class Edit(NamedTuple):
    """A change of the file `path`, which is relative to `.nexus`. A new file has the comment `head` and the value
    `start`, to which `change` is made.

    `tidy` removes values that only repeat the shipped catalog. `removing` is the list item that `change` removes, if
    any.
    """

    path: str
    change: Callable[[Any], None]
    start: dict[str, Any]
    head: str
    removing: str = ""
    tidy: Callable[[Any], None] | None = None


class EditResult(NamedTuple):
    """The result of an edit. `path`: the file, from the project's root.

    `is_frozen`: the file keeps a copy of shipped values, because a comment would be lost with them.
    """

    path: str
    is_frozen: bool


def agent_edit(agent_id: str, capability: str, canonical: Iterable[str], *, add: bool) -> Edit:
    """Return the edit that adds a capability to an agent, or removes an added one.

    `canonical` has the capabilities of the shipped agent; it is empty for an agent of the project.
    """
    capabilities = list(canonical)

    def change(value: dict[str, Any]) -> None:
        if "capabilities" not in value:
            yaml_changes.put(value, "capabilities", list(capabilities))
        if add:
            yaml_changes.append(value["capabilities"], capability)
        else:
            yaml_changes.take_out(value["capabilities"], capability)

    def tidy(value: dict[str, Any]) -> None:
        if sorted(value["capabilities"]) == sorted(capabilities):
            yaml_changes.remove(value, "capabilities")

    path, start = f"{AGENTS}/{agent_id}/{META}", {"id": agent_id}
    if add:
        return Edit(path, change, start, _AGENT_HEAD)
    return Edit(path, change, start, _AGENT_HEAD, removing=capability, tidy=tidy if capabilities else None)


def class_edit(
    harness: str, name: str, tool: str, before: Iterable[str], *, add: bool, below: Iterable[str] = ()
) -> Edit:
    """Return the edit that adds a tool to a class of the harness, or removes it.

    `before` lists the current tools of the class; they are used if the file has no list for the class. `below` lists
    the shipped tools of the class; it is empty for a harness without a shipped map.
    """
    shipped = sorted(below)

    def change(value: dict[str, Any]) -> None:
        if harness not in value:
            yaml_changes.put(value, harness, {})
        if "classes" not in value[harness]:
            yaml_changes.put(value[harness], "classes", {})
        classes = value[harness]["classes"]
        if name not in classes:
            yaml_changes.put(classes, name, list(before))
        if add:
            yaml_changes.append(classes[name], tool)
        else:
            yaml_changes.take_out(classes[name], tool)

    def tidy(value: dict[str, Any]) -> None:
        if sorted(value[harness]["classes"][name]) == shipped:
            yaml_changes.remove(value[harness]["classes"], name)
            if not value[harness]["classes"]:
                yaml_changes.remove(value[harness], "classes")
            if not value[harness]:
                yaml_changes.remove(value, harness)

    if add:
        return Edit(MAP, change, {}, _MAP_HEAD)
    return Edit(MAP, change, {}, _MAP_HEAD, removing=tool, tidy=tidy if shipped else None)


def carry_out(store: Store, edit: Edit, shipped: dict[str, Any]) -> EditResult:
    """Make the change of `edit`, and return its result. `shipped` is the shipped catalog as a value.

    Remove the file when it has neither a value of its own nor a comment except `head`. Repeat the change if another
    program saved the file meanwhile. Raise CatalogError if the project's files would be unusable with the change,
    PathRefused, StorageError; then nothing is written. Raise NotConfirmed.
    """
    with store.nexus() as nexus:  # check without the lock first, so that a refused change creates no folder
        _apply(None if nexus is None else Own(nexus), edit, shipped)
    with store.locked_nexus() as (nexus, held):
        return retry(lambda: _carried_out(nexus, held, edit, shipped))


def _carried_out(nexus: Folder, held: HeldLock, edit: Edit, shipped: dict[str, Any]) -> EditResult:
    """Try `carry_out` once. Raise ChangedMeanwhile, with nothing written, if another program saved the file."""
    original = original_at(nexus, edit.path)
    data, is_frozen, is_bare = _apply(Own(nexus), edit, shipped, original)
    if not (is_bare and remove_file(nexus, edit.path, original, held)):
        put_file(nexus, edit.path, original, data, held)
    return EditResult(nexus.show(edit.path), is_frozen)


def _apply(
    source: Own | None, edit: Edit, shipped: dict[str, Any], original: Original | None = None
) -> tuple[bytes, bool, bool]:
    """Return (the file with the change, whether it repeats shipped values to keep a comment, whether it has neither a
    value of its own nor a comment except `head`).

    `original` is the file; if it is None, the file is read from `source`. Raise CatalogError if the project's files
    would be unusable with the change.
    """
    over = _Over(source, edit.path)
    before = over.read(edit.path) if original is None else original.content()
    is_frozen = is_bare = False
    if before is None:
        over.data = new_file(edit.start, edit.head, edit.change)
    else:
        over.data, is_frozen, is_bare = _rewrite(before, over.format_path(edit.path), edit)
    try:
        own_value(over, shipped)
    except CatalogError as error:
        raise CatalogError(error.faults, next_step="The change would cause this; nothing was changed.") from error
    return over.data, is_frozen, is_bare


def _rewrite(before: bytes, shown: str, edit: Edit) -> tuple[bytes, bool, bool]:
    """Return the result of `_apply` for the bytes `before`. If there is `edit.tidy`, the file then has
    no values that only repeat the shipped catalog, unless a comment would be lost with them.
    """
    data = changed_file(before, shown, edit.change, removing=edit.removing)
    if edit.tidy is None:
        return data, False, False
    plain = value_of(data, shown)
    edit.tidy(plain)
    if plain == value_of(data, shown):
        return data, False, False
    is_bare = plain == edit.start and comments_in(data) in ([], [f"# {edit.head}"])
    try:
        return changed_file(data, shown, edit.tidy), False, is_bare
    except CatalogError:
        return data, not is_bare, is_bare


class _Over:
    """The files of a project, with the new content of one of them."""

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

    def format_path(self, path: str) -> str:
        return f".nexus/{path}"
