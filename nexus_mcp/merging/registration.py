"""The merge driver in a repository: a line in .gitattributes, which is shared, and the command, which is not."""

from __future__ import annotations

from nexus_mcp.merging import attributes
from nexus_mcp.merging.attributes import DRIVER, FILE
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.journal import SHOWN_HISTORY
from nexus_mcp.store.original import read
from nexus_mcp.store.replacing import Replacement, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.merging.repository import Repository

NAME_KEY = f"merge.{DRIVER}.name"
DRIVER_KEY = f"merge.{DRIVER}.driver"
NAME = "cycles of a Nexus history"
_LIMIT = 4 << 20


class Registration:
    """What was done, or is there. `attribute`, `config`: whether each changed; `in_force`: whether git will use it.

    `shared`: the command was left in the configuration, because another project of the repository uses it.
    """

    __slots__ = ("attribute", "config", "in_force", "line", "shared")

    def __init__(self, line: str, *, attribute: bool, config: bool, in_force: bool, shared: bool = False) -> None:
        self.line = line
        self.attribute = attribute
        self.config = config
        self.in_force = in_force
        self.shared = shared


def command(words: Sequence[str]) -> str:
    """The driver's command line, as git gives it to sh; `words` start this program.

    Where the program is gone or crashes, git would take our side of the file for the result and only call it a
    conflict; so git's own conflict is put in then, against no common past as in driver.py. Where one side is an empty
    file there are no markers, but the other side, whole; git calls it a conflict, and a repair sees that from git.
    """
    from shlex import quote

    # git replaces %O and its like, and %% by %.
    own = " ".join(quote(word) for word in words).replace("%", "%%")
    by_git = "git merge-file --marker-size=%L -L ours -L base -L theirs %A /dev/null %B"
    return (
        f"{own} history merge --marker-size=%L %O %A %B || "
        f"{{ grep -q '^<' %A || {by_git}; exit 1; }}"
    )  # fmt: skip


def register(repository: Repository, words: Sequence[str]) -> Registration:
    """Have git merge the history with the command `words`. May be run again. Raises NexusError."""
    path = f"{repository.prefix}{SHOWN_HISTORY}"
    line = attributes.line(path)
    _read(repository.top)  # refused before anything is changed
    # In this order, and taken back in the other: with a name but without a command git refuses to merge at all. The
    # line comes last, so that nothing was changed that goes to others when git refuses.
    driver = repository.set_config(DRIVER_KEY, command(words))
    named = repository.set_config(NAME_KEY, NAME)
    changed = _edit(repository.top, lambda data: attributes.added(data, line))
    in_force = repository.attribute("merge", path) == DRIVER
    return Registration(_shown(line), attribute=changed, config=driver or named, in_force=in_force)


def unregister(repository: Repository) -> Registration:
    """Take back what `register` did, and nothing else. Raises NexusError."""
    path = f"{repository.prefix}{SHOWN_HISTORY}"
    line = attributes.line(path)
    changed = _edit(
        repository.top,
        lambda data: None if data is None else attributes.removed(data, line),
        gone=lambda data: attributes.is_own(data, line),
    )
    shared = attributes.names_driver(_read(repository.top) or b"")
    config = False
    if not shared:
        config = any([repository.unset_config(NAME_KEY), repository.unset_config(DRIVER_KEY)])
    in_force = repository.attribute("merge", path) == DRIVER
    return Registration(_shown(line), attribute=changed, config=config, in_force=in_force, shared=shared)


def _read(top: str) -> bytes | None:
    with Folder.root(top) as root:
        return root.read(FILE, _LIMIT)


def _edit(
    top: str, edit: Callable[[bytes | None], bytes | None], gone: Callable[[bytes], bool] = lambda _: False
) -> bool:
    """Put what `edit` makes of .gitattributes in its place, no file where `gone`; whether it made anything.

    It is made again of what another program saved meanwhile.
    """

    def once() -> bool:
        original = read(root, FILE, _LIMIT)
        before = original.content()
        after = edit(before)
        if after is not None:
            Replacement(root, FILE, original).put(None if before is not None and gone(before) else after)()
        return after is not None

    with Folder.root(top) as root:
        return repeated(once)


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace")
