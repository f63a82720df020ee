"""Decide which tools of a harness an agent may not use (docs/capabilities.md).

Hooks load this module, so it reads no file.
"""

from __future__ import annotations

from nexus_mcp.catalog.tool_files import ANY, class_tools, classes_with, matches, matches_any, own_name
from nexus_mcp.quoting import quoted_name

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from nexus_mcp.catalog.load import Catalog

AGENTS = "{{agents}}"
LEAD = "whoever leads the work"
_SHOWN = 200  # characters of a tool's name
_DOING = "do"  # category of the agents that carry out tasks


def all_capabilities(agent: dict[str, Any]) -> list[str]:
    """Return the canonical and the added capabilities of the agent, each once."""
    return list(dict.fromkeys([*agent["capabilities"], *agent.get("added", ())]))


def removal_fault(agent_id: str, capability: str, canonical: Collection[str]) -> str:
    """Return the reason why `capability` cannot be removed from a shipped agent with the `canonical` capabilities; ""
    if it can.
    """
    if capability not in canonical:
        return ""
    return f"{capability} is a restriction of the shipped agent {agent_id} and cannot be removed"


def tools_of(catalog: Catalog, capability: str, harness: str) -> list[str]:
    """Return the names and patterns of the tools that a capability forbids; [] for a harness without a map."""
    known = catalog.maps.get(harness)
    if known is None:
        return []
    classes = catalog.vocabulary["capabilities"][capability]["classes"]
    return list(dict.fromkeys(tool for name in classes for tool in class_tools(known, name, catalog.vocabulary)))


def shown_tools(catalog: Catalog, capability: str, harness: str) -> list[str]:
    """Return the tools of `tools_of` for a text that a model reads. If our server has another mount than in the
    capability map, leave out the names of our tools under the mount of the map, and the patterns that match names of
    our tools under the present mount.

    A model that reads two names of one tool takes them for two tools. Both names stay forbidden.
    """
    found, mapped = tools_of(catalog, capability, harness), catalog.naming_in_map(harness)
    if not mapped:
        return found
    naming = catalog.naming(harness)
    others = {own_name(mapped, tool): own_name(naming, tool) for tool in catalog.vocabulary["tools"]}
    ours = [name for name in others.values() if name in found]
    return [
        name
        for name in found
        if others.get(name) not in ours and not (ANY in name and any(matches(name, one) for one in ours))
    ]


def forbidden_tools(catalog: Catalog, agent_id: str, harness: str) -> list[str]:
    """Return the names and patterns of the tools that the agent may not use, each once.

    For a harness without a map, whose tool names are unknown, return []. Raise UnknownEntry.
    """
    own = all_capabilities(catalog.agent(agent_id))
    return list(dict.fromkeys(tool for name in own for tool in tools_of(catalog, name, harness)))


def check_tool(catalog: Catalog, agent_id: str, tool: str, harness: str) -> tuple[bool, str]:
    """Return whether the agent may use the tool: (True, "") or (False, the reason and the next step).

    A tool that the map lists under `reading` is never refused, whatever its classes. Raise UnknownEntry.
    """
    agent = catalog.agent(agent_id)
    barring = _barring(catalog, tool, harness)
    capability = next((name for name in all_capabilities(agent) if name in barring), None)
    if capability is None:
        return True, ""
    reason = catalog.vocabulary["capabilities"][capability]["reason"]
    # The name is quoted, because any text can match a pattern, and a model reads this text.
    head = f"{quoted_name(agent_id)} may not use {quoted_name(tool, _SHOWN)} ({capability}: {reason})."
    faulty_map = catalog.lost_map(harness)
    if faulty_map and not _is_known(catalog, tool, harness):
        head += f" {faulty_map} has a fault: until it is corrected, this agent may use only tools of the shipped map."
    return False, f"{head} {alternative(catalog, capability, harness, tool)}"


def restricted_agents(catalog: Catalog, tool: str, harness: str) -> list[str]:
    """Return the agents that may not use the tool."""
    barring = _barring(catalog, tool, harness)
    return [name for name, agent in catalog.agents.items() if not barring.isdisjoint(all_capabilities(agent))]


def alternative(catalog: Catalog, capability: str, harness: str, tool: str = "") -> str:
    """Return the advice to an agent with the capability: what to do instead. If the advice names agents, these are the
    agents of `_able`, or LEAD if there are none.
    """
    text: str = catalog.vocabulary["capabilities"][capability]["instead"]
    return text.replace(AGENTS, _or(_able(catalog, capability, harness, tool)) or LEAD)


def classes_of(catalog: Catalog, tool: str, harness: str) -> list[str]:
    """Return the classes of a tool in the map of a harness; [] without a map."""
    known = catalog.maps.get(harness)
    return [] if known is None else classes_with(known, known["classes"], tool, catalog.vocabulary)


def missing_map_warning(catalog: Catalog, harness: str) -> str:
    """Return a warning for a harness without a capability map, with the next step; "" for a harness with a map."""
    if harness in catalog.maps:
        return ""
    from nexus_mcp.catalog.placeholders import suggestion

    instead = suggestion(harness, catalog.maps) or f"; the harnesses with a map are {', '.join(catalog.maps)}."
    return (
        f"There is no capability map of {harness}, so no tool is refused, no edit needs a task, and no agent is resumed"
        f"{instead} Name the harness with --harness-id, or give it a map in "
        ".nexus/capability-map.yml."
    )


def _barring(catalog: Catalog, tool: str, harness: str) -> set[str]:
    """Return the capabilities that forbid the tool; none for a read-only tool or a harness without a map.

    If the project's own map is faulty, and has no usable part for the harness, every capability forbids the tools that
    are not in the shipped map of the harness, because the project's map may have assigned them to any class.
    """
    known = catalog.maps.get(harness)
    if catalog.lost_map(harness) and not _is_known(catalog, tool, harness):
        return set(catalog.vocabulary["capabilities"])
    if known is None or matches_any(known["reading"], tool):
        return set()
    capabilities = catalog.vocabulary["capabilities"]
    classes = [one for entry in capabilities.values() for one in entry["classes"]]
    having = {*classes_with(known, classes, tool, catalog.vocabulary)}
    return {name for name, entry in capabilities.items() if not having.isdisjoint(entry["classes"])}


def _is_known(catalog: Catalog, tool: str, harness: str) -> bool:
    """Return whether the map of a harness has the tool in any list."""
    known = catalog.maps.get(harness)
    if known is None:
        return False
    tables = [known[name] for name in ("reading", "editing", "patching", "opening", "resuming")]
    tables.append([known["nexus_tools"]])
    return matches_any([name for names in tables for name in names], tool) or bool(classes_of(catalog, tool, harness))


def _able(catalog: Catalog, capability: str, harness: str, tool: str) -> list[str]:
    """Return the agents of the category `do` that lack the capability and may use the tool."""
    barring = {capability, *_barring(catalog, tool, harness)}
    return [
        name
        for name, agent in catalog.agents.items()
        if agent["category"] == _DOING and barring.isdisjoint(all_capabilities(agent))
    ]


def _or(names: list[str]) -> str:
    """Return `a`, `a or b`, or `a, b or c`; "" for no names."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
