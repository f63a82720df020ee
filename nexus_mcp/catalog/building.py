"""Build the catalog as a value: the shipped one, kept in assets/catalog.json, and the additions of a project.

A project's catalog is built entry by entry: agents, skills and the map. The results are saved meanwhile, at most once
in SAVE_EVERY_S seconds, so that a hook that is killed leaves less work to the next one. A hook stops reading at its
deadline. Unread files count as faulty, so that no restriction in them is lost.

`python -m nexus_mcp.catalog.building` (`make catalog`) rewrites assets/catalog.json.
"""

from __future__ import annotations

import hashlib
import json
import time
from functools import partial

from nexus_mcp import schemas
from nexus_mcp.catalog import maps, reading
from nexus_mcp.catalog.faults import Faults, faulty_agents
from nexus_mcp.catalog.reading import SCHEMAS, VOCABULARY, document_at, entry_at
from nexus_mcp.catalog.sources import AGENTS, BODY, KINDS, MAP, PROJECT, SHIPPED_NAME, SKILLS, Room, ShippedFiles
from nexus_mcp.errors import CatalogError, NexusError
from nexus_mcp.packaged import data_path

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.catalog.reading import Entry
    from nexus_mcp.catalog.sources import Source

    Value = dict[str, Any]
    from collections.abc import Callable

    Row = dict[str, Any]

SHIPPED = "shipped"
SAVE_EVERY_S = 0.05
NO_TIME = "was not read: the time for reading the project's catalog was over"
NO_ROOM = "was not read: the files before it reached the limit for a project's agents, skills and map"


def shipped_value(source: Source) -> Value:
    """Return {"agents", "skills", "vocabulary", "maps"} of the shipped files. Raise CatalogError with the faults.

    The vocabulary also has the field `tools`: the name of each tool of ours → its classes.
    """
    from nexus_mcp.tools import TOOLS  # hooks read them in catalog.json, because importing all tools takes too long

    faults = Faults()
    documents = {name: document_at(source, f"vocabulary/{name}.yml", f"catalog/{name}", faults) for name in VOCABULARY}
    read = {
        kind: {name: entry_at(source, kind, name, faults, is_whole=True) for name in source.folders(kind)}
        for kind in KINDS
    }
    if faults.entries():  # stop here: each reference to an unreadable file would add a fault
        raise CatalogError(faults.all())
    vocabulary = {name.replace("-", "_"): document.value for name, document in documents.items() if document}
    vocabulary["tools"] = {tool.name: list(tool.classes) for tool in TOOLS}
    _check(source, read, {**read, "vocabulary": vocabulary}, faults)
    for entry in read[SKILLS].values():
        _extend(faults, entry, reading.trigger_faults(entry, _complete(entry, None)))
    tags, capabilities = documents["tags"], documents["capabilities"]
    assert tags is not None
    assert capabilities is not None
    faults.extend("tags", tags.shown, reading.tag_faults(tags, read[SKILLS]))
    faults.extend("capabilities", capabilities.shown, reading.capability_faults(capabilities))
    value: Value = {
        AGENTS: {name: _agent(entry, SHIPPED) for name, entry in read[AGENTS].items()},
        SKILLS: {name: _skill(entry, SHIPPED) for name, entry in read[SKILLS].items()},
        "vocabulary": vocabulary,
        "maps": maps.shipped_maps(source, vocabulary, faults),
    }
    if faults.entries():
        raise CatalogError(faults.all())
    return value


def build_json() -> str:
    """Return the text for assets/catalog.json, built from the files beside it. Raise CatalogError."""
    return json.dumps(shipped_value(ShippedFiles()), ensure_ascii=False, indent=1) + "\n"


def own_value(source: Source, shipped: Value) -> Value:
    """Return {"agents", "skills", "maps"} of a project's own files. Raise CatalogError with the faults."""
    value, faults = usable_value(source, shipped)
    if faults.entries():
        raise CatalogError(faults.all())
    return value


def usable_value(source: Source, shipped: Value, work: Work | None = None) -> tuple[Value, Faults]:
    """Return ({"agents", "skills", "maps"} with the usable additions and changes of a project, the faults of the rest).

    A faulty agent is included with every restriction: its files may have held one. Faulty skills and maps are left out.
    `work` holds results of earlier calls for unchanged files, and ends the reading in time: files that were not read
    count as faulty.
    """
    faults, room, work = Faults(), Room(), work or Work()
    value: Value = {AGENTS: {}, SKILLS: {}, "maps": {}}
    names = {kind: _names(source, kind, faults) for kind in KINDS}
    digest = _digest(names)
    # The map is read first, because it applies to all agents; its faults are reported last.
    of_map = faults.for_entry()
    make_map = partial(maps.own_maps, source, shipped["maps"], shipped["vocabulary"], room=room)
    value["maps"] = work.row(MAP, room, of_map, "", make_map) or {}
    known = {kind: None if found is None else {**shipped[kind], **found} for kind, found in names.items()}
    own = _Own(source, shipped, known, room)
    for kind in KINDS:
        for name in names[kind] or ():
            made = work.row(f"{kind}/{name}", room, faults, digest, partial(own.entry, kind, name))
            if made is not None:
                value[kind][name] = made
    value[AGENTS] |= faulty_agents(faults, shipped)
    faults.restore(MAP, of_map.as_json(MAP))
    faults.may_pass |= of_map.may_pass
    work.end()
    return value, faults


def never() -> bool:
    return False


class Work:
    """One pass over the files of a catalog.

    `rows` are the results of an earlier pass, `seen` maps the path of each entry to the current identities of its
    files (cache.by_entry); without `seen` every file is read. `save` is called with the rows so far, during the pass
    also with those of the earlier pass. `is_over` returns whether time is over.
    """

    __slots__ = ("_before", "_is_over", "_rows", "_save", "_saved_at", "_seen", "_unsaved")

    def __init__(
        self,
        rows: dict[str, Row] | None = None,
        seen: dict[str, list[Any]] | None = None,
        save: Callable[[dict[str, Row]], None] | None = None,
        is_over: Callable[[], bool] = never,
    ) -> None:
        self._before = rows or {}
        self._seen = seen
        self._save = save
        self._is_over = is_over
        self._rows: dict[str, Row] = {}
        self._unsaved = 0
        self._saved_at = time.monotonic()

    def row(
        self, path: str, room: Room, faults: Faults, names: str, make: Callable[[Faults], dict[str, Any] | None]
    ) -> dict[str, Any] | None:
        """Return the result of `make` for the entry at `path`, from this or an earlier pass, and add its faults. Return
        None, with a fault, if no time or no room is left.

        The result has to depend only on the files of the entry, the shipped catalog and `names`.
        """
        seen = None if self._seen is None else self._seen.get(path)
        row = self._before.get(path)
        if row is not None and row["seen"] == [seen, names] and room.take(row["used"]):
            self._rows[path] = row
            faults.restore(path, row["faults"])
            value: dict[str, Any] | None = row["value"]
            return value
        is_over = self._is_over()
        if is_over or room.is_closed:
            faults.may_pass |= is_over
            faults.add(path, f".nexus/{path}", f".nexus/{path}: {NO_TIME if is_over else NO_ROOM}")
            return None
        of, before = faults.for_entry(), room.remaining()
        made = make(of)
        faults.restore(path, of.as_json(path))
        faults.may_pass |= of.may_pass
        if seen is not None and not (of.may_pass or room.is_closed):
            used = [had - has for had, has in zip(before, room.remaining(), strict=True)]
            self._keep(path, {"seen": [seen, names], "used": used, "value": made, "faults": of.as_json(path)})
        return made

    def end(self) -> None:
        """Save the rows of this pass, if any is unsaved."""
        if self._unsaved and self._save is not None:
            self._save(self._rows)
            self._unsaved = 0

    def _keep(self, path: str, row: Row) -> None:
        self._rows[path] = row
        self._unsaved += 1
        if self._save is not None and time.monotonic() - self._saved_at > SAVE_EVERY_S:
            self._save({**self._before, **self._rows})
            self._unsaved = 0
            self._saved_at = time.monotonic()


def _names(source: Source, kind: str, faults: Faults) -> dict[str, None] | None:
    """Return the names of the entries of a kind; None, with a fault of the kind, when they cannot be listed."""
    try:
        found = source.folders(kind)
    except NexusError as error:
        faults.add_error(kind, source.format_path(kind), error)
        return None
    return dict.fromkeys(found)


def _digest(names: dict[str, dict[str, None] | None]) -> str:
    """Return a hash of the names of the project's entries: a text may refer to any of them."""
    text = "\n".join("\0" if found is None else "/".join(found) for found in names.values())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Own:
    """Builds the entries of a project from their files. `known`: kind → the existing names, None when unknown."""

    def __init__(self, source: Source, shipped: Value, known: Value, room: Room) -> None:
        self._source = source
        self._shipped = shipped
        self._known = known
        self._room = room

    def entry(self, kind: str, name: str, faults: Faults) -> Value | None:
        """Return one agent or skill; None, with a fault, when it cannot be used."""
        below = self._shipped[kind].get(name)
        entry = entry_at(self._source, kind, name, faults, is_whole=below is None, room=self._room)
        if below is not None and kind == AGENTS:
            _extend(faults, entry, reading.canonical_faults(entry, below["capabilities"]))
        elif below is not None:
            _extend(faults, entry, reading.manual_faults(entry, below))
        if kind == SKILLS:
            _extend(faults, entry, reading.trigger_faults(entry, _complete(entry, below)))
        _check_entry(self._source, entry, self._known, self._shipped["vocabulary"], faults)
        if faults.entries():
            return None
        return _agent(entry, PROJECT, below) if kind == AGENTS else _skill(entry, PROJECT, below)


def _check(source: Source, read: dict[str, dict[str, Entry]], known: Value, faults: Faults) -> None:
    """Add to `faults` the unknown names in the fields and texts of the entries."""
    for kind in KINDS:
        for entry in read[kind].values():
            _check_entry(source, entry, known, known["vocabulary"], faults)


def _check_entry(source: Source, entry: Entry, known: Value, vocabulary: Value, faults: Faults) -> None:
    if entry.kind == AGENTS:
        _extend(faults, entry, reading.agent_faults(entry, vocabulary))
    if entry.text is not None:
        shown = source.format_path(f"{entry.path}/{BODY}")
        found = reading.body_faults(shown, entry.text, known[AGENTS], known[SKILLS], vocabulary)
        faults.extend(entry.path, shown, found)


def _extend(faults: Faults, entry: Entry, found: Iterable[reading.FaultText]) -> None:
    if entry.document is not None:
        faults.extend(entry.path, entry.document.shown, found)


def _agent(entry: Entry, origin: str, below: Value | None = None) -> Value:
    merged = _skill(entry, origin, below)
    canonical = merged["capabilities"] if below is None else below["capabilities"]
    added = [name for name in merged["capabilities"] if name not in canonical]
    return {**merged, "capabilities": canonical, "added": added}


def _skill(entry: Entry, origin: str, below: Value | None = None) -> Value:
    """Return an agent or skill merged over the shipped one, if there is one. The order of its fields is that of the
    schema.
    """
    merged = _complete(entry, below)
    if entry.kind == SKILLS and merged["manual_only"]:  # drop the triggers and the hint of the shipped skill
        merged |= _NO_HINT
    body_hash = f"sha256:{hashlib.sha256(entry.body).hexdigest()}" if entry.body is not None else merged["body_hash"]
    members = {name: merged[name] for name in schemas.load(SCHEMAS[entry.kind])["properties"]}
    return {**members, "body_hash": body_hash, "origin": origin, "own_body": entry.body is not None}


_NO_HINT: Value = {"triggers": [], "hint": ""}


def _complete(entry: Entry, below: Value | None) -> Value:
    """Return the fields of an entry, completed with those of the shipped one; triggers and hint default to empty."""
    return {**_NO_HINT, **(below or {}), **(entry.document.value if entry.document else {})}


if __name__ == "__main__":
    text = build_json()
    with open(data_path("assets", SHIPPED_NAME), "w", encoding="utf-8") as target:
        target.write(text)
