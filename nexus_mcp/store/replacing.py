"""Replace or remove a file that was read before, so that no save of another program in between is lost.

The file is looked at right before: a save that shows there makes the change run again, on what was saved. Then names
are exchanged in one step, so whatever the name held, also a save that came after that look, lies under a temporary name
and is looked at there. It gets its own name back, and the change runs again; or, where a change can only go forward, it
is kept beside the file (docs/decisions/0070). An editor that is still writing goes on in the very file that is kept.
"""

from __future__ import annotations

import os
from contextlib import suppress

from nexus_mcp import log
from nexus_mcp.errors import NexusError, NotConfirmed, StateError, StorageError
from nexus_mcp.store import atomic, conflicts
from nexus_mcp.store.folder import reason
from nexus_mcp.store.original import ChangedMeanwhile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from nexus_mcp.store.conflicts import Mark
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.original import Original

    New = bytes | Mark
    """What takes the place of a file: its bytes, or what its end is known by."""

    Result = TypeVar("Result")

TRIES = 8
"""So often a change runs when another program saves its file each time. Then it is refused, with nothing changed."""


def retry(change: Callable[[], Result]) -> Result:
    """What `change` returns, called again while it raises ChangedMeanwhile, TRIES times at most."""
    for _ in range(TRIES - 1):
        try:
            return change()
        except ChangedMeanwhile:
            continue
    return change()


class Replacement:
    """The replacing of the file `name` in `folder`, which was read as `original`.

    With `forward`, the id of a change that goes on whatever another program saved, that is kept as a copy with this id
    in its name. `copy` is the name of that copy, "" while there is none.
    """

    __slots__ = ("_folder", "_forward", "_name", "_original", "copy")

    def __init__(self, folder: Folder, name: str, original: Original, forward: str | None = None) -> None:
        self._folder = folder
        self._name = name
        self._original = original
        self._forward = forward
        self.copy = ""

    def put(
        self,
        data: bytes | None,
        check: Callable[[], None] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """As atomic.put, but for the sync of the folder: what is returned does that, or raises NotConfirmed.

        Raises ChangedMeanwhile, PathRefused and StorageError with nothing changed, NotConfirmed.
        """
        folder, name, temporary = self._folder, self._name, ""
        try:
            if data is not None:
                temporary = self.prepare(data, meanwhile)
            try:
                if check is not None:
                    check()
                self._check()
            except BaseException:
                if temporary:
                    folder.unlink(temporary)
                raise
            self.install(temporary, data)
        except OSError as error:
            raise StorageError(folder.show(name), "write", reason(error)) from error
        except atomic.Unsynced as error:
            raise NotConfirmed(folder.show(name), reason(error.cause)) from error
        return atomic.make_confirm(folder, name)

    def _check(self) -> None:
        """Look at the file once more before it is replaced. Raises ChangedMeanwhile, PathRefused, StorageError."""
        original = self._original
        if self._forward is None:
            original.check(self._folder, self._name)
        elif original.data is ...:  # only its end can be compared later; its times tell of the rest
            try:
                original.check(self._folder, self._name)
            except ChangedMeanwhile:
                original.disown()

    def prepare(self, data: bytes, meanwhile: Callable[[], None] | None = None) -> str:
        """Write what is to take the place of the file, synced; its temporary name. Raises as atomic.prepare does."""
        return atomic.prepare(self._folder, [data], self._original.permissions, meanwhile)

    def install(self, temporary: str, new: New | None) -> None:
        """Put what was prepared in the place of the file, or, where `new` is None, remove the file.

        Raises ChangedMeanwhile with nothing changed: without `forward` after any save, with it when the file came or
        went. OSError and StorageError with nothing changed; atomic.Unsynced where it was, and could not be looked at.
        """
        folder, name, original = self._folder, self._name, self._original
        if new is None and not original.is_there:
            return
        try:
            if not original.is_there:
                atomic.place(folder, temporary, name)
                return
            held = original.temporary(name, new, None if new is None else folder.look(temporary), temporary)
            folder.rename(name if new is None else temporary, held)
            temporary = held
            if new is not None and not atomic.exchange(folder, held, name):
                self._rename(held, new)
                return
        except OSError as error:
            folder.unlink(temporary)
            if isinstance(error, (FileExistsError, FileNotFoundError)):
                raise ChangedMeanwhile(folder.show(name)) from error
            raise
        self._settle(temporary, new)

    def _settle(self, held: str, new: New | None) -> None:
        """See to what came out, which has the name `held`. Raises as `install` does, but no OSError."""
        folder, name, is_forward = self._folder, self._name, self._forward is not None
        try:
            # A change of permissions counts, too, unless the change can only go forward: its file has the old ones.
            if self._original.is_at(folder, held) and (is_forward or new is None or not self._original.is_chmodded):
                self._let_go(held)
                return
            if self._forward is not None:
                self.copy = conflicts.keep(folder, held, name, self._forward)
                return
        except (OSError, NexusError) as error:
            self._put_back(held, new)
            if isinstance(error, OSError):
                raise StorageError(folder.show(name), "replace", reason(error)) from error
            raise
        # A second name as a copy, until a later try has built upon it: a program that loads our file just now, and
        # saves it once more, writes over what is put back.
        if new is not None:
            conflicts.add_name(folder, held, name)
        self._put_back(held, new)
        raise ChangedMeanwhile(folder.show(name))

    def _let_go(self, held: str) -> None:
        """Remove the old file, which has the name `held`. Raises OSError."""
        self._folder.unlink(held)
        # A save that was put back by an earlier try, and is built upon now. A change that only goes forward has not
        # built upon it: a user may have linked a copy to its first name again.
        if self._original.names > 1 and self._forward is None:
            conflicts.drop_twins(self._folder, self._original.is_file)

    def _put_back(self, held: str, new: New | None) -> None:
        """Give what came out its name again. What another program saved under that name meanwhile is kept as a copy.

        Raises atomic.Unsynced where it cannot be put back: the change was made then. StorageError.
        """
        folder, name = self._folder, self._name
        try:
            is_exchanged = False
            with suppress(FileNotFoundError):  # another program removed our file
                is_exchanged = new is not None and atomic.exchange(folder, held, name)
            if not is_exchanged:
                try:
                    atomic.place(folder, held, name)
                except FileExistsError:
                    conflicts.keep(folder, held, name)
            elif new is not None and not _holds(folder, held, new):
                conflicts.keep(folder, held, name)
            else:
                with suppress(OSError):  # swept by the next change
                    folder.unlink(held)
        except OSError as error:
            raise atomic.Unsynced(error) from error

    def _rename(self, temporary: str, new: New) -> None:
        """Where names cannot be exchanged: look as late as can be, rename, and keep what was written in place since.

        The old file gets a second name first, so that a save in place is not lost with it, whatever fails or dies from
        then on. What another program renames to that name right before ours is lost. Raises as `install` does.
        """
        folder, name, original = self._folder, self._name, self._original
        aside = ""
        try:
            if original.is_foreign:
                self.install("", None)
                atomic.place(folder, temporary, name)
                return
            original.check(folder, name)
            second = original.temporary(name, new, folder.look(temporary))
            aside = second if atomic.add_name(folder, name, second) else ""
            if aside and not original.is_at(folder, aside):
                raise ChangedMeanwhile(folder.show(name))
            folder.rename(temporary, name)
        except (OSError, NexusError):
            for left in (temporary, aside):
                if left:
                    folder.unlink(left)
            raise
        try:
            if aside and original.is_at(folder, aside):
                self._let_go(aside)
            elif aside:
                self.copy = conflicts.keep(folder, aside, name, self._forward or "")
            else:
                self._keep_saved()
        except (OSError, NexusError) as error:  # the change was made; the next one sweeps, and keeps what was saved
            folder.is_untidy = True
            log.warning(f"{folder.show(aside or name)}: {error}")

    def _keep_saved(self) -> None:
        """Keep what was written to the file since it lost its only name. Raises OSError, NexusError."""
        folder, name = self._folder, self._name
        saved = self._original.saved_since()
        if saved is not None:
            copy = f"{conflicts.PREFIX}{self._forward or os.urandom(8).hex()}-{name}"
            atomic.place(folder, atomic.prepare(folder, [saved], folder.permissions(name)), copy)
            conflicts.warn(folder, copy, name)
            self.copy = copy


def _holds(folder: Folder, name: str, new: New) -> bool:
    if isinstance(new, tuple):
        return conflicts.mark(folder, name, conflicts.END) == new
    try:
        return folder.read(name, len(new)) == new
    except StateError:  # larger
        return False
