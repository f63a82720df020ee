"""`nexus-mcp capabilities check`: check that every class has a tool, or whether an agent may use a tool."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.capabilities.words import AGENT, CLASS, HARNESS, TOOL, class_, harnesses, not_both, owners, tool_
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Print the result; return 1 when the agent may not use the tool. Raise UsageError, NexusError."""
    from nexus_mcp.catalog.load import load
    from nexus_mcp.catalog.tool_names import of_class
    from nexus_mcp.quoting import inert

    if AGENT.name in values and TOOL.name not in values:
        raise UsageError("--agent needs --tool: whether it may use that. capabilities show --agent tells of all.")
    not_both(values, TOOL, CLASS)
    catalog = load(workspace_from(values).root)
    maps = harnesses(values, catalog)
    if TOOL.name not in values:
        classes = [class_(values, catalog)] if CLASS.name in values else list(owners(catalog))
        for harness in maps:
            tools = {tool for name in classes for tool in of_class(catalog.maps[harness], name)}
            print(f"{harness}: {len(classes)} of {len(classes)} classes have a tool, {len(tools)} names in all.")
        return exits.OK
    lines, is_free = _of_tool(catalog, values, maps)
    for line in lines:
        print(inert(line))
    return exits.OK if is_free else exits.FAILED


def _of_tool(catalog: Catalog, values: Values, maps: list[str]) -> tuple[list[str], bool]:
    """Return a line for each harness, and whether the agent may use the tool in all of them."""
    from nexus_mcp.catalog.capabilities import allowed, classes_of

    tool, lines, is_free = tool_(values), [], True
    for harness in maps:
        known, only_reads, near = _standing(catalog.maps[harness], tool)
        if AGENT.name in values:
            may, answer = allowed(catalog, values[AGENT.name], tool, harness)
            is_free = is_free and may
            answer = answer or f"{values[AGENT.name]} may use {tool}"
        else:
            may, found = True, classes_of(catalog, tool, harness)
            answer = f"{tool} is of {' and '.join(found) or 'no class'}"
        if not may:
            end = ""
        elif only_reads:
            end = ". It only reads, and that is never refused."
        else:
            end = "." if known else f". The map does not know it{near or '.'}"
        lines.append(f"{harness}: {answer}{end}")
    return lines, is_free


def _standing(known: dict[str, Any], tool: str) -> tuple[bool, bool, str]:
    """Return whether the map has the tool, whether the tool only reads, and a suggestion for an unknown tool."""
    from nexus_mcp.catalog.placeholders import TOOLS, suggestion
    from nexus_mcp.catalog.tool_names import ANY, called, matches_any, of_class

    names = [name for one in known["classes"] for name in of_class(known, one)]
    names += [name for table in ("reading", "editing", "patching", "opening", "resuming") for name in known[table]]
    names += [called(known["nexus_tools"], name) for name in TOOLS]
    if matches_any(names, tool):
        return True, matches_any(known["reading"], tool), ""
    return False, False, suggestion(tool, tuple(dict.fromkeys(name for name in names if ANY not in name)))


COMMAND = Command(
    "check",
    "check the tools of classes, or whether an agent may use one",
    "Without options: whether the maps are whole, those of this project too. With\n"
    "--tool its classes, and with --agent whether that agent may use it, and what it\n"
    "is to do instead. Tools that a map does not know are allowed. Exit code 1: it\n"
    "may not, or a map is not whole.",
    (AGENT, CLASS, TOOL, HARNESS, PROJECT),
    run,
)
