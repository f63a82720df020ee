"""What we may not read or write, and what everybody may."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from nexus_mcp.doctor import places
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.survey import FILE, FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site
    from nexus_mcp.doctor.survey import Entry

_HAS_MODES = os.name == "posix"


def check(site: Site) -> Iterator[Finding]:
    for path, reason in site.survey.closed:
        yield Finding("unreadable", path, f"cannot be looked into: {reason}")
    for entry in site.survey.entries.values():
        if entry.kind in (FILE, FOLDER):
            yield from _of(entry)


def _of(entry: Entry) -> Iterator[Finding]:
    if not entry.readable:
        yield Finding("unreadable", entry.path, "may not be read by you")
    if not entry.writable:
        role = places.role(entry.path, entry.kind)
        if entry.kind == FOLDER or role in places.IN_PLACE:
            yield Finding("unwritable", entry.path, "may not be written to by you")
        elif role in places.REPLACED:
            yield Finding("read-only", entry.path, "may not be written to by you, but is replaced as a whole")
    if _HAS_MODES and entry.mode & stat.S_IWOTH:
        yield Finding("world-writable", entry.path, "may be changed by every user of this machine")
