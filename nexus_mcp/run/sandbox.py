"""Wrap the command of a session in a sandbox: bubblewrap, or a command of the configuration.

With bubblewrap the user's checkout and its git folder are read-only, whatever git is called with; the worktree, its
index, the files of the session and the state that the mounted server writes stay writable. Nothing else is restricted:
a sandbox command of your own may be stricter.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from nexus_mcp.run.config import RunConfig, Sandbox

PROGRAM = "bwrap"


def wrapped(
    words: Sequence[str], config: RunConfig, *, root: str, git: str, admin: str, worktree: str, scratch: str
) -> tuple[str, ...]:
    """Return the words in the sandbox of the configuration.

    `root` is the user's checkout, `git` its common git folder, `admin` the folder of git for the worktree.
    """
    if config.sandbox == "none":
        return tuple(words)
    if isinstance(config.sandbox, Sandbox):
        return (*config.sandbox.command, *words)
    state = os.path.join(root, ".nexus", "state")
    runs = os.path.join(state, "runs")
    bound = ["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--die-with-parent"]
    bound += ["--ro-bind", root, root, "--ro-bind", git, git]
    # The order matters: later mounts cover earlier ones.
    bound += ["--bind", worktree, worktree, "--bind-try", admin, admin]
    bound += ["--bind-try", state, state, "--ro-bind-try", runs, runs, "--bind", scratch, scratch]
    return (PROGRAM, *bound, "--", *words)


def problem(config: RunConfig) -> str:
    """Return why the sandbox of the configuration cannot be used, "" if it can."""
    program = PROGRAM if config.sandbox == "bwrap" else ""
    if isinstance(config.sandbox, Sandbox):
        program = config.sandbox.command[0]
    return f"{program} is not in PATH" if program and shutil.which(program) is None else ""
