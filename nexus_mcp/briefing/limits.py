"""What an agent may not do, and what the tools are called where it works: texts for it."""

from __future__ import annotations

from nexus_mcp.catalog import capabilities
from nexus_mcp.catalog.placeholders import TOOLS
from nexus_mcp.catalog.tool_names import ANY, called
from nexus_mcp.quoting import quoted_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog


def limits_text(catalog: Catalog, agent_id: str, harness: str) -> str:
    """The effective restrictions of an agent, each with its tools and with what to do instead; "" when it has none.

    Raises UnknownEntry.
    """
    lines = []
    for name in capabilities.effective(catalog.agent(agent_id)):
        entry = catalog.vocabulary["capabilities"][name]
        tools = capabilities.tools_of(catalog, name, harness)
        refused = f" Refused: {', '.join(map(quoted_name, tools))}." if tools else ""
        lines.append(f"- {name}: {entry['description']}{refused} {capabilities.instead(catalog, name, harness)}")
    return (
        "\n".join([f"LIMITS: you are {quoted_name(agent_id)}. What you may not do, and what to do instead:", *lines])
        if lines
        else ""
    )


def tools_text(catalog: Catalog, agent_id: str | None, harness: str) -> str:
    """What the tools that the texts speak of are called in the harness; "" where they have their own names.

    Those that the agent may not use are left out. Raises UnknownEntry.
    """
    known = catalog.maps.get(harness)
    if known is None or known["nexus_tools"] == ANY:
        return ""
    names = {tool: called(known["nexus_tools"], tool) for tool in TOOLS}
    lines = [
        f"- {tool}: {quoted_name(name)}"
        for tool, name in names.items()
        if agent_id is None or capabilities.allowed(catalog, agent_id, name, harness)[0]
    ]
    return "\n".join(["TOOLS: what the tools of this project's plan and tasks are called here:", *lines])
