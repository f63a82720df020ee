"""`nexus-mcp verdict TASK FILE|-`: check a verdict on a task, and store it for people and for the hook
subagent_complete.
"""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, parse_count
from nexus_mcp.cli.workspace_options import PROJECT, find_task, workspace_from
from nexus_mcp.errors import NexusError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

WORDS = Argument("TASK FILE", "the id of the task, and the file with the verdict; - is stdin", count=2)
STDIN = "-"


def run(values: Values) -> int:
    """Store the verdict as the artifact verdicts/TASK.json, and print where. Raise UsageError for a task id that is no
    number or a file that cannot be read; NexusError for a task that is missing or a text that is no verdict.
    """
    from nexus_mcp.run import verdict
    from nexus_mcp.state.oplog import By
    from nexus_mcp.store import artifacts
    from nexus_mcp.store.store import Store

    word, path = values.lists[WORDS.name]
    workspace = workspace_from(values)
    store = Store(workspace)
    task = parse_count(word, "TASK")
    find_task(store, word)
    data = _read(path, verdict.MAX_BYTES)
    found = verdict.read(data)
    if found is None:
        raise NexusError(
            f"{path} is no verdict: {verdict.fault(data)}",
            next_step="It needs at least the fields version, approved and tests.",
        )
    text = found.model_dump_json(indent=2, exclude_none=True) + "\n"
    by = By("artifact_write", workspace.harness_id, "nexus-mcp verdict")
    print(artifacts.write(store, f"verdicts/{task}.json", text, by))
    return exits.OK


def _read(path: str, most: int) -> bytes:
    """Return the first `most` + 1 bytes of the file, or of stdin. Raise UsageError if there is nothing to read."""
    if path == STDIN:
        if sys.stdin is None or os.isatty(0):
            raise UsageError("There is no verdict.", next_step="Send it to stdin, or name a file.")
        return sys.stdin.buffer.read(most + 1)
    try:
        with open(path, "rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}.") from error


COMMAND = Command(
    "verdict",
    "check a verdict on a task, and store it",
    "Checks the verdict of a reviewer and stores it as the artifact\nverdicts/TASK.json.",
    (PROJECT,),
    run,
    argument=WORDS,
    examples=(("nexus-mcp verdict 3 verdict.json", "store the verdict on task 3"),),
)
