"""`nexus-mcp catalog show ID`: show the agent and the skill with this id, with their texts."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import UnknownEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

ID = Argument("ID", "an agent or a skill")
_ROWS = (
    "id",
    "description",
    "category",
    "resume_tier",
    "model_tier",
    "capabilities",
    "added",
    "manual_only",
    "harness_notes",
    "origin",
    "body_hash",
)


def run(values: Values) -> int:
    """Print its fields and its text. Raise UnknownEntry, CatalogError, PathRefused, StorageError."""
    from nexus_mcp.catalog.load import load
    from nexus_mcp.log import printable
    from nexus_mcp.quoting import inert

    catalog = load(workspace_from(values).root)
    for number, (kind, entry) in enumerate(_entries_of(catalog, values[ID.name])):
        if number:
            print()
        print(inert(entry["name"]))
        for row in _ROWS:
            if row in entry and entry[row] not in ([], ""):
                print(inert(f"  {row:13} {_cell(entry[row])}"))
        print()
        for line in catalog.body(kind, entry["id"]).splitlines():
            print(printable(line))
    return exits.OK


def _entries_of(catalog: Catalog, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return (kind, entry) of the agent and the skill with this id, at least one. Raise UnknownEntry."""
    kinds = (("agents", catalog.agents), ("skills", catalog.skills))
    found = [(kind, of[name]) for kind, of in kinds if name in of]
    if found:
        return found
    from nexus_mcp.catalog.placeholders import near

    raise UnknownEntry("agent or skill", name, near(name, (*catalog.agents, *catalog.skills)))


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


COMMAND = Command(
    "show",
    "show one agent or skill with its text",
    "Placeholders such as {{tool:plan_decide}} stand for what a harness calls it.",
    (PROJECT,),
    run,
    argument=ID,
)
