"""`nexus-mcp catalog list`: list the agents and skills, with when to choose each."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.mount import SERVER_NAME
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

_BY_HAND = "by hand alone"
_INDENT = " " * 6
_SELECTABLE = Option("--selectable", "", "print what an agent may choose by itself, as JSON")


def run(values: Values) -> int:
    """Print the agents and skills. Raise CatalogError, PathRefused, StorageError."""
    from nexus_mcp.catalog.load import load
    from nexus_mcp.cli.text_output import wrap
    from nexus_mcp.quoting import inert

    catalog = load(workspace_from(values).root)
    if _SELECTABLE.name in values:
        from nexus_mcp.cli.workspace_options import print_json
        from nexus_mcp.tags.skills import selectable

        print_json({"skills": selectable(catalog)})
        return exits.OK
    agents = [
        (name, f"{agent['category']}, {agent['resume_tier']}, {agent['model_tier']}", agent)
        for name, agent in sorted(catalog.agents.items())
    ]
    skills = [(name, _BY_HAND if skill["manual_only"] else "", skill) for name, skill in sorted(catalog.skills.items())]
    for head, rows in (("Agents", agents), ("Skills", skills)):
        print(f"{head}:")
        wide = max(len(name) for name, _, _ in rows)
        for name, kind, entry in rows:
            print(inert(f"  {name:{wide}}  {kind}{_origin(entry)}").rstrip())
            print("\n".join(wrap(inert(entry["description"]), _INDENT)))
    for name in [name for name, kind, _ in skills if kind]:
        print()
        note = f"{name} starts {_ways(catalog, name)}, and is offered to no agent."
        print("\n".join(wrap(inert(note))))
    return exits.OK


def _ways(catalog: Catalog, skill: str) -> str:
    """Return how a user starts a skill that no agent may choose."""
    tags = [f"[{name}]" for name, tag in catalog.vocabulary["tags"].items() if tag.get("skill") == skill]
    prompt = f"as the prompt {skill}, in Claude Code /mcp__{SERVER_NAME}__{skill}"
    return f"with {', '.join(tags)} or {prompt}" if tags else prompt


def _origin(entry: dict[str, Any]) -> str:
    return " (of this project)" if entry["origin"] == "project" else ""


COMMAND = Command(
    "list",
    "list the agents and skills",
    "Of each its id, for an agent its category, how long it is kept and how strong a\n"
    "model it needs, and when to choose it.",
    (_SELECTABLE, PROJECT),
    run,
)
