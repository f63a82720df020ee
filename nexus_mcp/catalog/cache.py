"""Cache the catalog that a project's files produce, in `.nexus/state/cache/catalog.json`, to parse YAML once.

catalog-rows.json beside it holds the result of each entry. It saves work when only some files changed, or when a hook
was killed while reading (building.Work). A cache is valid only for files of the same size, times and inode, and for the
same shipped catalog. It also records its own device, inode and time, so a cache that came with a repository, or was
edited, is ignored. Every process that reads the cache checks its structure, because a damaged or forged cache must
never remove a canonical capability of an agent. Plain code does this, because a schema would be slower.

The cache may be deleted at any time. It is written only when `.nexus/state` exists: reading a catalog must not create
that folder in a project.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress

from nexus_mcp.catalog.sources import (
    AGENTS,
    BODY,
    CLOSED,
    KINDS,
    LOST_MAP,
    MAP,
    MEND,
    META,
    PROJECT,
    SKILLS,
    list_entries,
)
from nexus_mcp.errors import CatalogError, NexusError
from nexus_mcp.packaged import data_path
from nexus_mcp.store.folder import close_fd

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    Value = dict[str, Any]
    from nexus_mcp.store.folder import Folder

    Seen = list[list[str | int]]

NAME, ROWS, FOLDER = "catalog.json", "catalog-rows.json", "cache"
LIMIT = 4 << 20
LONGEST_HINT = 400
_SPAN = 2_000_000_000  # nanoseconds: the resolution of times on FAT
_BEGUN, _UNFINISHED = "catalog-", ".new"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_MEMBERS = {AGENTS, SKILLS, "maps", "warnings", CLOSED, LOST_MAP}
_OF = {
    AGENTS: {
        **dict.fromkeys(("id", "name", "description", "model_tier", "body_hash", "category", "resume_tier"), str),
        **dict.fromkeys(("capabilities", "added"), list),
        "origin": str,
        "own_body": bool,
    },
    SKILLS: {
        **dict.fromkeys(("id", "name", "description", "body_hash", "origin", "hint"), str),
        "manual_only": bool,
        **dict.fromkeys(("harness_notes", "triggers"), list),
        "own_body": bool,
    },
}
_TABLES = ("editing", "patching", "opening", "resuming")
_MAP = {"classes": dict, "reading": list, **dict.fromkeys(_TABLES, dict), "nexus_tools": str}


def _is_sound(own: Any, shipped: Value, names: Mapping[str, Collection[str] | None], *, has_map: bool) -> bool:
    """Return whether `own` has the structure of a project's catalog. Raise TypeError or AttributeError for some
    values that have another structure.

    `names`: the existing folders of each kind, None for too many. `has_map`: whether the project has a map.
    """
    if not isinstance(own, dict) or own.keys() != _MEMBERS or not _is_texts(own["warnings"]):
        return False
    vocabulary = shipped["vocabulary"]
    agents, skills = names[AGENTS], names[SKILLS] or ()
    all_there = own[AGENTS].keys() == set(shipped[AGENTS] if agents is None else agents)
    return (
        all_there
        and own[SKILLS].keys() <= set(skills)
        and isinstance(own[CLOSED], str)
        and isinstance(own[LOST_MAP], str)
        and bool(own[CLOSED]) == (agents is None)
        and (agents is not None or all(MEND in entry for entry in own[AGENTS].values()))
        and (bool(own["warnings"]) or (None not in names.values() and own[SKILLS].keys() == set(skills)))
        and (has_map or own["maps"] == {})
        and all(_is_entry(kind, name, entry) for kind in KINDS for name, entry in own[kind].items())
        and all(_is_agent(entry, shipped[AGENTS].get(name), vocabulary) for name, entry in own[AGENTS].items())
        and all(_is_skill(entry, shipped[SKILLS].get(name)) for name, entry in own[SKILLS].items())
        and all(_is_map(entry, vocabulary) for entry in own["maps"].values())
    )


def _is_entry(kind: str, name: str, entry: Any) -> bool:
    wanted = _OF[kind]
    return (
        isinstance(entry, dict)
        and entry.keys() - {MEND} == wanted.keys()
        and all(isinstance(entry[member], type_) for member, type_ in wanted.items())
        and entry["id"] == name
        and entry["origin"] == PROJECT
    )


def _is_agent(entry: Value, below: Value | None, vocabulary: Value) -> bool:
    has = {*entry["capabilities"], *entry["added"]}
    every = vocabulary["capabilities"].keys()
    return (
        has <= every
        and (below is None or entry["capabilities"] == below["capabilities"])
        and (MEND not in entry or (isinstance(entry[MEND], str) and has == every))
        and entry["category"] in vocabulary["categories"]
        and entry["resume_tier"] in vocabulary["resume_tiers"]
    )


def _is_skill(entry: Value, below: Value | None) -> bool:
    has_hint = bool(entry["hint"])
    return (
        _is_texts(entry["harness_notes"])
        and _is_texts(entry["triggers"])
        and has_hint == bool(entry["triggers"])
        and not (has_hint and entry["manual_only"])
        and len(entry["hint"]) <= LONGEST_HINT
        and (below is None or entry["manual_only"] or not below["manual_only"])
    )


def _is_map(known: Any, vocabulary: Value) -> bool:
    return (
        isinstance(known, dict)
        and known.keys() == _MAP.keys()
        and all(isinstance(known[member], type_) for member, type_ in _MAP.items())
        and _is_texts(known["reading"])
        and all(_is_texts(tools) and tools for tools in known["classes"].values())
        and all(name in known["classes"] for one in vocabulary["capabilities"].values() for name in one["classes"])
        and all(_is_texts(list(known[member].values())) for member in _TABLES)
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def identities(nexus: Folder) -> Seen | None:
    """Return a row [path, size, mtime, ctime, inode] for each file and each entry's folder of a project's catalog; []
    without any, None when they cannot be listed.

    If `agents` or `skills` has too many entries, it gets one row with its name and zeros. A missing file of an entry
    has zeros. The folder of an entry has its mode in place of the size, and zeros as times.
    """
    paths = [MAP]
    try:
        for kind in KINDS:
            folder = nexus.child(kind)
            if folder is not None:
                with folder:
                    try:
                        names = list_entries(folder)
                    except CatalogError:
                        paths.append(kind)
                        continue
                    for name in names:
                        paths += [f"{kind}/{name}", f"{kind}/{name}/{META}", f"{kind}/{name}/{BODY}"]
    except NexusError:
        return None
    seen: Seen = []
    for path in paths:
        try:
            info = os.stat(os.path.join(nexus.path, *path.split("/")), follow_symlinks=False)
        except OSError:
            if path != MAP:  # an entry without files is a fault to report
                seen.append([path, 0, 0, 0, 0])
            continue
        if path in KINDS:
            seen.append([path, 0, 0, 0, 0])
        elif _is_entry_path(path):
            seen.append([path, info.st_mode, 0, 0, info.st_ino])
        else:
            seen.append([path, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino])
    return seen


def by_entry(seen: Seen) -> dict[str, Seen]:
    """Return path of an entry → its rows: those of its folder and of its files. The map is an entry, too."""
    found: dict[str, Seen] = {}
    for row in seen:
        found.setdefault("/".join(str(row[0]).split("/")[:2]), []).append(row)
    return found


def read(nexus: Folder, seen: Seen, shipped: dict[str, Any]) -> dict[str, Any] | None:
    """Return the cached catalog for these files and this shipped catalog; None without a valid one."""
    own = _read(nexus, NAME, seen)
    return own if own is not None and is_plausible(own, seen, shipped) else None


def is_plausible(own: Any, seen: Seen, shipped: dict[str, Any]) -> bool:
    """Return whether `own` may be the catalog of these files."""
    paths = [str(row[0]) for row in seen]
    names = {
        kind: None
        if kind in paths
        else {path[len(kind) + 1 :] for path in paths if path.startswith(f"{kind}/") and _is_entry_path(path)}
        for kind in KINDS
    }
    try:
        return _is_sound(own, shipped, names, has_map=MAP in paths)
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError):
        return False


def read_rows(nexus: Folder) -> dict[str, Any]:
    """Return the cached result of each entry (building.Work); {} without a valid cache."""
    rows = _read(nexus, ROWS, [])
    return rows if rows is not None and is_rows(rows) else {}


def write_rows(nexus: Folder, rows: dict[str, Any]) -> None:
    """Cache the result of each entry. If that fails, the old cache stays, and no error is raised."""
    write(nexus, [], rows, ROWS)


def _read(nexus: Folder, name: str, seen: Seen) -> Any:
    try:
        folder = _folder(nexus)
        if folder is None:
            return None
        with folder:
            info = os.stat(os.path.join(folder.path, name), follow_symlinks=False)
            data = folder.read(name, LIMIT)
        previous = json.loads(data or b"null")
        return previous["own"] if previous["for"] == _key(seen, info.st_dev, info.st_ino, info.st_mtime_ns) else None
    except (OSError, NexusError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def write(nexus: Folder, seen: Seen, own: dict[str, Any], name: str = NAME) -> None:
    """Cache the catalog for these files. If that fails, the old cache stays, and no error is raised."""
    with suppress(OSError, NexusError):
        state = nexus.child("state")
        if state is None:
            return
        with state, state.make(FOLDER)[0] as folder:
            temporary = f"{_BEGUN}{os.urandom(8).hex()}{_UNFINISHED}"
            fd = folder.open(temporary, _NEW)
            try:
                with suppress(OSError):  # a file system without locks
                    _claim(fd)
                info = os.fstat(fd)
                at = _whole(info.st_mtime_ns)
                # In ASCII: the name of a folder may be invalid text.
                text = json.dumps({"for": _key(seen, info.st_dev, info.st_ino, at), "own": own})
                with os.fdopen(os.dup(fd), "wb") as file:
                    file.write(text.encode())
                os.utime(fd if os.utime in os.supports_fd else os.path.join(folder.path, temporary), ns=(at, at))
                folder.rename(temporary, name)
            except BaseException:
                folder.unlink(temporary)
                raise
            finally:
                close_fd(fd)
            _sweep(folder)


def _claim(fd: int) -> None:
    """Lock an open file until its descriptor is closed. Raise OSError when another process holds the lock, or the file
    system has no locks.
    """
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(folder: Folder) -> None:
    """Remove unfinished files of dead processes; those of live ones are locked."""
    for name in folder.names():
        if name.startswith(_BEGUN) and name.endswith(_UNFINISHED):
            with suppress(OSError, NexusError):
                fd = folder.open(name, _READ)
                try:
                    if stat.S_ISREG(os.fstat(fd).st_mode):
                        _claim(fd)
                        folder.unlink(name)
                finally:
                    close_fd(fd)


def _is_entry_path(path: str) -> bool:
    return path.count("/") == 1


def _whole(at: int) -> int:
    """Return a time before `at` that every file system can store exactly.

    Any later change of the file sets a newer time.
    """
    return at - at % _SPAN - _SPAN


def _folder(nexus: Folder) -> Folder | None:
    state = nexus.child("state")
    if state is None:
        return None
    with state:
        return state.child(FOLDER)


def _key(seen: Seen, *itself: int) -> list[Any]:
    shipped = os.stat(data_path("assets", NAME))
    return [seen, [shipped.st_size, shipped.st_mtime_ns], list(itself)]


def is_rows(value: Any) -> bool:
    """Return whether `value` has the structure of the rows of building.Work."""
    return isinstance(value, dict) and all(
        isinstance(row, dict)
        and row.keys() == {"seen", "used", "value", "faults"}
        and isinstance(row["used"], list)
        and len(row["used"]) == 3
        and all(type(used) is int and used >= 0 for used in row["used"])
        and (row["value"] is None or isinstance(row["value"], dict))
        and _is_faults(row["faults"])
        for row in value.values()
    )


def _is_faults(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(of, list)
        and len(of) == 2
        and isinstance(of[0], list)
        and bool(of[0])
        and all(isinstance(text, str) for text in of[0])
        and type(of[1]) is int
        for of in value.values()
    )
