"""Read capability maps, which assign the tools of a harness to classes, such as `shell_command_exec`."""

from __future__ import annotations

from functools import partial

from nexus_mcp.catalog.placeholders import suggestion
from nexus_mcp.catalog.reading import document_at
from nexus_mcp.catalog.sources import MAP as NAME
from nexus_mcp.catalog.tool_files import ANY, class_tools, matches, own_name, own_tools
from nexus_mcp.errors import UsageError
from nexus_mcp.quoting import quote
from nexus_mcp.schemas import escape
from nexus_mcp.workspace import check_harness_id

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.faults import Faults
    from nexus_mcp.catalog.sources import Room, Source
    from nexus_mcp.catalog.yaml_file import Document

    Map = dict[str, Any]

FOLDER = "harnesses"
_SHOWN = 80
_EMPTY: Map = {
    "classes": {},
    "reading": [],
    "editing": {},
    "patching": {},
    "opening": {},
    "resuming": {},
    "nexus_tools": "*",
}
MOST = 200
"""The maximum number of names in a list. There is a limit because each name of a class is compared with each name
under `reading`.
"""
PATTERNS = 50
"""The maximum number of names in a list that are patterns, with a *."""
LONGEST = 200
"""The maximum number of characters of a name."""
HARNESSES = 20
_PARAMETERS = ("editing", "patching", "opening", "resuming")


def shipped_maps(source: Source, vocabulary: Mapping[str, Any], faults: Faults) -> dict[str, Map]:
    """Return harness id → map (docs/capabilities.md), and add the faults to `faults`. Each map has every class of the
    vocabulary.
    """
    found: dict[str, Map] = {}
    for harness in source.folders(FOLDER):
        path = f"{FOLDER}/{harness}/{NAME}"
        document = document_at(source, path, "catalog/capability-map", faults)
        if document is not None and not document.broken:
            found[harness] = _with_own_tools(document.value, vocabulary)
            faults.extend(path, document.shown, _faults(document, "", found[harness], vocabulary))
    return found


def _with_own_tools(known: Map, vocabulary: Mapping[str, Any]) -> Map:
    """Return the map with our own tools in their classes and under `reading`, with every name that they may have.

    A harness puts a prefix before the name of a tool. The prefix depends on how the server is mounted, so the patterns
    in `nexus_prefixes` match any mount. Those for `reading` are stricter: they match only tools with names of several
    words, and in most maps no name with a `--tool-prefix`. Otherwise a tool of another server that writes would count
    as reading if its name ends with `context`. Under `reading`, a name of one word counts only in the form of
    `nexus_tools`, with or without a `--tool-prefix`.
    """
    known = dict(known)
    prefixes, naming = known.pop("nexus_prefixes"), known["nexus_tools"]
    for name in classes_of(vocabulary):
        if own := own_tools(vocabulary, name):
            names = [one for tool in own for one in (own_name(naming, tool), prefixes["classes"] + tool)]
            known["classes"] = {**known["classes"], name: [*known["classes"].get(name, ()), *names]}
    own = own_tools(vocabulary, "reading")
    names = [own_name(naming, ANY + tool) for tool in own]
    names += [prefixes["reading"] + tool for tool in own if "_" in tool]
    known["reading"] = [*known["reading"], *names]
    unknown = [name for name in known["classes"] if name not in classes_of(vocabulary)]
    known["classes"] = {name: known["classes"].get(name, []) for name in (*classes_of(vocabulary), *unknown)}
    return known


def own_maps(
    source: Source, below: Mapping[str, Map], vocabulary: Mapping[str, Any], faults: Faults, room: Room | None = None
) -> dict[str, Map]:
    """Return harness id → merged map, for each harness that the project's map configures without faults.

    If the part of a harness breaks the schema, but not in `classes`, the valid fields of the part are checked, too. The
    size of the file is subtracted from `room`.
    """
    document = document_at(source, NAME, "catalog/own-capability-map", faults, is_needed=False, room=room)
    found: dict[str, Map] = {}
    if document is None:
        return found
    if len(document.value) > HARNESSES:
        problem = f"{len(document.value)} harnesses, and the limit for a map is {HARNESSES}"
        faults.add(NAME, document.shown, document.fault_at("", problem))
        return found
    members = _find_broken(document)
    for harness, override in document.value.items():
        broken = members.get(harness, set())
        wrong: list[Callable[[], str]] = []
        try:
            check_harness_id(harness)
        except UsageError as error:
            wrong.append(partial(document.fault_at, f"/{escape(harness)}", error.fault))
        else:
            if not broken & {"", "classes"}:
                valid = {name: value for name, value in override.items() if name not in broken}
                merged = merge_maps(below.get(harness, _EMPTY), valid)
                wrong += _faults(document, f"/{escape(harness)}", merged, vocabulary)
                if not wrong and not broken:
                    found[harness] = merged
        faults.extend(NAME, document.shown, wrong)
    return found


def _find_broken(document: Document) -> dict[str, set[str]]:
    """Return harness id → the fields that break the schema; "" stands for the whole part of the harness."""
    found: dict[str, set[str]] = {}
    for pointer in document.broken:
        harness, _, rest = pointer[1:].partition("/")
        found.setdefault(harness.replace("~1", "/").replace("~0", "~"), set()).add(rest.partition("/")[0])
    return found


def merge_maps(base: Map, override: Mapping[str, Any]) -> Map:
    """Return `base` with a project's overrides.

    Classes, and the parameters of tools, are replaced one by one, `reading` and `nexus_tools` as a whole.
    """
    return {
        "classes": {**base["classes"], **override.get("classes", {})},
        "reading": override.get("reading", base["reading"]),
        **{name: {**base[name], **override.get(name, {})} for name in _PARAMETERS},
        "nexus_tools": override.get("nexus_tools", base["nexus_tools"]),
    }


def classes_of(vocabulary: Mapping[str, Any]) -> list[str]:
    """Return every class of tools, in the order of the vocabulary."""
    return list(dict.fromkeys(one for entry in vocabulary["capabilities"].values() for one in entry["classes"]))


def _faults(document: Document, pointer: str, known: Map, vocabulary: Mapping[str, Any]) -> Iterator[Callable[[], str]]:
    yield from _class_faults(document, pointer, known["classes"], vocabulary)
    lists = {"/reading": known["reading"], **{f"/classes/{escape(name)}": t for name, t in known["classes"].items()}}
    oversized = {at: problem for at, tools in lists.items() if (problem := _bound_fault(tools))}
    if len(known["nexus_tools"]) > LONGEST:
        oversized["/nexus_tools"] = f"a name has at most {LONGEST} characters"
    for at, problem in oversized.items():
        yield partial(document.fault_at, f"{pointer}{at}", problem)
    if not oversized:
        yield from _clashes(document, pointer, known, vocabulary)


def _bound_fault(tools: list[str]) -> str:
    """Return the fault of a list of names that exceeds a bound; "" if it exceeds none."""
    if len(tools) > MOST:
        return f"{len(tools)} names, and the limit for a list is {MOST}; {ANY} stands for any characters"
    patterns = sum(ANY in tool for tool in tools)
    if patterns > PATTERNS:
        return f"{patterns} names with {ANY}, and the limit for a list is {PATTERNS}"
    return f"a name has at most {LONGEST} characters" if max(map(len, tools), default=0) > LONGEST else ""


def _clashes(
    document: Document, pointer: str, known: Map, vocabulary: Mapping[str, Any]
) -> Iterator[Callable[[], str]]:
    """Yield a fault for each tool that is in a class and under `reading`. Skip unknown classes: they have a fault of
    their own.
    """
    clashes: dict[tuple[str, str], None] = {}
    reading = {tool: place for place, tool in reversed(list(enumerate(known["reading"])))}
    patterns = [(tool, place) for tool, place in reading.items() if ANY in tool]
    for name in classes_of(vocabulary):
        for index, tool in enumerate(class_tools(known, name, vocabulary)):
            place = _clash(tool, reading, patterns)
            if place is not None:
                # Point to the list of this file in which the name is. If both lists have it, point to the class: the
                # user probably wrote the class last.
                places = (f"/classes/{escape(name)}/{index}", f"/reading/{place}", "/nexus_tools")
                at = next((one for one in places if document.has(f"{pointer}{one}")), "")
                clashes[f"{pointer}{at}", tool] = None
    for at, tool in clashes:
        problem = f"{tool} is also under reading, and tools there are never refused; remove it from one of the two"
        yield partial(document.fault_at, at, problem)


def _clash(tool: str, reading: Mapping[str, int], patterns: list[tuple[str, int]]) -> int | None:
    """Return the index in `reading` of the first name that may match the same tool; None without one."""
    found = [place for pattern, place in patterns if matches(pattern, tool)]
    if ANY in tool:
        found += [place for name, place in reading.items() if matches(tool, name)]
    elif tool in reading:
        found.append(reading[tool])
    return min(found, default=None)


def _class_faults(
    document: Document, pointer: str, classes: Mapping[str, list[str]], vocabulary: Mapping[str, Any]
) -> Iterator[Callable[[], str]]:
    known = tuple(classes_of(vocabulary))
    for name in classes:
        if name not in known:
            yield partial(_unknown, document, f"{pointer}/classes/{escape(name)}", name, known)
    for name in known:
        if not classes.get(name):
            problem = f"the class {name} has no tool, so it forbids nothing; name at least one tool"
            yield partial(document.fault_at, f"{pointer}/classes/{name}", problem)


def _unknown(document: Document, pointer: str, name: str, known: tuple[str, ...]) -> str:
    return document.fault_at(pointer, f"there is no semantic class {quote(name, _SHOWN)}{suggestion(name, known)}")
