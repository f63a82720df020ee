"""`nexus-mcp run merge [RUN]`: move your branch to the integration branch of a run."""

from __future__ import annotations

import os

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.run.options import PROJECT_ONLY, RUN, opened_store, refuse_in_session, run_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.run.view import View


def run(values: Values) -> int:
    """Fast-forward the user's branch, or print on stderr why it cannot move. Return an exit code of docs/run.md."""
    import asyncio
    import sys

    from nexus_mcp.quoting import inert
    from nexus_mcp.run.run_folder import RunBusy, RunLock
    from nexus_mcp.run.view import open_view

    refuse_in_session()
    workspace, store = opened_store(values)
    try:
        with store.state() as state, open_view(store, run_name(values)) as view:
            if view.holder is not None:
                raise RunBusy(f"{view.id} is at work.", next_step="The run asks for the merge at its end.")
            assert state is not None
            with RunLock(state):
                problem = asyncio.run(_merge(workspace.root, view))
    except RunBusy as busy:
        print(f"nexus-mcp: {inert(str(busy))}", file=sys.stderr)
        return exits.BUSY
    if problem:
        print(f"nexus-mcp: Nothing was merged: {inert(problem)}", file=sys.stderr)
        return exits.NEEDS_PERSON
    return exits.OK


async def _merge(root: str, view: View) -> str:
    """Move the branch, print its new state and return "". If it cannot move, return the reason. Raise GitFailed."""
    from nexus_mcp.run.final_merge import fast_forward, go_on, readiness, why_unverified
    from nexus_mcp.run.worktrees import Repository

    repository = Repository(root, view.id, os.path.expanduser(view.config.worktrees))
    branch, expected = str(view.header.get("branch", "")), view.state.integration or view.state.base
    by_hand = f"merge by hand: git merge {repository.integration}"
    now = await repository.head(f"refs/heads/{repository.integration}")
    if now and now != expected:
        return (
            f"{repository.integration} is not where the run left it, so it may hold work that nothing verified. "
            f"Look at git log {expected[:12]}..{now[:12]}."
        )
    if problem := await go_on(repository, view.folder):
        return problem
    found = await readiness(repository, branch, expected)
    if not found.commits and not found.problem:
        print(f"{branch} has all work of the run already.")
        return ""
    if found.problem:
        return f"{found.problem}. Correct this, or {by_hand}"
    if why := why_unverified(view.config, view.state):
        goes_on = "nexus-mcp run continues and runs them" if view.state.unverified == "" else "look at the work"
        return f"{why.rstrip('.')}. {goes_on[0].upper()}{goes_on[1:]}, or {by_hand}"
    if problem := await fast_forward(repository, expected, view.folder):
        return problem
    print(f"{branch} has {found.commits} more commits now.")
    return ""


COMMAND = Command(
    "merge",
    "move your branch to the work of a run",
    "Fast-forwards the branch from which the run began to nexus/RUN/integration, if\n"
    "the branch has not moved since and there are no uncommitted changes.",
    PROJECT_ONLY,
    run,
    argument=RUN,
    examples=(("nexus-mcp run merge", "move your branch to the work of the last run"),),
)
