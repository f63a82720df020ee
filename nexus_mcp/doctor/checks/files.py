"""Check kinds and names of files, and the encoding of notes and `.gitignore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.survey import LINK, SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site
    from nexus_mcp.doctor.survey import Entry

LIMIT = 4 << 20
"""Bytes of a note or `.gitignore` that are read."""
_BY_ROLE = {
    places.UNKNOWN: ("unknown-file", "is not used by nexus-mcp"),
    places.KEPT: ("kept-aside", "is a copy of a file that was unusable, or that another program changed"),
    places.OLD_TRACKER: ("old-tracker", "is in the place that old versions used"),
}


def check_kinds(site: Site) -> Iterator[Finding]:
    """Yield links, special files, misplaced kinds and unknown names."""
    for entry in site.survey.entries.values():
        found = _check_kind(entry)
        if found is not None:
            yield found
    for path, problem in site.survey.cut:
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
    """Yield notes and `.gitignore` files that are not UTF-8 or have conflict markers."""
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
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - data.rfind(b"\n", 0, error.start)
            yield Finding("not-utf8", entry.path, "is not UTF-8", line=line, column=column)
