"""`nexus-mcp run clean [RUN]`: remove old runs, their worktrees and their merged branches."""

from __future__ import annotations

import os
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option, parse_count
from nexus_mcp.cli.run.options import PROJECT_ONLY, RUN, opened_store, refuse_in_session, run_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

RUN_TO_REMOVE = Argument(RUN.name, "the id of the run to remove; without it, old runs", least=0)
OLDER = Option("--older-than", "DAYS", "only runs whose last event is more than DAYS old")


def run(values: Values) -> int:
    """Remove the named run; without a name, the runs that --older-than selects, or all but the newest KEPT.

    The unfinished run is never removed: without a name it is left out. Raise UsageError for the name of the unfinished
    run or of an unknown one.
    """
    import asyncio

    from nexus_mcp.run.cleaning import KEPT, clean, old_runs
    from nexus_mcp.run.run_folder import RunBusy, RunLock

    refuse_in_session()
    workspace, store = opened_store(values)
    with store.state() as state:
        if state is None:
            print("There is nothing to clean.")
            return exits.OK
        try:
            lock = RunLock(state)
        except RunBusy as busy:
            print(busy)
            return exits.BUSY
        with lock:
            days = parse_count(values[OLDER.name], OLDER.name) if OLDER.name in values else None
            names = [run_name(values)] if run_name(values) else old_runs(state, days, time.time())
            for name in names:
                worktrees = os.path.expanduser("~/.local/state/nexus-mcp/worktrees")
                left = asyncio.run(clean(state, workspace.root, worktrees, name))
                print(f"{name}: removed" + (f"; kept branches with unmerged work: {', '.join(left)}" * bool(left)))
            if not names:
                print(f"There is nothing to clean: without --older-than the newest {KEPT} runs are kept.")
    return exits.OK


COMMAND = Command(
    "clean",
    "remove old runs and their worktrees",
    "Removes the files, worktrees and merged branches of finished and abandoned\n"
    "runs. Without RUN and --older-than the newest twenty are kept. Branches whose\n"
    "work is not merged stay.",
    (OLDER, *PROJECT_ONLY),
    run,
    argument=RUN_TO_REMOVE,
    examples=(("nexus-mcp run clean --older-than 30", "remove runs whose last event is more than 30 days old"),),
)
