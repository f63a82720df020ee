"""`nexus-mcp init`: makes .nexus/ and tells how to mount the server. May be run again."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, TOOL_PREFIX, check_prefix, workspace_from
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.workspace import Workspace

GIT_MERGE = Option("--git-merge", "", "instead, have git merge history.json with nexus-mcp")
REMOVE = Option("--remove", "", "with --git-merge: take that back")
NOTES = {
    ".nexus/": "the history, for git to keep",
    ".nexus/state/": "the plan and the tasks of now, for nobody else",
    ".nexus/.gitignore": "keeps state/ out of git",
}


def run(values: Values) -> int:
    """Makes what is missing and prints what to do next. Raises UsageError, PathRefused, StorageError."""
    if GIT_MERGE.name in values:
        from nexus_mcp.cli.git_merge import register, unregister

        return (unregister if REMOVE.name in values else register)(workspace_from(values))
    if REMOVE.name in values:
        raise UsageError("--remove needs --git-merge: init itself has nothing to take back.")
    from nexus_mcp.cli.mount import snippets
    from nexus_mcp.store.store import Store

    check_prefix(values.get(TOOL_PREFIX.name, ""))
    workspace = workspace_from(values)
    made = Store(workspace).initialise()
    print(printable(workspace.root))
    for path, note in NOTES.items():
        print(f"  {'made' if path in made else 'there already':13}  {path:17}  {note}")
    options = [TOOL_PREFIX.name, values[TOOL_PREFIX.name]] if TOOL_PREFIX.name in values else []
    print("\nTo mount the server, paste one of these. It serves the repository that the client is started in.")
    for place, text in snippets(options, values.get(HARNESS_ID.name, "")):
        print(f"\n{place}\n{text}")
    if HARNESS_ID.name in values:
        _tell_unmapped(workspace)
    return exits.OK


def _tell_unmapped(workspace: Workspace) -> None:
    from contextlib import suppress

    from nexus_mcp.catalog.capabilities import unmapped
    from nexus_mcp.catalog.load import load

    with suppress(NexusError):  # what a broken map says is told by all that need it
        told = unmapped(load(workspace.root), workspace.harness_id)
        if told:
            print(f"\n{told}")


COMMAND = Command(
    "init",
    "make .nexus/ and print how to mount the server",
    "Makes .nexus/ with its .gitignore in the project, leaves alone what is there\n"
    "already, and prints the lines that mount the server in each client. With\n"
    "--git-merge it does nothing but register the merge driver of history.json in\n"
    "the git repository.",
    (PROJECT, HARNESS_ID, TOOL_PREFIX, GIT_MERGE, REMOVE),
    run,
)
