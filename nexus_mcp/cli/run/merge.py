"""`nexus-mcp run merge [RUN]`: move your branch to the integration branch of a run."""

from __future__ import annotations

import os

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.run.options import PROJECT_ONLY, RUN, opened_store, run_name
from nexus_mcp.errors import NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Fast-forward the branch; raise NexusError when something is in the way."""
    import asyncio

    from nexus_mcp.run.run_folder import RunBusy
    from nexus_mcp.run.view import open_view
    from nexus_mcp.run.worktrees import Repository

    workspace, store = opened_store(values)
    with open_view(store, run_name(values)) as view:
        if view.holder is not None:
            raise RunBusy(f"{view.id} is at work.", next_step="It asks for the merge at its end.")
        repository = Repository(workspace.root, view.id, os.path.expanduser(view.config.worktrees))
        ended = view.state.ended
        if view.config.regression == "end" and ended is not None and ended.status == "failed":
            raise NexusError(
                f"{repository.integration} did not pass the checks at the end of the run.",
                next_step=f"Look at it, and merge it by hand if you want it: git merge {repository.integration}",
            )
        branch, expected = str(view.header.get("branch", "")), view.state.integration or view.state.base
        return asyncio.run(_merge(repository, branch, expected))


async def _merge(repository: object, branch: str, expected: str) -> int:
    from nexus_mcp.run.final_merge import fast_forward, readiness
    from nexus_mcp.run.worktrees import Repository

    assert isinstance(repository, Repository)
    now = await repository.head(f"refs/heads/{repository.integration}")
    if now and now != expected:
        raise NexusError(
            f"{repository.integration} is not where the run left it, so it may hold work that nothing verified.",
            next_step=f"Look at git log {expected[:12]}..{now[:12]}.",
        )
    found = await readiness(repository, branch, expected)
    if found.problem:
        raise NexusError(
            f"The branch cannot be moved: {found.problem}.",
            next_step=f"Mend that, or merge by hand: git merge {repository.integration}",
        )
    if not found.commits:
        print(f"{branch} has everything already.")
        return exits.OK
    problem = await fast_forward(repository, expected)
    if problem:
        raise NexusError(f"git refused: {problem}")
    print(f"{branch} has {found.commits} more commits now.")
    return exits.OK


COMMAND = Command(
    "merge",
    "move your branch to the work of a run",
    "Moves the branch that the run began from forwards to nexus/RUN/integration, if\n"
    "it has not moved since and there are no uncommitted changes.",
    PROJECT_ONLY,
    run,
    argument=RUN,
    examples=(("nexus-mcp run merge", "move your branch to the work of the last run"),),
)
