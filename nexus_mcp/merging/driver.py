"""Register the git merge driver for history.json, and merge the three files that git passes to it.

The registration is a line in .gitattributes, which all clones share, and a command in .git/config, which only this
clone has. To unregister removes the command, and restores .gitattributes to the byte. Git reads the file of our side
after every exit code of the driver, so the driver replaces it completely or not at all.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import StorageError, UsageError
from nexus_mcp.merging.threeway import merge
from nexus_mcp.merging.versions import MergeUndecided
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder, reason
from nexus_mcp.store.journal import SHOWN_HISTORY
from nexus_mcp.store.replacement import Replacement, read, retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.merging.repository import Repository

DRIVER = "nexus-history"
ATTRIBUTE = f"merge={DRIVER}"
FILE = ".gitattributes"
NAME_KEY = f"merge.{DRIVER}.name"
DRIVER_KEY = f"merge.{DRIVER}.driver"
NAME = "cycles of a Nexus history"
_LIMIT = 4 << 20
_BOM = b"\xef\xbb\xbf"  # git also skips a byte order mark
_SPECIAL = "\\*?["  # characters with a meaning anywhere in a pattern
_FIRST = "#!"  # characters with a meaning at the beginning of a pattern
_C = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
MARKER_SIZE = 7
_LABELS = ("-L", "ours", "-L", "the common past", "-L", "theirs")
# git merge sets a variable with this prefix for each branch that it merges; rebase, cherry-pick and stash set none.
_MERGED_HEAD = "GITHEAD_"


def attribute_line(path: str) -> bytes:
    """Return the attribute line for `path`, relative to the repository root and with `/`; without a line end."""
    pattern = "".join(f"\\{char}" if char in _SPECIAL else char for char in path)
    if pattern[0] in _FIRST:
        pattern = f"\\{pattern}"
    if pattern[0] == '"' or any(char.isspace() or not char.isprintable() for char in pattern):
        pattern = f'"{"".join(_quote(char) for char in pattern)}"'
    return f"{pattern} {ATTRIBUTE}".encode("utf-8", "surrogateescape")


def add_line(data: bytes | None, wanted: bytes) -> bytes | None:
    """Append the line `wanted`. Return the new bytes of the file, None when it has the line already."""
    if not data:
        return wanted + b"\n" if data is None else wanted
    if wanted in _lines(data):
        return None
    end = b"\r\n" if b"\r\n" in data else b"\n"
    # If the file is empty or has no final line end, the new line gets none either, so that remove_line can restore the
    # exact bytes.
    return data + wanted + end if data.endswith(b"\n") else data + end + wanted


def remove_line(data: bytes, wanted: bytes) -> bytes | None:
    """Remove the line `wanted`, every copy of it. Return the new bytes of the file, None when the line is not there.

    A merge of two branches that both added the line may have doubled it.
    """
    text = data.removeprefix(_BOM)
    lines = text.split(b"\n")
    others = [each for each in lines if each.strip() != wanted]
    if len(others) == len(lines):
        return None
    if others and lines[-1].strip() == wanted:  # add_line added the line end before the line
        others[-1] = others[-1].removesuffix(b"\r")
    return data[: len(data) - len(text)] + b"\n".join(others)


def is_own(data: bytes, wanted: bytes) -> bool:
    """Return whether add_line created the file and it has no other line."""
    return bool(data) and not data.replace(wanted + b"\n", b"")


def names_driver(data: bytes) -> bool:
    """Return whether a line names the driver, for any file."""
    return any(ATTRIBUTE.encode() in text.split() for text in _lines(data) if not text.startswith(b"#"))


def _lines(data: bytes) -> list[bytes]:
    return [text.strip() for text in data.removeprefix(_BOM).split(b"\n")]


def _quote(char: str) -> str:
    if char in _C:
        return _C[char]
    if char.isprintable():
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


class Registration:
    """The result of registering or unregistering.

    `line`: the line of .gitattributes. `attribute`, `config`: whether .gitattributes and .git/config changed.
    `in_force`: whether the attributes name the driver for history.json now. `shared`: the command stays in the
    configuration because another line of .gitattributes names the driver.
    """

    def __init__(self, line: str, *, attribute: bool, config: bool, in_force: bool, shared: bool = False) -> None:
        self.line = line
        self.attribute = attribute
        self.config = config
        self.in_force = in_force
        self.shared = shared


def driver_command(words: Sequence[str]) -> str:
    """Return the driver's shell command; `words` start this program.

    If the program is missing or crashes, git would keep our side and report a conflict. So in these cases git
    merge-file writes a conflict, with an empty base, as in `drive`. If one side is empty, git merge-file writes the
    whole other side without markers; git still reports a conflict, and history repair finds it in git's index.
    """
    from shlex import quote

    # git replaces %O and its other placeholders, and %% by %.
    own = " ".join(quote(word) for word in words).replace("%", "%%")
    by_git = "git merge-file --marker-size=%L -L ours -L base -L theirs %A /dev/null %B"
    return (
        f"{own} history merge --marker-size=%L %O %A %B || "
        f"{{ grep -q '^<' %A || {by_git}; exit 1; }}"
    )  # fmt: skip


def register(repository: Repository, words: Sequence[str]) -> Registration:
    """Register the driver with the command `words`. May be repeated. Raise NexusError."""
    path = f"{repository.prefix}{SHOWN_HISTORY}"
    line = attribute_line(path)
    _read(repository.top)  # called first, because it may raise before anything is changed
    # The command is set before the name, and they are removed in reverse order, because with a name but no command git
    # refuses to merge. The shared line is written last, so that it stays unchanged if git refuses.
    driver = repository.set_config(DRIVER_KEY, driver_command(words))
    named = repository.set_config(NAME_KEY, NAME)
    changed = _edit(repository.top, lambda data: add_line(data, line))
    in_force = repository.attribute("merge", path) == DRIVER
    return Registration(_decode_line(line), attribute=changed, config=driver or named, in_force=in_force)


def unregister(repository: Repository) -> Registration:
    """Undo `register`, and nothing else. Raise NexusError."""
    path = f"{repository.prefix}{SHOWN_HISTORY}"
    line = attribute_line(path)
    changed = _edit(
        repository.top,
        lambda data: None if data is None else remove_line(data, line),
        deletable=lambda data: is_own(data, line),
    )
    shared = names_driver(_read(repository.top) or b"")
    config = False
    if not shared:
        config = any([repository.unset_config(NAME_KEY), repository.unset_config(DRIVER_KEY)])
    in_force = repository.attribute("merge", path) == DRIVER
    return Registration(_decode_line(line), attribute=changed, config=config, in_force=in_force, shared=shared)


def _read(top: str) -> bytes | None:
    with Folder.root(top) as root:
        return root.read(FILE, _LIMIT)


def _edit(
    top: str, edit: Callable[[bytes | None], bytes | None], deletable: Callable[[bytes], bool] = lambda _: False
) -> bool:
    """Replace .gitattributes with the result of `edit`. Return whether the file changed.

    A file for whose content `deletable` returns True is deleted instead. `edit` runs again when another program changed
    the file meanwhile.
    """

    def once() -> bool:
        original = read(root, FILE, _LIMIT)
        before = original.content()
        after = edit(before)
        if after is not None:
            Replacement(root, FILE, original).put(None if before is not None and deletable(before) else after)
        return after is not None

    with Folder.root(top) as root:
        return retry(once)


def _decode_line(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def drive(base: str, ours: str, theirs: str, marker_size: int = MARKER_SIZE) -> str:
    """Merge the file `theirs` into the file `ours`. Return "" after a merge, else the reason of the conflict.

    After a conflict `ours` has markers around the differences, or is unchanged if git makes no markers for such a file.
    Raise UsageError when a file cannot be read, StorageError when `ours` cannot be replaced.
    """
    past, own, other = (_read_version(path) for path in (base, ours, theirs))
    descends = any(name.startswith(_MERGED_HEAD) for name in os.environ)
    try:
        # git passes an empty file when there is no common ancestor.
        result = merge(past or None, own, other, descends=descends)
    except MergeUndecided as undecided:
        marked = _mark_conflict(base, ours, theirs, marker_size)
        if marked is not None:
            _replace(ours, marked)
        return undecided.reason
    if result != own:
        _replace(ours, result)
    return ""


def _read_version(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.",
            next_step="git passes the files to this command; do not run it yourself.",
        ) from error


def _mark_conflict(base: str, ours: str, theirs: str, marker_size: int) -> bytes | None:
    """Return the two sides with markers around their differences; None if git cannot be run or makes no markers.

    Git makes none for binary files.
    """
    for past in (os.devnull, base):
        # With the real base git would take some lines of one side without a marker, and the sides could not be
        # separated. So the base is empty at first. If git then reports no conflict, because a side is empty, the real
        # base is used.
        code, text = _merge_file(past, ours, theirs, marker_size)
        if 0 < code < 128:
            return text
    return None


def _merge_file(base: str, ours: str, theirs: str, marker_size: int) -> tuple[int, bytes]:
    import subprocess

    size = max(marker_size, MARKER_SIZE)  # shorter lines of < could be corrupt text, not markers
    words = ["git", "merge-file", "-p", "-q", f"--marker-size={size}", *_LABELS, "--", ours, base, theirs]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    except OSError:
        return 255, b""
    return done.returncode, done.stdout


def _replace(path: str, data: bytes) -> None:
    folder, name = os.path.split(os.path.realpath(path))
    try:
        with Folder.root(folder) as there:
            atomic.replace(there, name, [data])
    except atomic.SyncFailed:
        pass  # a sync is not needed: git copies the file at once, and does not sync its copy
    except OSError as error:
        raise StorageError(path, "replace", reason(error)) from error
