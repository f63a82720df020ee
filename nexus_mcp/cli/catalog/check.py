"""`nexus-mcp catalog check`: validate agents, skills, vocabulary and capability maps."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, count_noun
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Print the numbers of valid entries. Raise CatalogError with every fault, StorageError."""
    from nexus_mcp.catalog import fallbacks, shipped
    from nexus_mcp.catalog.building import own_value, shipped_value
    from nexus_mcp.catalog.sources import AGENTS, SKILLS, Own, Shipped
    from nexus_mcp.errors import CatalogError, NexusError
    from nexus_mcp.store.folder import Folder

    value = shipped_value(Shipped())
    if shipped.read() != value:
        raise CatalogError([f"assets/{shipped.NAME}: is older than the files beside it"], next_step="Run make catalog.")
    print(f"shipped: {_counts(len(value[AGENTS]), len(value[SKILLS]), len(value['maps']))}")
    with Folder.root(workspace_from(values).root) as root:
        try:
            nexus = root.child(".nexus")
        except NexusError as error:
            raise fallbacks.fault(error) from error
        own: dict[str, Any] = {AGENTS: {}, SKILLS: {}, "maps": {}}
        if nexus is not None:
            with nexus:
                own = own_value(Own(nexus), value)
    print(f"this project: {_counts(len(own[AGENTS]), len(own[SKILLS]), len(own['maps']))}")
    print("Nothing is wrong with these agents, skills and maps.")
    return exits.OK


def _counts(agents: int, skills: int, maps: int) -> str:
    return f"{count_noun(agents, 'agent')}, {count_noun(skills, 'skill')}, {count_noun(maps, 'capability map')}"


COMMAND = Command(
    "check",
    "tell what is wrong with agents, skills and maps",
    "Reads every file of the catalog, shipped and of this project, against its\n"
    "schema, and looks whether what they name is there. Each fault has its file,\n"
    "line and column. The rest of .nexus/ is for nexus-mcp doctor to look at.\n"
    "Exit code 0: nothing is wrong; 1: something is.",
    (PROJECT,),
    run,
)
