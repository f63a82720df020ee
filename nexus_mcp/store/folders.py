"""The folders on the way to the store's files, as they are."""

from __future__ import annotations

from nexus_mcp.store.folder import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class Folders:
    """(`.nexus`, `.nexus/state`) as they are, None where absent: a context. Raises PathRefused, StorageError."""

    __slots__ = ("_open", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._open: list[Folder] = []

    def __enter__(self) -> tuple[Folder | None, Folder | None]:
        try:
            return found(self._path, self._open)[1:]
        except BaseException:
            close(self._open)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        close(self._open)


def found(path: str, opened: list[Folder]) -> tuple[Folder, Folder | None, Folder | None]:
    """The project folder at `path`, its `.nexus` and `.nexus/state`; each is in `opened` as soon as it is open."""
    root = entered(opened, Folder.root(path))
    nexus = root.child(".nexus")
    state = None if nexus is None else entered(opened, nexus).child("state")
    return root, nexus, None if state is None else entered(opened, state)


def entered(opened: list[Folder], folder: Folder) -> Folder:
    opened.append(folder)
    return folder


def close(opened: list[Folder]) -> None:
    while opened:
        opened.pop().close()
