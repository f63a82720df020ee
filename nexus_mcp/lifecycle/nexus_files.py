"""Guard `.nexus/`: find out which files a call would write, and refuse edits of files that only tools may change.

A path is text that a tool, the system and a shell may each resolve differently: links may be followed or replaced,
`..` resolved before or after links, upper and lower case equal or not. The strictest resolution decides.
"""

from __future__ import annotations

import os

from nexus_mcp.catalog.tool_files import parameters_of
from nexus_mcp.program import command
from nexus_mcp.quoting import quote

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

LONGEST_PATH = 1 << 12
"""Maximum characters of a path to resolve: no system opens a longer one, and each name costs a system call."""


def inside(root: str, file: str) -> str | None:
    """Return the file as a path from the folder `root`, with `/`; None if it is not below `root`, or if the path is too
    long or cannot be resolved.

    Links and `..` are resolved. A relative path starts at `root`.
    """
    if len(file) > LONGEST_PATH:
        return None
    try:
        path = os.path.realpath(os.path.join(root, file))
    except (ValueError, OSError):  # a NUL, or links without end
        return None
    top = root.rstrip(os.sep) + os.sep
    return path[len(top) :].replace(os.sep, "/") if path.startswith(top) else None


FILE, NOTE, ARTIFACT, SETTING, STATE = range(5)
"""Kinds of files: a file of the project or outside of it; a file below memory/, context/ or rules/; one below
state/artifacts/; any other file below .nexus/; state, history and .nexus/ itself. The last three are guarded, the last
one most strictly (`refusal`). A NOTE needs no task list for an edit.
"""
NEXUS = ".nexus"
_NOTES = ("memory", "context", "rules")
_STATE, _ARTIFACTS, _HISTORY = "state", "artifacts", "history.json"
# macOS ignores these in names (HFS+), as git found out: CVE-2014-9390.
_IGNORED = dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF])
_SHORT = ("nexus~", "histor~")  # how Windows shortens long names


def kind_of(path: str) -> int:
    """Return the kind of a path from the project root, by its text only; in doubt the stricter kind.

    File systems differ in which spellings name one file, so case, ignored characters and name endings that Windows
    drops make no difference, except that a path counts as NOTE only in its plain spelling. A `.nexus` in a subfolder
    belongs to a worktree or another project: its state is guarded like ours, but its notes are ordinary files of this
    project.
    """
    names = parts(path)
    if not names:
        return STATE  # the project folder itself, which contains .nexus
    kind = FILE
    for index, name in enumerate(names):
        if not _is(name, NEXUS):
            continue
        below = _kind_below(names[index + 1 :])
        is_own = index == 0 and name == NEXUS
        kind = max(kind, below if is_own or below != NOTE else FILE)
    return kind


def parts(path: str) -> list[str]:
    """Return the names in a path, split at slashes and backslashes."""
    return [name for name in path.replace("\\", "/").split("/") if name not in ("", ".")]


def strictest(kinds: Collection[int]) -> int:
    """Return the kind of a path that may lead to files of these kinds; NOTE only if all are notes."""
    most = max(kinds, default=FILE)
    return FILE if most == NOTE and FILE in kinds else most


def _kind_below(names: list[str]) -> int:
    """Return the kind of a file with these names below a .nexus."""
    if not names or _is(names[0], _HISTORY):
        return STATE
    if _is(names[0], _STATE):
        is_artifact = names[:2] == [_STATE, _ARTIFACTS] and len(names) > 2 and ".." not in names
        return ARTIFACT if is_artifact else STATE
    is_note = names[0] in _NOTES and len(names) > 1 and all(map(_is_plain, names))
    return NOTE if is_note else SETTING


def _is_plain(name: str) -> bool:
    """Return whether all file systems read a name as it is written, apart from upper and lower case; `..` is not plain,
    nor is `.. `, which Windows reads as `..`.
    """
    return bool(name.strip(". ")) and _fold(name) == name.casefold()


def _is(name: str, wanted: str) -> bool:
    """Return whether some file system reads `name` as `wanted`."""
    folded = _fold(name)
    return folded == wanted or (folded.startswith(_SHORT) and wanted.lstrip(".").startswith(folded.partition("~")[0]))


def _fold(name: str) -> str:
    """Return the name as the most tolerant file systems read it: in lower case, without the `:` and name of an NTFS
    stream, and without dots and blanks at the end.
    """
    folded = name.translate(_IGNORED).casefold()
    return folded.partition(":")[0].rstrip(". ") if folded.strip(". ") else folded


_MAX_PATHS, _MAX_CHARACTERS = 1000, 1 << 14
"""Maximum paths of one call to resolve, and their total characters."""
_MAGIC = ("/proc/", "/dev/")
"""Below these folders a path means a different file in each process."""
_GUARDED = ("", "state", "history.json", "state/plan.json", "state/tasks.json", "config.yml", "capability-map.yml")
"""Paths below .nexus that are recognized by inode too: through mounts, hard links, or in another case."""


TRIMMED = "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
TRIMMED += "\u2028\u2029\u202f\u205f\u3000\ufeff"
"""Characters that harnesses strip from both ends of a path, depending on their programming language."""


class Kinds:
    """The kinds of `paths` in the project at `root`: `of` maps each path to its kind, `is_whole` says that all were
    resolved.

    `state_root` is the folder with the state and the history: `root`, or for a linked worktree the main worktree.
    """

    __slots__ = ("_folders", "_inodes", "_root", "_top", "is_whole", "of")

    def __init__(self, root: str, paths: Iterable[str], state_root: str = "") -> None:
        self._root = root
        self._top = [name.casefold() for name in parts(root)]
        self._folders: dict[str, str] = {}
        self._inodes = {
            _inode(os.path.join(top, NEXUS, *parts(path))): path
            for top in dict.fromkeys((state_root or root, root))
            for path in reversed(_GUARDED)
        }
        self._inodes.pop(None, None)
        self.of: dict[str, int] = {}
        self.is_whole = True
        length = 0
        for path in dict.fromkeys(paths):
            length += len(path)
            try:
                if len(path) > LONGEST_PATH or length > _MAX_CHARACTERS or len(self.of) >= _MAX_PATHS:
                    raise ValueError
                self.of[path] = self._kind(path)
            except (ValueError, OSError):  # too long or too many; a NUL, a lone surrogate, links without end
                self.of[path], self.is_whole = _as_written(path), False

    def _kind(self, path: str) -> int:
        written = list(_spellings(path))
        kind = strictest([self._at(place) for one in written for place in self._places(self._from_root(one))])
        # The other places that the path may lead to can only make the kind stricter.
        others = [other for one in written for other in self._others(one) if other != NOTE]
        return max(kind, *others, FILE)

    def _from_root(self, path: str) -> str:
        return os.path.join(self._root, path)

    def _others(self, path: str) -> Iterator[int]:
        """Yield the kinds of a path as written, and relative to the folder of this process."""
        place = os.path.normpath(self._from_root(path))
        yield self._at(place)
        if path.startswith(_MAGIC):
            yield _as_written(path)
        elif not os.path.isabs(path):
            for other in self._places(os.path.join(_working_folder(), path)):
                yield self._at(other)
            if self._below(place) is None:
                yield _as_written(path)

    def _places(self, path: str) -> Iterator[str]:
        """Yield where a path leads: with links followed, with a last link kept, and with `..` removed before links."""
        head, name = os.path.split(path)
        if name in ("", ".", ".."):
            yield os.path.realpath(path)
        else:
            if head not in self._folders:
                self._folders[head] = os.path.realpath(head)
            place = os.path.join(self._folders[head], name)
            yield place
            if os.name == "nt" or os.path.islink(place):
                yield os.path.realpath(place)
        plain = os.path.normpath(path)
        if plain != path and ".." in parts(path):  # normpath splits at backslashes only on Windows
            yield from self._places(plain)

    def _at(self, place: str) -> int:
        below = self._below(place)
        if below is None:
            is_above = self._top[: len(parts(place))] == [name.casefold() for name in parts(place)]
            # The `.nexus` of the main worktree, or of another project, counts like a nested one.
            return STATE if is_above else max(self._kind_by_inode(place, ""), _as_written(place))
        kind = kind_of(below)
        if kind == NOTE and not place.startswith(self._root):
            kind = FILE
        if kind == FILE:
            holds_nexus = os.path.lexists(os.path.join(place, NEXUS))  # of a worktree, of another project
            return STATE if holds_nexus else self._kind_by_inode(place, self._root)
        return kind

    def _below(self, place: str) -> str | None:
        """Return the path from the project root, compared without letter case; None for the root and paths outside."""
        names = parts(place)
        number = len(self._top)
        is_below = [name.casefold() for name in names[:number]] == self._top and len(names) > number
        return "/".join(names[number:]) if is_below else None

    def _kind_by_inode(self, place: str, top: str) -> int:
        """Return the kind of a place by its inode or that of a parent folder, up to `top`; FILE if none is guarded."""
        rest: list[str] = []
        while self._inodes and len(place) > len(top):
            known = self._inodes.get(_inode(place))
            if known is not None:
                return kind_of("/".join([NEXUS, *parts(known), *rest]))
            place, name = os.path.split(place)
            if not name:
                break
            rest.insert(0, name)
        return FILE


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was removed
        return os.sep


def _inode(path: str) -> tuple[int, int] | None:
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino) if info.st_ino else None


def _as_written(path: str) -> int:
    """Return the kind of a path that is not resolved or outside the project: as if a `.nexus` in it were nested."""
    kind = kind_of(f"x/{path}")
    return FILE if kind == NOTE else kind


def _spellings(path: str) -> Iterator[str]:
    """Yield the path, and how else a tool may read it: stripped, with the home folder, with slashes, as a URI."""
    yield path
    bare = path.strip(TRIMMED)
    if bare and bare != path:
        yield bare
    if bare.startswith("~/"):
        yield os.path.expanduser(bare)
    if "\\" in bare and os.sep == "/":
        yield bare.replace("\\", "/")
    if bare[:5].lower() == "file:":
        yield decoded_path(bare)


def decoded_path(uri: str) -> str:
    """Return the path in a URI that begins with `file:`."""
    path = uri[5:].removeprefix("//").removeprefix("localhost")
    first, *rest = path.split("%")
    chunks = [first.encode()]
    for part in rest:
        try:
            chunks.append(bytes.fromhex(part[:2]) + part[2:].encode())
        except ValueError:
            chunks.append(b"%" + part.encode())
    return os.fsdecode(b"".join(chunks))


_SHOWN = 200  # characters of a path or tool name
# The tools that change a file below state/.
_TOOLS = {
    "plan.json": "Use plan_start, plan_update or plan_decide",
    "tasks.json": "Use task_add, task_update or task_close",
    "artifacts": "Use artifact_write",
}


def refusal(
    known: Mapping[str, Any],
    tool: str,
    kinds: Mapping[str, int],
    *,
    is_certain: bool,
    is_main: bool,
    may_reach_state: bool = False,
) -> str:
    """Return why a call that writes files of these kinds may not run, with the next step; "" if it may.

    `is_certain` says that it writes no other files; `is_main` that the main session makes the call;
    `may_reach_state` that the input of an uncertain call names the state or the history (names_state).
    """
    path = next((path for path, kind in kinds.items() if kind == STATE), None)
    if path is not None:
        return f"{_would(tool, path)}: only the tools and commands of nexus-mcp may change that. {_instead(path)}."
    if is_main:
        if is_certain or not may_reach_state:
            return ""
        return (
            f"Which files {quote(tool, _SHOWN)} would change is uncertain, and its input names "
            ".nexus/state or .nexus/history.json, which only the tools and commands of nexus-mcp may change. "
            f"{_plainer(known, tool)}"
        )
    path = next((path for path, kind in kinds.items() if kind not in (FILE, NOTE)), None)
    if path is not None:
        return f"{_would(tool, path)}: below .nexus/ an agent edits only notes (memory/, context/, rules/). " + (
            f"{_TOOLS['artifacts']}."
            if kinds[path] == ARTIFACT
            else "End here, and tell whoever leads the work what has to change in that file."
        )
    if is_certain:
        return ""
    return (
        f"Which files {quote(tool, _SHOWN)} would change is uncertain, and an agent may not edit all "
        f"files below .nexus/. {_plainer(known, tool)}"
    )


def names_state(tool_input: object) -> bool:
    """Return whether a text in the input has `.nexus` and also `state` or `history.json`, in any case of letters."""
    rest = [tool_input]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, str):
            folded = value.casefold()
            if ".nexus" in folded and ("state" in folded or "history.json" in folded):
                return True
    return False


def _would(tool: str, path: str) -> str:
    return f"{quote(tool, _SHOWN)} would change {quote(path, _SHOWN)}"


def _instead(path: str) -> str:
    """Return which tools change the state or history file of a path, by its names."""
    names = [name.casefold() for name in parts(path)]
    if "history.json" in names:
        return (
            f"Use plan_start or task_close, which add to the history, or {command('undo')}, which takes a change back"
        )
    tools = next((text for name, text in _TOOLS.items() if name in names), None)
    return tools or f"Use the tools for plans and tasks, or artifact_write; {command('undo')} takes a change back"


def _plainer(known: Mapping[str, Any], tool: str) -> str:
    """Return how to call the tool so that its files are certain."""
    editing, patching = parameters_of(known, tool)
    if patching:
        return (
            'Use it again with one patch, a smaller one if it is large: "*** Begin Patch" first, "*** End Patch" last, '
            "and between them nothing but "
            '"*** Add File: PATH", "*** Update File: PATH", "*** Move to: PATH" and "*** Delete File: PATH" with their '
            'lines, which begin with "+", "-", a blank or "@@".'
        )
    if editing:
        return f"Use it again with the path in {' and '.join(editing.split())}, in plain characters."
    return (
        "Use another tool. In .nexus/capability-map.yml the lead can name, under editing, the parameter with the path."
    )
