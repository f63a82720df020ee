"""`nexus-mcp memory`: the group, and `memory gc`, which proposes notes for deletion. It deletes them with --apply, or
if .nexus/config.yml allows it.
"""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.cli.options import Command, Group, Option
from nexus_mcp.cli.workspace_options import JSON, PROJECT, print_json, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.cli.options import Values

APPLY = Option("--apply", "", "delete all proposed notes, as one git commit")
DRY_RUN = Option("--dry-run", "", "show the proposals, and delete nothing")


def run(values: Values) -> int:
    """Print the proposals and the deletions. Raise NexusError with nothing deleted."""
    from nexus_mcp.cli.workspace_options import load_catalog
    from nexus_mcp.quoting import inert
    from nexus_mcp.store.store import Store
    from nexus_mcp.tags.act import lines
    from nexus_mcp.tags.actions import memory_gc
    from nexus_mcp.tags.actions.definition import ActionContext

    apply, dry = APPLY.name in values, DRY_RUN.name in values
    if apply and dry:
        raise UsageError("--apply and --dry-run are opposites.", next_step="Give one of them.")
    workspace = workspace_from(values)
    ctx = ActionContext(load_catalog(workspace.root), Store(workspace))
    if dry:
        done = memory_gc.preview(ctx, "gc", "")
    else:
        with defer_interrupt(ctx.store.stop):
            done = memory_gc.clean(ctx, apply=apply)
    if JSON.name in values:
        print_json(done)
    else:
        for line in [*lines(done), *([f"> {done['next_step']}"] if done["next_step"] else [])]:
            print(inert(line))
    return exits.OK


GC = Command(
    "gc",
    "propose notes for deletion, or delete them",
    "Proposes unread old notes for deletion, each with the reason. With --apply it\n"
    "deletes them as one git commit, which says how to restore each note. Without\n"
    "--apply it deletes nothing, unless .nexus/config.yml has thresholds for it.",
    (APPLY, DRY_RUN, JSON, PROJECT),
    run,
    examples=(
        ("nexus-mcp memory gc", "propose notes for deletion"),
        ("nexus-mcp memory gc --apply", "delete all proposed notes, as one git commit"),
    ),
)


def _of_notes(name: str) -> Callable[[], Command]:
    def load() -> Command:
        from nexus_mcp.cli import memory_notes

        found: Command = getattr(memory_notes, name)
        return found

    return load


COMMAND = Group(
    "memory",
    "list, show, add, import and clean up notes",
    "Works with the notes in .nexus/memory/. To store a note from a message:\nnexus-mcp act '[m] text'.",
    {
        "list": _of_notes("LIST"),
        "show": _of_notes("SHOW"),
        "add": _of_notes("ADD"),
        "import": _of_notes("IMPORT"),
        "gc": lambda: GC,
    },
)
