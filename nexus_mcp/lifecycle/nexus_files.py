"""Say what a path below the project means to Nexus: a note, an artifact, a setting, or state that only tools change.

Pure: paths as texts. In doubt the stricter kind: file systems differ in which spellings lead to one file, so capitals,
characters that some of them ignore, and what Windows cuts off make no difference here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

FILE, NOTE, ARTIFACT, SETTING, STATE = range(5)
"""Kinds of files, each guarded more than the one before: a file of the project, a file below memory/, context/ or
rules/, one below state/artifacts/, anything else below .nexus/, state and history."""
NEXUS = ".nexus"
_NOTES = ("memory", "context", "rules")
_STATE, _ARTIFACTS, _HISTORY = "state", "artifacts", "history.json"
# macOS ignores these in names (HFS+), as git found out: CVE-2014-9390.
_IGNORED = dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF])
_SHORT = ("nexus~", "histor~")  # how Windows shortens long names


def kind_of(path: str) -> int:
    """Return the kind of a path from the project root, with every `.nexus` in it looked at.

    A `.nexus` further down belongs to a worktree or to another project. Its state is guarded as ours; its notes are
    files of this project.
    """
    names = parts(path)
    if not names:
        return STATE  # the project itself, .nexus and all
    kind = FILE
    for index, name in enumerate(names):
        if not _is(name, NEXUS):
            continue
        below = _kind_below(names[index + 1 :])
        is_own = index == 0 and name == NEXUS
        kind = max(kind, below if is_own or below != NOTE else FILE)
    return kind


def parts(path: str) -> list[str]:
    """The names in a path, whichever way its slashes lean."""
    return [name for name in path.replace("\\", "/").split("/") if name not in ("", ".")]


def strictest(kinds: Collection[int]) -> int:
    """Return the kind of a path that may lead to files of these kinds: a note is only one that is nothing else."""
    most = max(kinds, default=FILE)
    return FILE if most == NOTE and FILE in kinds else most


def _kind_below(names: list[str]) -> int:
    """Return the kind of what has these names below a .nexus."""
    if not names or _is(names[0], _HISTORY):
        return STATE
    if _is(names[0], _STATE):
        is_artifact = names[:2] == [_STATE, _ARTIFACTS] and len(names) > 2 and ".." not in names
        return ARTIFACT if is_artifact else STATE
    is_note = names[0] in _NOTES and len(names) > 1 and all(map(_is_plain, names))
    return NOTE if is_note else SETTING


def _is_plain(name: str) -> bool:
    """Whether all file systems take a name for itself; `..` is not, nor what Windows takes for it: `.. `."""
    return bool(name.strip(". ")) and _folded(name) == name.casefold()


def _is(name: str, wanted: str) -> bool:
    """Whether some file system takes `name` for `wanted`."""
    folded = _folded(name)
    return folded == wanted or (folded.startswith(_SHORT) and wanted.lstrip(".").startswith(folded.partition("~")[0]))


def _folded(name: str) -> str:
    """Return the name as the most tolerant file systems see it: no capitals, no stream, no dot or blank at its end."""
    folded = name.translate(_IGNORED).casefold()
    return folded.partition(":")[0].rstrip(". ") if folded.strip(". ") else folded
