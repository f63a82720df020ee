"""plan.json, tasks.json and what the harnesses keep: JSON, and of the shape that its schema has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents, places
from nexus_mcp.state import tracker
from nexus_mcp.store.codec import decode
from nexus_mcp.store.journal import SESSION_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.finding import Finding
    from nexus_mcp.doctor.site import Site


def check(site: Site) -> Iterator[Finding]:
    yield from site.plan.findings
    yield from site.tasks.findings
    for entry in site.files(places.TRACKER):
        yield from documents.checked(site, entry, tracker.SCHEMA).findings
    for entry in site.files(places.EXTENSION):
        # Its shape is its harness's own affair.
        yield from documents.load(site, entry, SESSION_LIMIT, partial(decode, file=entry.path))[1]
