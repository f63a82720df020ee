"""The environment of a target's processes."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from nexus_mcp.conformance.processes.killing import MARK

if TYPE_CHECKING:
    from nexus_mcp.conformance.target import TargetOptions

# They would lead a server, or the git that it starts, away from the project.
_LEFT_OUT = ("NEXUS_", "GIT_")
_numbers = itertools.count()


def environment(options: TargetOptions, project: str, mark: str) -> dict[str, str]:
    """The user's own variables without those that name another project, the options' and what the run adds.

    `mark` gets a number that no other process has: who kills one must not take another for its child.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return {
        **inherited,
        "PWD": project,
        **options.environment,
        options.project_env: project,
        MARK: f"{mark}.{next(_numbers)}",
    }
