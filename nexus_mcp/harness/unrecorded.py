"""Find entries and files of an installation that no record names, as after `.nexus/` was deleted by hand.

uninstall only lists them: without a record it cannot detect whether the user edited them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nexus_mcp.catalog.load import load, usable
from nexus_mcp.harness import files, marks
from nexus_mcp.harness.definition import (
    ALL_PARTS,
    DEFAULT_GATE,
    PROJECT,
    SKILLS,
    Request,
    SplicedEntry,
    is_installed_form,
)
from nexus_mcp.harness.models import Models
from nexus_mcp.harness.plain_read import read_plain
from nexus_mcp.program import own_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.harness.definition import Harness, Row, Site, Whole
    from nexus_mcp.harness.record import Record

_HEAD = 1 << 14
"""Number of bytes at the start of a file that are searched for our mark."""


def find_unrecorded(site: Site, harness: Harness, record: Record) -> list[str]:
    """Return a line for each place in a file that has entries like ours, and for each folder of files with our mark.

    Call this only if `record` has no parts of the harness: entries are not looked up in it, but generated files are.
    Raise InstallRefused if the user has no home folder.
    """
    rows = harness.rows(site, _request(site, harness), record)
    found: dict[str, int] = {}
    for row in rows:
        if isinstance(row, SplicedEntry) and _has_entry(row, harness):
            place = f"{'.'.join(row.pointer[:1] if row.is_item else row.pointer)} in {site.format_path(row.path)}"
            found[place] = found.get(place, 0) + 1
    for folder, paths in _find_generated(rows):
        unknown = {path for path in paths if site.key(path) not in record.files and _is_marked(path)}
        if unknown:
            found[site.format_path(os.path.join(folder, ""))] = len(unknown)
    return [place if count == 1 and " in " in place else _entries_text(place, count) for place, count in found.items()]


def _entries_text(place: str, count: int) -> str:
    if " in " in place:
        return f"{count} entries of {place}"
    return f"{count} generated file{'' if count == 1 else 's'} in {place}/"


def _request(site: Site, harness: Harness) -> Request:
    """Return a request for every part, with fast hooks, so that the rows include the entries that only those need."""
    catalog = usable(site.root) if site.scope == PROJECT else load(None)
    return Request(
        parts=ALL_PARTS,
        command=own_command(),
        gate=DEFAULT_GATE,
        prefix="",
        fast_hooks=True,
        catalog=catalog,
        models=Models(harness.id, {}, {}),
    )


def _has_entry(row: SplicedEntry, harness: Harness) -> bool:
    value: Any = files.read_settings(row.path)
    for name in row.pointer:
        value = value.get(name) if isinstance(value, dict) else None
    if row.is_item:
        return any(harness.recognizes(one) for one in value) if isinstance(value, list) else False
    return value is not None and harness.recognizes(value) and is_installed_form(value, row.value)


def _find_generated(rows: list[Row]) -> Iterator[tuple[str, list[str]]]:
    """Yield (folder, the files below it that may be generated), also of agents and skills that the catalog lacks."""
    seen: set[str] = set()
    for row in rows:
        if isinstance(row, SplicedEntry):
            continue
        folder = _folder(row)
        if folder in seen:
            continue
        seen.add(folder)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        name = os.path.basename(row.path)
        if row.part == SKILLS:
            yield folder, [os.path.join(folder, one, name) for one in names]
        else:
            end = os.path.splitext(name)[1]
            yield folder, [os.path.join(folder, one) for one in names if one.endswith(end)]


def _folder(row: Whole) -> str:
    return os.path.dirname(os.path.dirname(row.path) if row.part == SKILLS else row.path)


def _is_marked(path: str) -> bool:
    try:
        return marks.is_marked(read_plain(path, _HEAD).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return False
