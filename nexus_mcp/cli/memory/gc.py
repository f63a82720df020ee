"""`nexus-mcp memory gc`: which notes could go, and with --apply, off they go."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.message import JSON, print_json
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.uninterrupted import uninterrupted
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

APPLY = Option("--apply", "", "delete all that is proposed, as one git commit")
DRY_RUN = Option("--dry-run", "", "tell what could go, and delete nothing")


def run(values: Values) -> int:
    """Prints the proposals, and what was deleted. Raises NexusError with nothing deleted."""
    from nexus_mcp.cli.usable_catalog import catalog_of
    from nexus_mcp.quoting import inert
    from nexus_mcp.store.store import Store
    from nexus_mcp.tags.actions import memory_gc
    from nexus_mcp.tags.actions.definition import Desk
    from nexus_mcp.tags.steps import lines

    apply, dry = APPLY.name in values, DRY_RUN.name in values
    if apply and dry:
        raise UsageError("--apply and --dry-run are opposites.", next_step="Give one of them.")
    workspace = workspace_from(values)
    desk = Desk(catalog_of(workspace.root), Store(workspace))
    if dry:
        done = memory_gc.preview(desk, "gc", "")
    else:
        with uninterrupted(desk.store.stop):
            done = memory_gc.clean(desk, apply=apply)
    if JSON.name in values:
        print_json(done)
    else:
        for line in [*lines(done), *([f"> {done['next_step']}"] if done["next_step"] else [])]:
            print(inert(line))
    return exits.OK


COMMAND = Command(
    "gc",
    "tell which notes could go, or delete them",
    "Proposes notes for deletion that nobody has read for long, with the reasons.\n"
    "With --apply they are deleted as one git commit, which says how to get each\n"
    "back. Without it nothing is deleted, unless .nexus/config.yml has thresholds\n"
    "for that.",
    (APPLY, DRY_RUN, JSON, PROJECT),
    run,
)
