"""`nexus-mcp export md`: plan, tasks, decisions and history as Markdown files in a folder."""

from __future__ import annotations

import os

from nexus_mcp.cli.history_views import print_json_view
from nexus_mcp.cli.install import report_edits
from nexus_mcp.cli.options import Argument, Command, Group
from nexus_mcp.cli.workspace_options import JSON, PROJECT, workspace_from
from nexus_mcp.errors import NexusError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

DEFAULT = "nexus-export"
NAME = "md"
_RESERVED = (".nexus", ".git")
FOLDER = Argument("[DIR]", f"the folder to make or to bring up to date (default: {DEFAULT})", least=0)


def _run(values: Values) -> int:
    """Write the files. Raise UsageError, NexusError without a `.nexus`, StateError, PathRefused, StorageError."""
    folder = values.get(FOLDER.name, DEFAULT)
    if not folder or "\0" in folder:
        raise UsageError(f"{FOLDER.word} names no folder.", next_step=f"Example: nexus-mcp export md {DEFAULT}")
    return report_edits(lambda: _write(folder, values))


def _write(folder: str, values: Values) -> int:
    from nexus_mcp.cli.blocks import Line
    from nexus_mcp.cli.history_views import show
    from nexus_mcp.cli.options import count_noun
    from nexus_mcp.harness.packages import writing
    from nexus_mcp.rendering.export import export_files
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import VERSION
    from nexus_mcp.views.cycles import newest_first

    workspace = workspace_from(values)
    within = os.path.relpath(os.path.realpath(folder), os.path.realpath(workspace.root)).split(os.sep)
    if within[0] in _RESERVED:  # nexus-mcp and git own all that is in there
        raise UsageError(f"{folder} is in {within[0]}.", next_step=f"Name a folder beside it, such as {DEFAULT}.")
    store = Store(workspace)
    with store.history_folder() as nexus:
        if nexus is None:
            raise NexusError(
                f"There is nothing to export: {workspace.root} has no folder .nexus.",
                next_step="Name the project with --project, or start it with nexus-mcp init.",
            )
    both = store.snapshot()
    plan, tasks = both.plan(), both.tasks()
    files = store.history(lambda archive: export_files(plan, tasks, newest_first(archive)))
    done = writing.write(folder, NAME, files, writing.EXPORT)
    if JSON.name in values:
        path = os.path.abspath(folder)
        return print_json_view({"version": VERSION, "folder": path, "result": done, "files": sorted(files)})
    size = sum(map(len, files.values()))
    return show([Line(f"{folder}: {done}, {count_noun(len(files), 'file')}, {size:,} bytes. Begin with README.md.")])


MD = Command(
    NAME,
    "write plan, tasks, decisions and history as Markdown files",
    "Makes the folder DIR, or replaces a folder that it made before, unless a user\n"
    "edited the files in it. The files link to each other: a decision to its cycle\n"
    "and tasks, a task to its question. The folder is written as a whole or not at\n"
    "all. Exit code 1: there is no .nexus, or DIR cannot be written or has other\n"
    "files; 3: its files were edited. Both mean that nothing was changed.",
    (JSON, PROJECT),
    _run,
    argument=FOLDER,
    examples=(("nexus-mcp export md docs/work", "write the files into docs/work, to commit them"),),
)

COMMAND = Group(
    "export",
    "write plan, tasks and history as files, for a wiki or a review",
    "Writes the content of .nexus as files for readers who do not have nexus-mcp.",
    {NAME: lambda: MD},
)
