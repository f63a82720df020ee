"""Links, special files, folders where files belong, names that mean nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor import places
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.survey import LINK, SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site
    from nexus_mcp.doctor.survey import Entry

_BY_ROLE = {
    places.UNKNOWN: ("unknown-file", "is nothing that nexus-mcp knows"),
    places.KEPT: ("kept-aside", "was kept when a file could not be used, or was changed by somebody else"),
    places.OLD_TRACKER: ("old-tracker", "is where old versions had it"),
}


def check(site: Site) -> Iterator[Finding]:
    for entry in site.survey.entries.values():
        found = _told(entry)
        if found is not None:
            yield found
    for path, problem in site.survey.cut:
        yield Finding("not-all-seen", path, problem)


def _told(entry: Entry) -> Finding | None:
    if entry.kind == LINK:
        return Finding("link", entry.path, "is a symbolic link")
    role = places.role(entry.path, entry.kind)
    wanted = places.WANTED.get(role, entry.kind)
    if entry.kind != wanted:
        return Finding("wrong-kind", entry.path, f"is {entry.kind} where {wanted} belongs")
    if entry.kind == SPECIAL:
        return Finding("special-file", entry.path, "is a FIFO, a socket or a device")
    if role in _BY_ROLE:
        return Finding(_BY_ROLE[role][0], entry.path, _BY_ROLE[role][1])
    return None
