"""Wrap a command in a sandbox: bubblewrap, or a command of the configuration. Sessions run in it. So do setup, checks
and commit hooks, because a session may have changed what they start.

With bubblewrap the user's checkout and its git folder are read-only, whatever options a call of git has; the worktree,
git's folder of the worktree, the files of the session and the state that the mounted server writes stay writable. The
other worktrees of the run and the user's own git configuration are also read-only: files there would change how the
executor handles the work. Other paths are not restricted: a sandbox command of your own may be stricter.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from nexus_mcp.run.config import RunConfig, Sandbox
from nexus_mcp.run.git_files import folders, global_config_files

if TYPE_CHECKING:
    from nexus_mcp.run.worktrees import Repository

PROGRAM = "bwrap"
_TRIAL_S = 60.0
Wrap = Callable[[Sequence[str]], tuple[str, ...]]
"""A function that returns the words of a command that runs the given command in a sandbox."""


async def around(
    repository: Repository, config: RunConfig, worktree: str, scratch: str = "", *, commits: bool = False
) -> Wrap:
    """Return the function that puts a command in a worktree of the run into the sandbox of the configuration.

    `scratch` is another folder that stays writable. With `commits` git can commit to the branches of the run. Raise
    GitFailed, WorktreeGone, OSError.
    """
    if config.sandbox == "none":
        return tuple
    common = os.path.realpath((await folders(repository.root)).common)
    more = [scratch] if scratch else []
    if commits:
        run = f"heads/nexus/{repository.run}"
        more += [os.path.join(common, name) for name in ("objects", f"refs/{run}", f"logs/refs/{run}")]
        for folder in more[-2:]:
            os.makedirs(folder, exist_ok=True)
    return partial(
        wrap,
        config=config,
        root=repository.root,
        git=common,
        admin=await repository.admin_of(worktree),
        worktree=worktree,
        writable=more,
        others=(repository.path(""), *global_config_files()),
    )


def wrap(
    words: Sequence[str],
    config: RunConfig,
    *,
    root: str,
    git: str,
    admin: str,
    worktree: str,
    writable: Sequence[str] = (),
    others: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the words in the sandbox of the configuration.

    `root` is the user's checkout, `git` its common git folder, `admin` the git folder of the worktree. `writable` are
    further folders that the command may write into, `others` further paths that it may not change.
    """
    if config.sandbox == "none":
        return tuple(words)
    if isinstance(config.sandbox, Sandbox):
        return (*config.sandbox.command, *words)
    state = os.path.join(root, ".nexus", "state")
    runs = os.path.join(state, "runs")
    bound = ["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--die-with-parent"]
    bound += ["--ro-bind", root, root, "--ro-bind", git, git]
    bound += [word for path in others for word in ("--ro-bind-try", path, path)]
    # The order matters: later mounts cover earlier ones.
    bound += ["--bind", worktree, worktree, "--bind-try", admin, admin]
    bound += ["--bind-try", state, state, "--ro-bind-try", runs, runs]
    bound += [word for folder in writable for word in ("--bind", folder, folder)]
    return (PROGRAM, *bound, "--", *words)


def problem(config: RunConfig) -> str:
    """Return why the sandbox of the configuration cannot be used, "" if it can."""
    program = PROGRAM if config.sandbox == "bwrap" else ""
    if isinstance(config.sandbox, Sandbox):
        program = config.sandbox.command[0]
    if program and shutil.which(program) is None:
        return f"{program} is not in PATH"
    return _trial() if config.sandbox == "bwrap" else ""


def _trial() -> str:
    """Return why bubblewrap cannot make a sandbox here, "" if it can: many containers forbid it."""
    words = (PROGRAM, "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--", "/bin/sh", "-c", ":")
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_TRIAL_S)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{PROGRAM} cannot be started: {error}"
    return "" if done.returncode == 0 else f"{PROGRAM} cannot make a sandbox here: {done.stderr.strip()[:300]}"
