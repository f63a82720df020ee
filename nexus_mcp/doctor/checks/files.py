"""Check kinds, names and permissions of files, and the encoding and conflict markers of notes and `.gitignore`.

Three kinds of permissions are checked: those of this process, those of all users and, in a folder that is shared with a
group, those of the group.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.survey import FILE, FOLDER, LINK, SPECIAL
from nexus_mcp.store.folder import bits_for
from nexus_mcp.wording import line_and_column_of_byte

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site
    from nexus_mcp.doctor.survey import Entry

LIMIT = 4 << 20
"""The maximum size in bytes of a note or `.gitignore` that is read."""
_BY_ROLE = {
    places.UNKNOWN: ("unknown-file", "is not used by nexus-mcp"),
    places.KEPT: ("kept-aside", "is a copy of a file that was unusable, or that another program changed"),
    places.OLD_TRACKER: ("old-tracker", "is in the place that old versions used"),
}
_HAS_MODES = os.name == "posix"
# The access of the group to files of these roles is not checked, because nexus-mcp does not use most of them.
_UNCHECKED = (places.OTHER, places.UNKNOWN)


def check_kinds(site: Site) -> Iterator[Finding]:
    """Yield links, special files, entries of the wrong kind, unknown names, copies that were kept aside, old trackers,
    and folders that were not listed completely.
    """
    for entry in site.survey.entries.values():
        found = _check_kind(entry)
        if found is not None:
            yield found
    for path, problem in site.survey.truncated:
        yield Finding("not-all-seen", path, problem)


def _check_kind(entry: Entry) -> Finding | None:
    if entry.kind == LINK:
        return Finding("link", entry.path, "is a symbolic link")
    role = places.role(entry.path, entry.kind)
    wanted = places.WANTED.get(role, entry.kind)
    if entry.kind != wanted:
        return Finding("wrong-kind", entry.path, f"is {entry.kind}, but has to be {wanted}")
    if entry.kind == SPECIAL:
        return Finding("special-file", entry.path, "is a FIFO, a socket or a device")
    if role in _BY_ROLE:
        return Finding(_BY_ROLE[role][0], entry.path, _BY_ROLE[role][1])
    return None


def check_notes(site: Site) -> Iterator[Finding]:
    """Yield notes and `.nexus/.gitignore` if they are too large, unreadable, not UTF-8, or have conflict markers."""
    for entry in site.files(places.KNOWLEDGE_NOTE, places.IGNORE_FILE):
        data, problems = documents.load(site, entry, LIMIT, bytes)
        yield from problems
        if data is None:
            continue
        conflict = documents.find_conflict(entry.path, data)
        if conflict is not None:
            yield conflict
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line, column = line_and_column_of_byte(data, error.start)
            yield Finding("not-utf8", entry.path, "is not UTF-8", line=line, column=column)


def check_permissions(site: Site) -> Iterator[Finding]:
    """Yield files and folders that you or the group of a shared folder cannot use, or that every user can write."""
    for path, reason in site.survey.closed:
        yield Finding("unreadable", path, f"cannot be opened: {reason}")
    for entry in site.survey.entries.values():
        if entry.kind in (FILE, FOLDER):
            yield from _of(entry)
    if _HAS_MODES:
        yield from _closed_to_group(site)


def _of(entry: Entry) -> Iterator[Finding]:
    if not entry.readable:
        yield Finding("unreadable", entry.path, "is not readable for you")
    if not entry.writable:
        role = places.role(entry.path, entry.kind)
        if entry.kind == FOLDER or role in places.IN_PLACE:
            yield Finding("unwritable", entry.path, "is not writable for you")
        elif role in places.REPLACED:
            yield Finding("read-only", entry.path, "is not writable for you, but nexus-mcp replaces it as a whole")
    if _HAS_MODES and entry.mode & stat.S_IWOTH:
        yield Finding("world-writable", entry.path, "is writable for every user of this machine")


def _closed_to_group(site: Site) -> Iterator[Finding]:
    """Yield entries that the group of a shared folder cannot use.

    The group needs permission to read each file, but to write only those that are written in place: nexus-mcp replaces
    the others, such as session files, as a whole.
    """
    entries = site.survey.entries
    for entry in entries.values():
        role = places.role(entry.path, entry.kind)
        if entry.kind not in (FILE, FOLDER) or (role in _UNCHECKED and entry.path != places.NEXUS):
            continue
        above = entries.get(entry.path.rpartition("/")[0])
        folder = _project(site) if above is None else above.info
        if folder is None or not _is_shared(folder):
            continue
        bits = bits_for(entry.info, folder.st_gid)
        if entry.kind == FOLDER:
            if bits & stat.S_IRWXG != stat.S_IRWXG:
                yield Finding("closed-to-group", entry.path, "is not writable for the group that shares it")
            elif not entry.mode & stat.S_ISGID or entry.info.st_gid != folder.st_gid:
                yield Finding("closed-to-group", entry.path, "does not give its group to new files in it")
        elif not bits & stat.S_IRGRP:
            yield Finding("closed-to-group", entry.path, "is not readable for the group that shares the folder")
        elif role in places.IN_PLACE and not bits & stat.S_IWGRP:
            yield Finding("closed-to-group", entry.path, "is not writable for the group that shares the folder")


def _project(site: Site) -> os.stat_result | None:
    try:
        return os.stat(os.path.dirname(site.nexus.path))
    except OSError:
        return None


def _is_shared(folder: os.stat_result) -> bool:
    """Return whether a group shares the folder and may write in it."""
    return bool(folder.st_mode & stat.S_ISGID and folder.st_mode & stat.S_IWGRP)
