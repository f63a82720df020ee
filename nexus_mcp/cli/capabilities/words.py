"""The options of these commands, and what their values have to be.

UsageError is for what no project could make right, so that the exit code is 2; NexusError for a name that is unknown
here, which is 1 like all that is refused.
"""

from __future__ import annotations

from nexus_mcp.cli.hints import nearest
from nexus_mcp.cli.options import Option
from nexus_mcp.cli.workspace_options import HARNESS_ID
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.workspace import check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

AGENT = Option("--agent", "ID", "an agent, e.g. engineer")
CLASS = Option("--class", "NAME", "a class of tools, e.g. shell_command_exec")
TOOL = Option("--tool", "NAME", "a tool as the harness calls it; * for any characters")
HARNESS = Option(HARNESS_ID.name, HARNESS_ID.metavar, "the harness (default: each that has a map)")


def harnesses(values: Values, catalog: Catalog) -> list[str]:
    """Return the harness of the command line, or all with a map. Raise NexusError for one without a map."""
    if HARNESS.name not in values:
        return list(catalog.maps)
    harness = check_harness_id(values[HARNESS.name])
    if harness not in catalog.maps:
        raise NexusError(
            f"There is no capability map of the harness {harness!r}{nearest(harness, catalog.maps)}",
            next_step="Write its tools into .nexus/capability-map.yml; nexus-mcp catalog check tells what is missing.",
        )
    return [harness]


def capability(word: str, catalog: Catalog) -> str:
    """Return `word`. Raise NexusError when it is no capability."""
    known = catalog.vocabulary["capabilities"]
    if word not in known:
        raise NexusError(f"There is no capability {word!r}{nearest(word, known)}")
    return word


def class_(values: Values, catalog: Catalog) -> str:
    """Return the class of the command line. Raise NexusError for an unknown class."""
    known = owners(catalog)
    word = values[CLASS.name]
    if word not in known:
        raise NexusError(f"There is no class of tools {word!r}{nearest(word, known)}")
    return word


def tool_(values: Values) -> str:
    """Return the tool of the command line. Raise UsageError for an empty name."""
    word = values[TOOL.name]
    if not word.strip():
        raise UsageError(f"{TOOL.name} needs the name of a tool.")
    return word


def not_both(values: Values, one: Option, other: Option) -> None:
    """Raise UsageError when both options are present, because only one could be obeyed."""
    if one.name in values and other.name in values:
        raise UsageError(f"{one.name} and {other.name} ask for two things: give one of them.")


def owners(catalog: Catalog) -> dict[str, list[str]]:
    """Return class → the capabilities that block it."""
    found: dict[str, list[str]] = {}
    for name, entry in catalog.vocabulary["capabilities"].items():
        for one in entry["classes"]:
            found.setdefault(one, []).append(name)
    return found
