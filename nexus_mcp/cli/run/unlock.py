"""`nexus-mcp run unlock`: free the leases of a dead executor, and end the processes that it left."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.run.options import PROJECT_ONLY, opened_store, refuse_in_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Free the leases and end the processes. While an executor holds the lock, change nothing and return BUSY.

    The lock file itself stays.
    """
    import asyncio

    from nexus_mcp.run import registry
    from nexus_mcp.run.run_folder import RunBusy, RunLock
    from nexus_mcp.store import tasks_extension

    refuse_in_session()
    _, store = opened_store(values)
    with store.state() as state:
        if state is None:
            print("There is no lock.")
            return exits.OK
        try:
            with RunLock(state):
                ended = 0
                for row in registry.alive(state):
                    ended += asyncio.run(registry.end(row))
                freed = tasks_extension.free(state)
        except RunBusy as busy:
            print(busy)
            return exits.BUSY
    if not freed and not ended:
        print("The lock is free, and no dead executor left a lease or a process.")
        return exits.OK
    tasks = f"of task{'s' * (len(freed) > 1)} {', '.join(map(str, freed))}" if freed else "of no task"
    what = "1 process was" if ended == 1 else f"{ended} processes were"
    print(f"The lock is free. Leases {tasks} were freed; {what} ended.")
    return exits.OK


COMMAND = Command(
    "unlock",
    "free the leases of a dead executor",
    "Frees the leases of tasks and ends the processes that a dead executor left.\n"
    "While a run is at work it refuses; nexus-mcp run stop ends that run first.",
    PROJECT_ONLY,
    run,
    examples=(("nexus-mcp run unlock", "free the leases of a dead executor"),),
)
