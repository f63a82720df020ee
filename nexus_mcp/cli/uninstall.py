"""`nexus-mcp uninstall`: remove the entries and files of `nexus-mcp install`."""

from __future__ import annotations

import sys
from functools import partial

from nexus_mcp.cli import exits
from nexus_mcp.cli.install import (
    DRY_RUN,
    FORCE,
    NAMES,
    SCOPE,
    YES,
    choose,
    print_diff,
    report_edits,
    site_of,
)
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.cli.workspace_options import PROJECT
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.harness.definition import Harness, Site

HARNESS = Argument("[HARNESS]", "the harness; without it, each harness found", NAMES, least=0)


def run(values: Values) -> int:
    """Uninstall for the chosen harnesses; return the highest of their exit codes. Raise UsageError."""
    return max([report_edits(partial(_uninstall, values, name)) for name in choose(values, "uninstall")], default=0)


def _uninstall(values: Values, name: str) -> int:
    from nexus_mcp.harness import load
    from nexus_mcp.harness.installing import forget, plan_without, read_record, uninstall
    from nexus_mcp.harness.unrecorded import find_unrecorded

    site, harness = site_of(values), load(name)
    if not read_record(site).parts(name):
        if DRY_RUN.name not in values:
            forget(site, harness)
        if found := find_unrecorded(site, harness, read_record(site)):
            return _print_unrecorded(site, harness, found)
        print(f"Nothing is installed for {harness.title} in {site.scope} scope.")
        return exits.OK
    if DRY_RUN.name in values:
        print_diff(site, plan_without(site, harness, force=FORCE.name in values))
        return exits.OK
    outcome = uninstall(site, harness, force=FORCE.name in values)
    print(f"{harness.title}: removed from {site.scope} scope. Plans, tasks and history in .nexus/ stay.")
    for change in outcome.plan.changes:
        print(f"  {'deleted' if change.data is None else 'restored':10} {site.format_path(change.found.path)}")
    for copy in outcome.copies:
        print(f"  {'copied':10} {printable(copy)}: a file as it was, with the edits by hand")
    for copy in outcome.leftovers:
        print(f"  {'moved':10} {printable(copy)}: a temporary file of an installation that was killed")
    for copy in outcome.kept:
        print(f"  {'kept':10} {printable(copy)}: a copy of a file with edits by hand, which an installation replaced")
    return exits.OK


def _print_unrecorded(site: Site, harness: Harness, found: list[str]) -> int:
    """Print the places `found`, which look like parts of an installation, and how to remove them. Return FAILED."""
    scope = "" if site.scope == "project" else f" {SCOPE.name} {site.scope}"
    words = f"{harness.id}{scope}"
    lines = [
        f"{harness.title}: there is no record of an installation in {site.scope} scope, so nothing was removed.",
        "These look like parts of one:",
        *(f"  {place}" for place in found),
        f"To remove them, run nexus-mcp install {words}, then nexus-mcp uninstall {words}.",
    ]
    for line in lines:
        print(f"nexus-mcp: {line}" if line is lines[0] else line, file=sys.stderr)
    return exits.FAILED


COMMAND = Command(
    "uninstall",
    "remove the entries and files of install",
    "Takes the entries of nexus-mcp out of the files of a harness and deletes the\n"
    "files that install made. A file that has not changed since then gets its\n"
    "former bytes back. Exit codes: as for nexus-mcp install.",
    (PROJECT, SCOPE, DRY_RUN, FORCE, YES),
    run,
    argument=HARNESS,
    examples=(
        ("nexus-mcp uninstall claude-code", "take everything out of this project again"),
        ("nexus-mcp uninstall codex --scope user --dry-run", "show the changes in your user files"),
    ),
)
