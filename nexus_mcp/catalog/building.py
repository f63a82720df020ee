"""The catalog as a value, from the files of a source: what catalog.json holds, and what a project puts over it."""

from __future__ import annotations

import hashlib
from functools import partial

from nexus_mcp import schemas
from nexus_mcp.catalog import checking, maps, shut
from nexus_mcp.catalog.bounds import Room
from nexus_mcp.catalog.faults import Faults
from nexus_mcp.catalog.reading import SCHEMAS, VOCABULARY, document_at, entry_at
from nexus_mcp.catalog.rows import Work
from nexus_mcp.catalog.sources import AGENTS, BODY, KINDS, MAP, PROJECT, SKILLS
from nexus_mcp.errors import CatalogError, NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.catalog.reading import Entry
    from nexus_mcp.catalog.sources import Source

    Value = dict[str, Any]

SHIPPED = "shipped"


def shipped_value(source: Source) -> Value:
    """{"agents", "skills", "vocabulary", "maps"}, all of it required. Raises CatalogError with every fault."""
    faults = Faults()
    documents = {name: document_at(source, f"vocabulary/{name}.yml", f"catalog/{name}", faults) for name in VOCABULARY}
    read = {
        kind: {name: entry_at(source, kind, name, faults, is_whole=True) for name in source.folders(kind)}
        for kind in KINDS
    }
    if faults.entries():  # what refers to a file that cannot be read would be told as many faults
        raise CatalogError(faults.all())
    vocabulary = {name.replace("-", "_"): document.value for name, document in documents.items() if document}
    _check(source, read, {**read, "vocabulary": vocabulary}, faults)
    tags, capabilities = documents["tags"], documents["capabilities"]
    assert tags is not None
    assert capabilities is not None
    faults.extend("tags", tags.shown, checking.tag_faults(tags, read[SKILLS]))
    faults.extend("capabilities", capabilities.shown, checking.capability_faults(capabilities))
    value: Value = {
        AGENTS: {name: _agent(entry, SHIPPED) for name, entry in read[AGENTS].items()},
        SKILLS: {name: _skill(entry, SHIPPED) for name, entry in read[SKILLS].items()},
        "vocabulary": vocabulary,
        "maps": maps.shipped(source, vocabulary, faults),
    }
    if faults.entries():
        raise CatalogError(faults.all())
    return value


def own_value(source: Source, shipped: Value) -> Value:
    """{"agents", "skills", "maps"}: only what a project adds or changes. Raises CatalogError with every fault."""
    value, faults = usable_value(source, shipped)
    if faults.entries():
        raise CatalogError(faults.all())
    return value


def usable_value(source: Source, shipped: Value, work: Work | None = None) -> tuple[Value, Faults]:
    """({"agents", "skills", "maps"} as far as what a project adds or changes can be used, what is wrong with the rest).

    An agent with a fault is there all the same, and may do nothing that can be forbidden: what was written about it may
    have been a restriction. Of the skills and maps those with a fault are left out. `work` has what earlier calls made
    of files that are as they were, and says when there is no more time: what is left then is at fault.
    """
    faults, room, work = Faults(), Room(), work or Work()
    value: Value = {AGENTS: {}, SKILLS: {}, "maps": {}}
    names = {kind: _names(source, kind, faults) for kind in KINDS}
    digest = _digest(names)
    # First, because what it says is about all agents; told last.
    of_map = faults.below()
    make_map = partial(maps.own, source, shipped["maps"], shipped["vocabulary"], room=room)
    value["maps"] = work.row(MAP, room, of_map, "", make_map) or {}
    known = {kind: None if found is None else {**shipped[kind], **found} for kind, found in names.items()}
    own = _Own(source, shipped, known, room)
    for kind in KINDS:
        for name in names[kind] or ():
            made = work.row(f"{kind}/{name}", room, faults, digest, partial(own.entry, kind, name))
            if made is not None:
                value[kind][name] = made
    value[AGENTS] |= shut.agents(faults, shipped)
    faults.restore(MAP, of_map.kept(MAP))
    faults.may_pass |= of_map.may_pass
    work.end()
    return value, faults


def _names(source: Source, kind: str, faults: Faults) -> dict[str, None] | None:
    """The names of the entries of a kind; None, and a fault of the kind, where they cannot be listed."""
    try:
        found = source.folders(kind)
    except NexusError as error:
        faults.raised(kind, source.shown(kind), error)
        return None
    return dict.fromkeys(found)


def _digest(names: dict[str, dict[str, None] | None]) -> str:
    """Tells apart which names there are, which a text may refer to."""
    text = "\n".join("\0" if found is None else "/".join(found) for found in names.values())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Own:
    """The entries of a project, each made of its own files. `known` are the names that there are, None for unknown."""

    def __init__(self, source: Source, shipped: Value, known: Value, room: Room) -> None:
        self._source = source
        self._shipped = shipped
        self._known = known
        self._room = room

    def entry(self, kind: str, name: str, faults: Faults) -> Value | None:
        """What one agent or skill comes to; None, and a fault, where it cannot be used."""
        below = self._shipped[kind].get(name)
        entry = entry_at(self._source, kind, name, faults, is_whole=below is None, room=self._room)
        if below is not None and kind == AGENTS:
            _extend(faults, entry, checking.canonical_faults(entry, below["capabilities"]))
        elif below is not None:
            _extend(faults, entry, checking.manual_faults(entry, below))
        _check_entry(self._source, entry, self._known, self._shipped["vocabulary"], faults)
        if faults.entries():
            return None
        return _agent(entry, PROJECT, below) if kind == AGENTS else _skill(entry, PROJECT, below)


def _check(source: Source, read: dict[str, dict[str, Entry]], known: Value, faults: Faults) -> None:
    """What the entries name, in their fields and in their texts, has to be known."""
    for kind in KINDS:
        for entry in read[kind].values():
            _check_entry(source, entry, known, known["vocabulary"], faults)


def _check_entry(source: Source, entry: Entry, known: Value, vocabulary: Value, faults: Faults) -> None:
    if entry.kind == AGENTS:
        _extend(faults, entry, checking.agent_faults(entry, vocabulary))
    if entry.text is not None:
        shown = source.shown(f"{entry.path}/{BODY}")
        found = checking.body_faults(shown, entry.text, known[AGENTS], known[SKILLS], vocabulary["invocations"])
        faults.extend(entry.path, shown, found)


def _extend(faults: Faults, entry: Entry, found: Iterable[checking.Told]) -> None:
    if entry.document is not None:
        faults.extend(entry.path, entry.document.shown, found)


def _agent(entry: Entry, origin: str, below: Value | None = None) -> Value:
    made = _skill(entry, origin, below)
    canonical = made["capabilities"] if below is None else below["capabilities"]
    added = [name for name in made["capabilities"] if name not in canonical]
    return {**made, "capabilities": canonical, "added": added}


def _skill(entry: Entry, origin: str, below: Value | None = None) -> Value:
    """What is written, over what is below; the members in the order of the schema."""
    given = {**(below or {}), **(entry.document.value if entry.document else {})}
    body_hash = f"sha256:{hashlib.sha256(entry.body).hexdigest()}" if entry.body is not None else given["body_hash"]
    members = {name: given[name] for name in schemas.load(SCHEMAS[entry.kind])["properties"]}
    return {**members, "body_hash": body_hash, "origin": origin, "own_body": entry.body is not None}
