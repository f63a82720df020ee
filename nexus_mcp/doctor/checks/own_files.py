"""Check the project's own agents, skills, capability map and config.yml.

The findings are the faults of `catalog check`, the faults of config.yml, and files that are too large, unreadable or
have conflict markers. The YAML parser is imported only if the project has such files or folders.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.catalog.sources import TEXT_BYTES
from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.finding import Finding, More
from nexus_mcp.doctor.survey import LINK, SPECIAL
from nexus_mcp.errors import CatalogError, NexusError
from nexus_mcp.quoting import quoted_name
from nexus_mcp.tags import config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site

_FILES = (places.CONFIG, places.CAPABILITY_MAP, places.OWN_FILE)
_CONFIG = f"{places.NEXUS}/{config.NAME}"
_PLACE = re.compile(r"(?::(\d+):(\d+))?: ")


def check(site: Site) -> Iterator[Finding | More]:
    reported = set[str]()
    for entry in site.files(*_FILES):
        if entry.size > TEXT_BYTES and entry.path != _CONFIG:
            continue  # the catalog reports the size as a fault
        limit = config.LIMIT if entry.path == _CONFIG else TEXT_BYTES
        data, problems = documents.load(site, entry, limit, bytes)
        torn = None if data is None else documents.find_conflict(entry.path, data)
        found = problems if torn is None else [torn]
        yield from found
        reported.update(finding.file for finding in found)
    if any(site.entries(places.OWN_FOLDER, places.CAPABILITY_MAP)):
        with suppress(NexusError):  # the file was replaced after the listing: the next pass reports it
            yield from _of_catalog(site, reported)
    if any(site.files(places.CONFIG)) and _CONFIG not in reported:
        yield from _of_config(site)


def _of_catalog(site: Site, reported: set[str]) -> Iterator[Finding | More]:
    from nexus_mcp.catalog.building import usable_value
    from nexus_mcp.catalog.sources import Own, read_shipped

    _, faults = usable_value(Own(site.nexus), read_shipped())
    for file, texts, more in faults.by_file():
        if file in reported or _is_reported(site, file):
            continue
        for text in texts:
            yield _finding("catalog-fault", file, text)
        if more:
            yield More("catalog-fault", more)


def _of_config(site: Site) -> Iterator[Finding]:
    try:
        config.read(site.nexus)
    except CatalogError as error:
        for text in error.faults:
            yield _finding("config-fault", _CONFIG, text)
    except NexusError:
        return  # the file was replaced after the listing: the next pass reports it


def _is_reported(site: Site, file: str) -> bool:
    """Return whether checks/files.py reports why the file, or a folder on its path, cannot be read."""
    parts = file.split("/")
    for end in range(1, len(parts) + 1):
        there = site.survey.entries.get("/".join(parts[:end]))
        if there is None:
            continue
        wanted = places.WANTED.get(places.role(there.path, there.kind), there.kind)
        if there.kind in (LINK, SPECIAL) or there.kind != wanted or not there.readable:
            return True
    return False


def _finding(code: str, file: str, text: str) -> Finding:
    """Convert a fault text `path:line:column: problem` into a finding."""
    rest = text.removeprefix(quoted_name(file))
    place = _PLACE.match(rest)
    if place is None:
        return Finding(code, file, text, identity=text)
    line, column = (None if number is None else int(number) for number in place.groups())
    return Finding(code, file, rest[place.end() :], line=line, column=column, identity=text)
