"""`nexus-mcp completion SHELL`: print a completion script for a shell, or the tasks that such a script offers."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import NexusError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.cli.options import Values

SHELLS = {
    "bash": "for ~/.local/share/bash-completion/completions/nexus-mcp",
    "zsh": "for a file _nexus-mcp in a folder of your fpath",
    "fish": "for ~/.config/fish/completions/nexus-mcp.fish",
}
SHELL = Argument("SHELL", "the shell, and the usual place of its script", SHELLS, least=0)
TASK_IDS = Option("--task-ids", "", "instead, print the ids and titles of the tasks")
_TITLE = 60  # characters


def run(values: Values) -> int:
    """Print a script, or the ids and titles of the tasks. Raise UsageError if the shell is missing."""
    if TASK_IDS.name in values:
        # A shell calls this while a user types: an error would be printed into their command line.
        try:
            for line in _task_rows(values):
                print(line)
        except (NexusError, OSError):
            pass
        return exits.OK
    if SHELL.name not in values:
        raise UsageError(
            "nexus-mcp completion needs a SHELL: bash, zsh or fish.", next_step="See nexus-mcp completion --help."
        )
    from nexus_mcp.cli.shells import places

    module = __import__(f"nexus_mcp.cli.shells.{values[SHELL.name]}", fromlist=("script",))
    print(module.script(places(values.commands)), end="")
    return exits.OK


def _task_rows(values: Values) -> Iterator[str]:
    """Yield a line for each task: id, tab, and the title in at most _TITLE characters. Raise NexusError, OSError."""
    from nexus_mcp.log import printable
    from nexus_mcp.store.paths import TASKS
    from nexus_mcp.store.session import SessionCache
    from nexus_mcp.store.store import Store

    # Store.tasks would complete an interrupted change, and wait for the lock.
    with Store(workspace_from(values)).state_as_it_is() as state:
        document = SessionCache().read(state, TASKS)
    for task in document.value["tasks"] if document else ():
        title = printable(" ".join(task["title"].split()))
        yield f"{task['id']}\t{title if len(title) <= _TITLE else f'{title[: _TITLE - 1]}…'}"


COMMAND = Command(
    "completion",
    "print a script that completes commands in your shell",
    "With the script, the Tab key completes commands, options, their choices, files\n"
    "and the ids of tasks. Write it into a file that your shell reads, or add the\n"
    "line of the first example to ~/.bashrc.",
    (TASK_IDS, PROJECT),
    run,
    argument=SHELL,
    examples=(
        ("source <(nexus-mcp completion bash)", "complete in this bash, until it ends"),
        ("nexus-mcp completion fish > ~/.config/fish/completions/nexus-mcp.fish", "complete in every fish from now on"),
    ),
)
