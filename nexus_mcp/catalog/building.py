"""The catalog as a value, from the files of a source: what catalog.json holds, and what a project puts over it."""

from __future__ import annotations

import hashlib

from nexus_mcp import schemas
from nexus_mcp.catalog import checking, maps, shut
from nexus_mcp.catalog.faults import Faults
from nexus_mcp.catalog.reading import SCHEMAS, VOCABULARY, document_at, entries
from nexus_mcp.catalog.sources import AGENTS, BODY, KINDS, PROJECT, SKILLS
from nexus_mcp.errors import CatalogError

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
    read = {kind: entries(source, kind, faults) for kind in KINDS}
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


def usable_value(source: Source, shipped: Value) -> tuple[Value, Faults]:
    """({"agents", "skills", "maps"} as far as what a project adds or changes can be used, what is wrong with the rest).

    An agent with a fault is there all the same, and may do nothing that can be forbidden: what was written about it may
    have been a restriction. Of the skills and maps those with a fault are left out.
    """
    faults = Faults()
    read = {kind: entries(source, kind, faults, shipped[kind]) for kind in KINDS}
    for entry in read[AGENTS].values():
        if entry.name in shipped[AGENTS]:
            canonical = shipped[AGENTS][entry.name]["capabilities"]
            _extend(faults, entry, checking.canonical_faults(entry, canonical))
    for entry in read[SKILLS].values():
        if entry.name in shipped[SKILLS]:
            _extend(faults, entry, checking.manual_faults(entry, shipped[SKILLS][entry.name]))
    # What is there with a fault is there: whoever names it is not wrong, too.
    _check(source, read, {**shipped, **{kind: {**shipped[kind], **read[kind]} for kind in KINDS}}, faults)
    value: Value = {
        kind: {
            name: make(entry, PROJECT, shipped[kind].get(name))
            for name, entry in read[kind].items()
            if not faults.of(entry.path)
        }
        for kind, make in ((AGENTS, _agent), (SKILLS, _skill))
    }
    value[AGENTS] |= shut.agents(faults, shipped)
    value["maps"] = maps.own(source, shipped["maps"], shipped["vocabulary"], faults)
    return value, faults


def _check(source: Source, read: dict[str, dict[str, Entry]], known: Value, faults: Faults) -> None:
    """What the entries name, in their fields and in their texts, has to be known."""
    vocabulary = known["vocabulary"]
    agents, skills = (None if faults.of(kind) else known[kind] for kind in KINDS)
    for entry in read[AGENTS].values():
        _extend(faults, entry, checking.agent_faults(entry, vocabulary))
    for kind in KINDS:
        for entry in read[kind].values():
            if entry.text is not None:
                shown = source.shown(f"{entry.path}/{BODY}")
                found = checking.body_faults(shown, entry.text, agents, skills, vocabulary["invocations"])
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
