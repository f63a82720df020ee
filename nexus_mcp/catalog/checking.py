"""What refers to what: an agent to its category, tier and capabilities, a tag to its skill, a text to tools."""

from __future__ import annotations

from nexus_mcp.catalog.placeholders import COMMANDS, TOOLS, faults, suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.reading import Entry
    from nexus_mcp.catalog.yaml_file import Document

# A field of an agent, and the vocabulary that has its values.
_FIELDS = (("category", "categories"), ("resume_tier", "resume_tiers"))


def agent_faults(entry: Entry, vocabulary: Mapping[str, Any]) -> Iterator[str]:
    """What an agent names that the vocabulary does not have."""
    document, value = entry.document, entry.document.value
    for field, words in _FIELDS:
        if field in value and value[field] not in vocabulary[words]:
            told = f"{field} {value[field]!r} is not in the vocabulary{suggestion(value[field], vocabulary[words])}"
            yield document.told(f"/{field}", told)
    for place, name in enumerate(value.get("capabilities", ())):
        if name not in vocabulary["capabilities"]:
            told = f"there is no capability {name!r}{suggestion(name, vocabulary['capabilities'])}"
            yield document.told(f"/capabilities/{place}", told)
        elif name in value["capabilities"][:place]:
            yield document.told(f"/capabilities/{place}", f"the capability {name} stands there twice")


def canonical_faults(entry: Entry, canonical: list[str]) -> Iterator[str]:
    """What a project takes away from a shipped agent. Adding is allowed: contract.md §5, "effective"."""
    given = entry.document.value.get("capabilities")
    for name in canonical if given is not None else ():
        if name not in given:
            yield entry.document.told(
                "/capabilities",
                f"{name} may not be taken away from {entry.name}: what a shipped agent may not do, it may not do "
                "anywhere; give the work to another agent, or write one of your own under another id",
            )


def tag_faults(document: Document, skills: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with the table of tags beyond its schema."""
    for name, tag in document.value.items():
        kind = tag["kind"]
        if kind not in tag:
            yield document.told(f"/{name}", f"a tag of the kind {kind} names its {kind}")
        elif kind == "skill" and tag["skill"] not in skills:
            yield document.told(
                f"/{name}/skill", f"there is no skill {tag['skill']!r}{suggestion(tag['skill'], skills)}"
            )


def capability_faults(document: Document) -> Iterator[str]:
    """Classes that a capability names twice."""
    for name, capability in document.value.items():
        classes = capability["classes"]
        for place, one in enumerate(classes):
            if one in classes[:place]:
                yield document.told(f"/{name}/classes/{place}", f"{one} stands there twice")


def body_faults(
    shown: str, text: str, agents: Mapping[str, object], skills: Mapping[str, object], actions: Mapping[str, object]
) -> Iterator[str]:
    """Placeholders of a text that nothing stands behind."""
    known: dict[str, Mapping[str, object] | tuple[str, ...]] = {
        "tool": TOOLS,
        "agent": agents,
        "skill": skills,
        "action": actions,
        "command": COMMANDS,
    }
    for offset, problem in faults(text, known):
        line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
        yield f"{shown}:{line}:{column}: {problem}"
