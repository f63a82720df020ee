"""Capability maps: which concrete tools of a harness a semantic class stands for."""

from __future__ import annotations

from nexus_mcp.catalog.placeholders import suggestion
from nexus_mcp.catalog.reading import document_at
from nexus_mcp.catalog.tool_names import matches, of_class
from nexus_mcp.errors import UsageError
from nexus_mcp.workspace import check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.sources import Source
    from nexus_mcp.catalog.yaml_file import Document

    Map = dict[str, Any]

FOLDER, NAME = "harnesses", "capability-map.yml"
_EMPTY: Map = {"classes": {}, "reading": [], "editing": {}, "opening": {}, "resuming": {}, "nexus_tools": "*"}
_PARAMETERS = ("editing", "opening", "resuming")


def shipped(source: Source, vocabulary: Mapping[str, Any], faults: list[str]) -> dict[str, Map]:
    """Harness id → its map; every class of the vocabulary is mapped in each (contract.md §5)."""
    found: dict[str, Map] = {}
    for harness in source.folders(FOLDER):
        document = document_at(source, f"{FOLDER}/{harness}/{NAME}", "catalog/capability-map", faults)
        if document is not None:
            found[harness] = document.value
            faults += _faults(document, "", document.value, vocabulary)
    return found


def own(source: Source, below: Mapping[str, Map], vocabulary: Mapping[str, Any], faults: list[str]) -> dict[str, Map]:
    """Harness id → its map with what the project says of it; harnesses that it says nothing of are left out."""
    if source.read(NAME) is None:
        return {}
    document = document_at(source, NAME, "catalog/own-capability-map", faults)
    if document is None:
        return {}
    found: dict[str, Map] = {}
    for harness, given in document.value.items():
        try:
            check_harness_id(harness)
        except UsageError as error:
            faults.append(document.told(f"/{harness}", error.fault))
            continue
        found[harness] = merged(below.get(harness, _EMPTY), given)
        faults += _faults(document, f"/{harness}", found[harness], vocabulary)
    return found


def merged(base: Map, given: Mapping[str, Any]) -> Map:
    """A map with what a project says of it: its tools of a class, its list and its naming win, its parameters too."""
    return {
        "classes": {**base["classes"], **given.get("classes", {})},
        "reading": given.get("reading", base["reading"]),
        **{name: {**base[name], **given.get(name, {})} for name in _PARAMETERS},
        "nexus_tools": given.get("nexus_tools", base["nexus_tools"]),
    }


def classes_of(vocabulary: Mapping[str, Any]) -> list[str]:
    """Every semantic class, in the order of the vocabulary."""
    return list(dict.fromkeys(one for entry in vocabulary["capabilities"].values() for one in entry["classes"]))


def _faults(document: Document, pointer: str, known: Map, vocabulary: Mapping[str, Any]) -> Iterator[str]:
    yield from _class_faults(document, pointer, known["classes"], vocabulary)
    for name in known["classes"]:
        for tool in of_class(known, name):
            if any(matches(reading, tool) or matches(tool, reading) for reading in known["reading"]):
                told = f"{tool} is under reading, too: what only reads is never refused, whatever its class"
                yield document.told(f"{pointer}/classes/{name}", told)


def _class_faults(
    document: Document, pointer: str, classes: Mapping[str, list[str]], vocabulary: Mapping[str, Any]
) -> Iterator[str]:
    known = classes_of(vocabulary)
    for name in classes:
        if name not in known:
            yield document.told(
                f"{pointer}/classes/{name}", f"there is no semantic class {name!r}{suggestion(name, tuple(known))}"
            )
    for name in known:
        if not classes.get(name):
            told = f"the class {name} has no tool: without one, whatever it forbids is allowed"
            yield document.told(f"{pointer}/classes/{name}", told)
