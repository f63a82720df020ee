"""The catalog as a value, from the files of a source: what catalog.json holds, and what a project puts over it."""

from __future__ import annotations

import hashlib

from nexus_mcp import schemas
from nexus_mcp.catalog import checking, maps
from nexus_mcp.catalog.reading import SCHEMAS, VOCABULARY, document_at, entries
from nexus_mcp.catalog.sources import AGENTS, BODY, KINDS, SKILLS
from nexus_mcp.errors import CatalogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.reading import Entry
    from nexus_mcp.catalog.sources import Source

    Value = dict[str, Any]

SHIPPED, PROJECT = "shipped", "project"


def shipped_value(source: Source) -> Value:
    """{"agents", "skills", "vocabulary", "maps"}, all of it required. Raises CatalogError with every fault."""
    faults: list[str] = []
    documents = {name: document_at(source, f"vocabulary/{name}.yml", f"catalog/{name}", faults) for name in VOCABULARY}
    read = {kind: entries(source, kind, faults) for kind in KINDS}
    if faults:  # what refers to a file that cannot be read would be told as many faults
        raise CatalogError(faults)
    vocabulary = {name.replace("-", "_"): document.value for name, document in documents.items() if document}
    for entry in read[AGENTS].values():
        faults += checking.agent_faults(entry, vocabulary)
    tags, capabilities = documents["tags"], documents["capabilities"]
    assert tags is not None
    assert capabilities is not None
    faults += checking.tag_faults(tags, read[SKILLS])
    faults += checking.capability_faults(capabilities)
    value: Value = {
        AGENTS: {name: _agent(entry, SHIPPED) for name, entry in read[AGENTS].items()},
        SKILLS: {name: _skill(entry, SHIPPED) for name, entry in read[SKILLS].items()},
        "vocabulary": vocabulary,
        "maps": maps.shipped(source, vocabulary, faults),
    }
    faults += _text_faults(source, read, value)
    if faults:
        raise CatalogError(faults)
    return value


def own_value(source: Source, shipped: Value) -> Value:
    """{"agents", "skills", "maps"}: only what a project adds or changes. Raises CatalogError with every fault."""
    faults: list[str] = []
    read = {kind: entries(source, kind, faults, shipped[kind]) for kind in KINDS}
    for entry in read[AGENTS].values():
        faults += checking.agent_faults(entry, shipped["vocabulary"])
        if entry.name in shipped[AGENTS]:
            faults += checking.canonical_faults(entry, shipped[AGENTS][entry.name]["capabilities"])
    value: Value = {
        kind: {name: make(entry, PROJECT, shipped[kind].get(name)) for name, entry in read[kind].items()}
        for kind, make in ((AGENTS, _agent), (SKILLS, _skill))
    }
    both = {**shipped, **{kind: {**shipped[kind], **value[kind]} for kind in KINDS}}
    faults += _text_faults(source, read, both)
    value["maps"] = maps.own(source, shipped["maps"], shipped["vocabulary"], faults)
    if faults:
        raise CatalogError(faults)
    return value


def _agent(entry: Entry, origin: str, below: Value | None = None) -> Value:
    made = _skill(entry, origin, below)
    canonical = made["capabilities"] if below is None else below["capabilities"]
    added = [name for name in made["capabilities"] if name not in canonical]
    return {**made, "capabilities": canonical, "added": added}


def _skill(entry: Entry, origin: str, below: Value | None = None) -> Value:
    """What is written, over what is below; the members in the order of the schema."""
    given = {**(below or {}), **entry.document.value}
    body_hash = f"sha256:{hashlib.sha256(entry.body).hexdigest()}" if entry.body is not None else given["body_hash"]
    members = {name: given[name] for name in schemas.load(SCHEMAS[entry.kind])["properties"]}
    return {**members, "body_hash": body_hash, "origin": origin, "own_body": entry.body is not None}


def _text_faults(source: Source, read: dict[str, dict[str, Entry]], value: Value) -> list[str]:
    actions = value["vocabulary"]["invocations"]
    return [
        fault
        for kind in KINDS
        for entry in read[kind].values()
        if entry.body is not None
        for fault in checking.body_faults(
            source.shown(f"{entry.path}/{BODY}"), entry.body.decode(), value[AGENTS], value[SKILLS], actions
        )
    ]
