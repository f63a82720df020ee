"""`nexus-mcp history repair`: mends history.json, or tells what mending would come to."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.uninterrupted import uninterrupted
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import UsageError
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

DRY_RUN = Option("--dry-run", "", "tell what would be done, and touch nothing")
YES = Option("--yes", "", "give up what cannot be read of a damaged file")
FROM = Option("--from", "COMMIT", "put the cycles of a commit of git back, e.g. HEAD")


def run(values: Values) -> int:
    """Prints what is wrong and what was done; 1 when it stays wrong. Raises StateError, PathRefused, StorageError."""
    from nexus_mcp.cli.history import repair_text
    from nexus_mcp.merging.diagnosis import Healthy
    from nexus_mcp.merging.repair import examine, repair

    root = workspace_from(values).root
    dry = DRY_RUN.name in values
    revision = values.get(FROM.name, "")
    if FROM.name in values and not revision:
        raise UsageError(f"{FROM.name} needs the name of a commit.", next_step=f"Example: {FROM.name} HEAD")
    if dry:
        done = examine(root, revision)
    else:
        done = repair(root, damage=YES.name in values, revision=revision, carried=uninterrupted)
    good = done.is_mended or isinstance(done.diagnosis, Healthy)
    told = repair_text.mended(done) if done.is_mended else [] if good else repair_text.left(done, dry=dry)
    seen = done.diagnosis
    for line in (*repair_text.found(seen), *repair_text.kept(root, seen), *repair_text.origins(seen), *told):
        print(printable(line))
    return exits.OK if good else exits.FAILED


COMMAND = Command(
    "repair",
    "mend a history.json that cannot be read, or merged",
    "A conflict of git, with markers or without: keeps the cycles of both sides,\n"
    "each once, ordered by the time they were completed. A damaged file: shows what\n"
    "can be read and what cannot. With --yes it keeps the readable cycles, and those\n"
    "of HEAD; with --from it puts the cycles of a commit back, whatever the file is\n"
    "like, and keeps what else can be read. It prints which cycles come from where.\n"
    "The file as it was is kept beside. Exit code 0: whole, or mended; 1: still not\n"
    "whole.",
    (PROJECT, DRY_RUN, YES, FROM),
    run,
)
