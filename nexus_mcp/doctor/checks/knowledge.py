"""The notes in memory/, context/ and rules/, and `.gitignore`: texts in UTF-8 without a conflict of git's in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

LIMIT = 4 << 20


def check(site: Site) -> Iterator[Finding]:
    for entry in site.files(places.KNOWLEDGE_NOTE, places.IGNORE_FILE):
        data, problems = documents.load(site, entry, LIMIT, bytes)
        yield from problems
        if data is None:
            continue
        conflict = documents.conflict(entry.path, data)
        if conflict is not None:
            yield conflict
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - data.rfind(b"\n", 0, error.start)
            yield Finding("not-utf8", entry.path, "is not UTF-8", line=line, column=column)
