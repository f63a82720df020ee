"""Check the JSONL files, which have one object per line. Readers skip malformed lines; here they are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nexus_mcp import schemas
from nexus_mcp.doctor import documents, places, values
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.errors import StateError
from nexus_mcp.state import agents
from nexus_mcp.state.oplog import VERSION
from nexus_mcp.store import agents_extension, oplog
from nexus_mcp.store.codec import decode
from nexus_mcp.store.journal import SESSION_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site
    from nexus_mcp.doctor.survey import Entry

MAX_LINES = 500_000
_LIMITS = {places.OPLOG: oplog.READ_LIMIT, places.AGENTS_EXTENSION: agents_extension.READ_LIMIT}
_DATED = {places.ACCESS: schemas.load("state/memory-access"), places.TOOL_LOG: schemas.load("state/tool-log")}
_SCHEMAS = {places.ACCESS: "state/memory-access", places.OPLOG: "oplog/entry"}


def check(site: Site) -> Iterator[Finding]:
    for role in (places.TOOL_LOG, places.OPLOG, places.ACCESS, places.AGENTS_EXTENSION):
        for entry in site.files(role):
            limit = _LIMITS.get(role, SESSION_LIMIT)
            data, problems = documents.load(site, entry, limit, bytes)
            yield from problems if data is None else _file(data, entry, role, site.now)


def _file(data: bytes, entry: Entry, role: str, now: float) -> Iterator[Finding]:
    torn = documents.find_conflict(entry.path, data)
    if torn is not None:
        yield torn
        return
    bad, first, repeated, names = 0, 0, 0, set[Any]()
    for number, line in _lines(data):
        if number > MAX_LINES:
            yield Finding("not-all-seen", entry.path, f"has more than {MAX_LINES} lines, the limit of doctor")
            break
        value = _object(line, entry.path, role)
        if value is None:
            bad, first = bad + 1, first or number
            continue
        if role == places.ACCESS:
            repeated += value["path"] in names
            names.add(value["path"])
        if role in _DATED:
            for found in values.find_bad_times(entry.path, _DATED[role], value, now):
                yield replace(found, line=number, pointer=None)
    if bad:
        lines = "1 malformed line" if bad == 1 else f"{bad} malformed lines"
        cut = " (the file ends within a line)" if not data.endswith(b"\n") else ""
        yield Finding("bad-line", entry.path, f"has {lines}{cut}", line=first)
    if repeated:
        yield Finding("repeated-line", entry.path, f"has {repeated} more lines for notes that it already lists")


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of each line that is not blank, one at a time, because there may be millions."""
    start, number = 0, 0
    while start < len(data):
        number += 1
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end]
        if line.strip():
            yield number, line
        start = end + 1


def _object(line: bytes, path: str, role: str) -> dict[str, Any] | None:
    """Return the object in the line, None when readers cannot use it."""
    try:
        value = decode(line, path)
    except StateError:
        return None
    if not isinstance(value, dict):
        return None
    if role == places.OPLOG and value.get("version") != VERSION:
        return value  # a line of another version is not checked
    if role == places.AGENTS_EXTENSION and not agents.is_line(value):
        return None
    if role in _SCHEMAS and schemas.faults(schemas.readable(_SCHEMAS[role]), value, most=1):
        return None
    return value
