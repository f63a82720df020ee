"""`nexus-mcp catalog`: list, show, check and import agents and skills, shipped ones and the project's, and print their
manifest.
"""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.mount import SERVER_NAME
from nexus_mcp.cli.options import Argument, Command, Group, Option, count_noun
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, warn_unmapped, workspace_from
from nexus_mcp.errors import UnknownEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

_BY_HAND = "only by hand"
_INDENT = " " * 6
_SELECTABLE = Option("--selectable", "", "print the skills that an agent may choose, as JSON")


def _list(values: Values) -> int:
    """Print the agents and skills; with --selectable, the skills that an agent may choose. Raise CatalogError,
    PathRefused, StorageError.
    """
    from nexus_mcp.catalog.load import load
    from nexus_mcp.cli.text_output import wrap
    from nexus_mcp.quoting import inert

    catalog = load(workspace_from(values).root)
    if _SELECTABLE.name in values:
        from nexus_mcp.cli.workspace_options import print_json
        from nexus_mcp.tags.route import selectable

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


LIST = Command(
    "list",
    "list the agents and skills",
    "Prints the id of each agent and skill, and when to choose it. For an agent it\n"
    "also prints the category, the resume tier and the model tier.",
    (_SELECTABLE, PROJECT),
    _list,
    examples=(("nexus-mcp catalog list", "list the agents and skills of this project"),),
)


ID = Argument("ID", "an agent or a skill")
_HARNESS = Option(HARNESS_ID.name, HARNESS_ID.metavar, "print the names in this harness, not placeholders")
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
    "triggers",
    "hint",
    "origin",
    "body_hash",
)


def _show(values: Values) -> int:
    """Print the fields and the text of the agent and the skill with this id. Raise UnknownEntry, CatalogError,
    PathRefused, StorageError.
    """
    from nexus_mcp.catalog.load import load
    from nexus_mcp.log import printable
    from nexus_mcp.quoting import inert

    workspace = workspace_from(values)
    catalog = load(workspace.root)
    harness = workspace.harness_id if HARNESS_ID.name in values else ""
    if harness:
        warn_unmapped(catalog, harness, values)
    for number, (kind, entry) in enumerate(_entries_of(catalog, values[ID.name])):
        if number:
            print()
        print(inert(entry["name"]))
        for row in _ROWS:
            if row in entry and entry[row] not in ([], ""):
                print(inert(f"  {row:13} {_cell(entry[row])}"))
        print()
        text = catalog.resolved_body(kind, entry["id"], harness) if harness else catalog.body(kind, entry["id"])
        for line in text.splitlines():
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


SHOW = Command(
    "show",
    "show one agent or skill with its text",
    "Prints the fields and the text. A placeholder such as {{tool:plan_decide}}\n"
    "stands for the name in the harness; with --harness-id that name is printed.",
    (PROJECT, _HARNESS),
    _show,
    argument=ID,
    examples=(
        ("nexus-mcp catalog show engineer", "show the agent engineer"),
        ("nexus-mcp catalog show nx-plan --harness-id codex", "show a skill with the names of tools in Codex"),
    ),
)


def _check(values: Values) -> int:
    """Print how many entries are valid. Raise CatalogError with the faults, StorageError."""
    from nexus_mcp.catalog.building import own_value, shipped_value
    from nexus_mcp.catalog.faults import folder_error
    from nexus_mcp.catalog.sources import AGENTS, SHIPPED_NAME, SKILLS, Own, ShippedFiles, read_shipped
    from nexus_mcp.errors import CatalogError, NexusError
    from nexus_mcp.store.folder import Folder

    value = shipped_value(ShippedFiles())
    if read_shipped() != value:
        raise CatalogError([f"assets/{SHIPPED_NAME}: is older than the files beside it"], next_step="Run make catalog.")
    print(f"shipped: {_counts(len(value[AGENTS]), len(value[SKILLS]), len(value['maps']))}")
    with Folder.root(workspace_from(values).root) as root:
        try:
            nexus = root.child(".nexus")
        except NexusError as error:
            raise folder_error(error) from error
        own: dict[str, Any] = {AGENTS: {}, SKILLS: {}, "maps": {}}
        if nexus is not None:
            with nexus:
                own = own_value(Own(nexus), value)
    print(f"this project: {_counts(len(own[AGENTS]), len(own[SKILLS]), len(own['maps']))}")
    print("Nothing is wrong with these agents, skills and maps.")
    return exits.OK


def _counts(agents: int, skills: int, maps: int) -> str:
    return f"{count_noun(agents, 'agent')}, {count_noun(skills, 'skill')}, {count_noun(maps, 'capability map')}"


CHECK = Command(
    "check",
    "check agents, skills and capability maps",
    "Checks every file of the catalog, shipped or of this project, against its\n"
    "schema, and checks that the names in it exist. Each fault has its file, line\n"
    "and column. nexus-mcp doctor checks the rest of .nexus/.\n"
    "Exit code 0: there is no fault; 1: there is at least one.",
    (PROJECT,),
    _check,
    examples=(("nexus-mcp catalog check", "check the shipped entries and those of this project"),),
)


def _manifest(values: Values) -> int:
    """Print the manifest as JSON. Raise CatalogError, PathRefused, StorageError."""
    from nexus_mcp.catalog.load import load
    from nexus_mcp.catalog.manifest import manifest
    from nexus_mcp.store.codec import pretty

    # Write bytes: JSON is UTF-8, whatever the encoding of the terminal is.
    sys.stdout.buffer.write(pretty(manifest(load(workspace_from(values).root))).encode() + b"\n")
    sys.stdout.buffer.flush()
    return exits.OK


MANIFEST = Command(
    "manifest",
    "print ids, tiers, capabilities and digests as JSON",
    "For programs that keep copies of agents and skills: a copy is current if its\nbody_hash is the same.",
    (PROJECT,),
    _manifest,
    examples=(("nexus-mcp catalog manifest", "print the manifest of this project"),),
)


def _import_command() -> Command:
    from nexus_mcp.cli.catalog_import import IMPORT

    return IMPORT


COMMAND = Group(
    "catalog",
    "show, check and import agents and skills",
    "Works with the agents and skills that nexus-mcp ships, and with those that\n"
    "this project adds or changes in .nexus/agents and .nexus/skills.",
    {
        "list": lambda: LIST,
        "show": lambda: SHOW,
        "check": lambda: CHECK,
        "manifest": lambda: MANIFEST,
        "import": _import_command,
    },
)
