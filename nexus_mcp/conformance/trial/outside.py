"""A project that is in no git repository."""

from __future__ import annotations

import os

from nexus_mcp.errors import HarnessFault


def check_outside_git(project: str) -> None:
    """Raises HarnessFault when a folder above `project`, an absolute path, is a repository: so is the project then."""
    folder = project
    while (above := os.path.dirname(folder)) != folder:
        if os.path.lexists(os.path.join(above, ".git")):
            raise HarnessFault(
                [f"A fixture needs a project outside of git, and {above}, which is above it, has a .git."],
                next_step="Set TMPDIR to a folder that lies in no repository.",
            )
        folder = above
