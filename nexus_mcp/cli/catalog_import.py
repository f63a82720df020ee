"""`nexus-mcp catalog import DIR`: copy the agents and skills of a nexus-core package into the project."""

from __future__ import annotations

import os

from nexus_mcp.cli import exits
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.cli.options import Argument, Command, Option, count_noun
from nexus_mcp.cli.workspace_options import JSON, PROJECT, print_json, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

DIR = Argument("DIR", "the folder of a nexus-core package")
DRY_RUN = Option("--dry-run", "", "show what would be made, and change nothing")
_WORDS = {
    "created": "created .nexus/{}",
    "creates": "would create .nexus/{}",
    "unchanged": "there already: .nexus/{}",
    "kept": "not imported, because .nexus/{} exists and differs; move it away to import this entry",
}


def run(values: Values) -> int:
    """Print the result of each entry and the unmapped names. Raise UsageError, CatalogError, StorageError."""
    from nexus_mcp.catalog import imports
    from nexus_mcp.catalog.foreign_package import read_package
    from nexus_mcp.catalog.sources import read_shipped
    from nexus_mcp.quoting import inert
    from nexus_mcp.store.store import Store

    path = os.path.realpath(values[DIR.name])
    if not os.path.isdir(path):
        raise UsageError(f"{values[DIR.name]} is no folder.", next_step="Name the folder of a nexus-core package.")
    package, shipped = read_package(path), read_shipped()
    store = Store(workspace_from(values))
    with store.nexus() as nexus:
        own = imports.own_ids(nexus)
    found = imports.plan_import(package, shipped, own)
    with defer_interrupt(store.stop):
        done = imports.carry_out(store, found, shipped, dry_run=DRY_RUN.name in values)
    code = exits.FAILED if found.unusable else exits.OK
    if JSON.name in values:
        unmapped = [{"source": source, "what": what} for source, what in (*found.unusable, *found.unmapped)]
        print_json({"name": package.name, "version": package.version, "entries": done, "unmapped": unmapped})
        return code
    for step in done:
        print(inert(_WORDS[step["result"]].format(step["path"])))
    for source, what in found.unusable:
        print(inert(f"left out: {source}: {what}"))
    for source, what in found.unmapped:
        print(inert(f"not mapped: {source}: {what}"))
    count = sum(step["result"] in ("created", "creates") for step in done)
    word = "would be made" if DRY_RUN.name in values else "made"
    made = f"{count_noun(count, 'entry').replace('entrys', 'entries')} {word}"
    print(f"{made}, {len(found.unmapped)} not mapped, {len(found.unusable)} left out.")
    return code


IMPORT = Command(
    "import",
    "copy agents and skills of a nexus-core package",
    "Copies the agents and skills of a nexus-core package into .nexus/agents and\n"
    ".nexus/skills, with its macros as our placeholders. The digests of its\n"
    "manifest are checked. No existing file is changed. Names without a counterpart\n"
    "are listed. Exit code 1: an entry has a fault and was left out; or the package\n"
    "or the project has a fault, and nothing was written.",
    (DRY_RUN, JSON, PROJECT),
    run,
    argument=DIR,
    examples=(("nexus-mcp catalog import ../nexus-core --dry-run", "show what would be imported"),),
)
