"""`nexus-mcp capabilities show`: show the restrictions of agents in the tools of each harness."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.capabilities.words import AGENT, CLASS, HARNESS, class_, harnesses, not_both, owners
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.text_output import wrap
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

JSON = Option("--json", "", "print agents, classes and tools as JSON")
_MORE = " " * 4  # before what goes on with a line


def run(values: Values) -> int:
    """Print the agents, one agent or one class. Raise UsageError, NexusError."""
    from nexus_mcp.catalog.load import load

    if JSON.name not in values:
        not_both(values, AGENT, CLASS)
        if HARNESS.name in values and not values.keys() & {AGENT.name, CLASS.name}:
            raise UsageError(f"{HARNESS.name} needs {AGENT.name}, {CLASS.name} or {JSON.name}: agents have no harness.")
    catalog = load(workspace_from(values).root)
    maps = harnesses(values, catalog)
    chosen = [catalog.agent(values[AGENT.name])] if AGENT.name in values else list(catalog.agents.values())
    classes = [class_(values, catalog)] if CLASS.name in values else list(owners(catalog))
    if JSON.name in values:
        import json

        print(json.dumps(_document(catalog, chosen, classes, maps), indent=2))
        return exits.OK
    if CLASS.name in values:
        lines = _class(catalog, classes[0], maps)
    elif AGENT.name in values:
        lines = _agent(catalog, chosen[0], maps)
    else:
        lines = _agents(chosen)
    for line in lines:
        print(line)
    return exits.OK


def _agents(agents: list[dict[str, Any]]) -> list[str]:
    """A line for each; what the project added has a plus before it."""
    width = max((len(agent["id"]) for agent in agents), default=0)
    rows = [
        (agent["id"], [*agent["capabilities"], *(f"+{name}" for name in agent["added"])])
        for agent in sorted(agents, key=lambda agent: agent["id"])
    ]
    return [f"{name:{width}}  {' '.join(names) or 'anything'}".rstrip() for name, names in rows]


def _agent(catalog: Catalog, agent: dict[str, Any], maps: list[str]) -> list[str]:
    from nexus_mcp.catalog.capabilities import effective, tools_of

    lines = []
    for name in effective(agent):
        added = " (added by this project)" if name in agent["added"] else ""
        lines += wrap(f"{name}{added}: {catalog.vocabulary['capabilities'][name]['description']}", "", _MORE)
        for harness in maps:
            lines += _tools(harness, tools_of(catalog, name, harness))
    return lines or [f"{agent['id']} may use every tool."]


def _class(catalog: Catalog, name: str, maps: list[str]) -> list[str]:
    from nexus_mcp.catalog.tool_names import of_class

    lines = [f"{name}, blocked by {' and '.join(owners(catalog)[name])}:"]
    for harness in maps:
        lines += _tools(harness, of_class(catalog.maps[harness], name))
    return lines


def _tools(harness: str, tools: list[str]) -> list[str]:
    return wrap(f"{harness}: {', '.join(tools)}", "  ", _MORE)


def _document(
    catalog: Catalog, agents: list[dict[str, Any]], classes: list[str], maps: list[str]
) -> dict[str, dict[str, Any]]:
    from nexus_mcp.catalog.capabilities import disallowed, effective
    from nexus_mcp.catalog.tool_names import of_class

    return {
        "agents": {
            agent["id"]: {
                "canonical": agent["capabilities"],
                "added": agent["added"],
                "effective": effective(agent),
                "disallowed": {harness: disallowed(catalog, agent["id"], harness) for harness in maps},
            }
            for agent in agents
        },
        "classes": {harness: {name: of_class(catalog.maps[harness], name) for name in classes} for harness in maps},
    }


COMMAND = Command(
    "show",
    "show what agents may not do, and which tools that is",
    "Without options a line for each agent. With --agent what it may not do, and the\n"
    "tools of each harness that this takes away. With --class the tools of a class.",
    (AGENT, CLASS, HARNESS, JSON, PROJECT),
    run,
)
