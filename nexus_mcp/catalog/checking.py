"""What refers to what: an agent to its category, tier and capabilities, a tag to its skill, a text to tools.

Each fault is a function that gives its text: of thousands of them only the first few are told.
"""

from __future__ import annotations

from functools import partial

from nexus_mcp.catalog.placeholders import COMMANDS, TOOLS, faults, found, suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.reading import Entry
    from nexus_mcp.catalog.yaml_file import Document

    Told = Callable[[], str]

# A field of an agent, and the vocabulary that has its values.
_FIELDS = (("category", "categories"), ("resume_tier", "resume_tiers"))


def agent_faults(entry: Entry, vocabulary: Mapping[str, Any]) -> Iterator[Told]:
    """What an agent names that the vocabulary does not have, in the members that keep their schema."""
    document = entry.document
    if document is None:
        return
    for field, words in _FIELDS:
        value = document.value.get(field)
        if value is not None and document.keeps(f"/{field}") and value not in vocabulary[words]:
            told = f"{field} {value!r} is not in the vocabulary"
            yield partial(_unknown, document, f"/{field}", told, value, vocabulary[words])
    seen: set[str] = set()
    for place, name in _capabilities(document):
        if name not in vocabulary["capabilities"]:
            told = f"there is no capability {name!r}"
            yield partial(_unknown, document, f"/capabilities/{place}", told, name, vocabulary["capabilities"])
        elif name in seen:
            yield partial(document.told, f"/capabilities/{place}", f"the capability {name} stands there twice")
        seen.add(name)


def canonical_faults(entry: Entry, canonical: list[str]) -> Iterator[Told]:
    """What a project takes away from a shipped agent. Adding is allowed: docs/capabilities.md."""
    document = entry.document
    if document is None or "capabilities" not in document.value or not document.keeps("/capabilities"):
        return
    given = {name for _, name in _capabilities(document)}
    for name in canonical:
        if name not in given:
            yield partial(
                document.told,
                "/capabilities",
                f"{name} may not be taken away from {entry.name}: what a shipped agent may not do, it may not do "
                "anywhere; give the work to another agent, or write one of your own under another id",
            )


def manual_faults(entry: Entry, shipped: Mapping[str, Any]) -> Iterator[Told]:
    """What makes a shipped skill one that a model chooses, where only a user may start it."""
    document = entry.document
    if document is not None and shipped["manual_only"] and document.value.get("manual_only") is False:
        yield partial(
            document.told,
            "/manual_only",
            f"manual_only may not be taken away from {entry.name}: what only a user starts where it is shipped, no "
            "model chooses anywhere; write a skill of your own under another id",
        )


def tag_faults(document: Document, skills: Mapping[str, object]) -> Iterator[Told]:
    """What is wrong with the table of tags beyond its schema."""
    for name, tag in document.value.items():
        kind = tag["kind"]
        if kind not in tag:
            yield partial(document.told, f"/{name}", f"a tag of the kind {kind} names its {kind}")
        elif kind == "skill" and tag["skill"] not in skills:
            yield partial(
                _unknown, document, f"/{name}/skill", f"there is no skill {tag['skill']!r}", tag["skill"], skills
            )


def capability_faults(document: Document) -> Iterator[Told]:
    """Classes that a capability names twice."""
    for name, capability in document.value.items():
        classes = capability["classes"]
        for place, one in enumerate(classes):
            if one in classes[:place]:
                yield partial(document.told, f"/{name}/classes/{place}", f"{one} stands there twice")


def body_faults(
    shown: str,
    text: str,
    agents: Mapping[str, object] | None,
    skills: Mapping[str, object] | None,
    actions: Mapping[str, object],
) -> Iterator[Told]:
    """Placeholders of a text that nothing stands behind. None for agents or skills of which nobody knows."""
    known: dict[str, Mapping[str, object] | tuple[str, ...]] = {
        "tool": TOOLS,
        "agent": _named(text, "agent") if agents is None else agents,
        "skill": _named(text, "skill") if skills is None else skills,
        "action": actions,
        "command": COMMANDS,
    }
    for offset, problem in faults(text, known):
        yield partial(_placed, shown, text, offset, problem)


def _named(text: str, kind: str) -> dict[str, object]:
    return {name: None for _, _, of, name in found(text) if of == kind}


def _capabilities(document: Document) -> Iterator[tuple[int, str]]:
    """Those that keep their schema, each with its place."""
    if document.keeps("/capabilities"):
        for place, name in enumerate(document.value.get("capabilities", ())):
            if document.keeps(f"/capabilities/{place}"):
                yield place, name


def _unknown(
    document: Document, pointer: str, told: str, name: str, known: Mapping[str, object] | tuple[str, ...]
) -> str:
    return document.told(pointer, f"{told}{suggestion(name, known)}")


def _placed(shown: str, text: str, offset: int, problem: Told) -> str:
    line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    return f"{shown}:{line}:{column}: {problem()}"
