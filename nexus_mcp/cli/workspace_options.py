"""The options that say which project is served and for whom; shared by the commands that have them."""

from __future__ import annotations

import os

from nexus_mcp.cli.options import Option
from nexus_mcp.errors import UsageError
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, Workspace, check_harness_id, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

PROJECT = Option("--project", "DIR", "the project (default: the git repository around you)")
HARNESS_ID = Option("--harness-id", "ID", f"which client this is (default: {DEFAULT_HARNESS_ID})")


def workspace_from(values: Values) -> Workspace:
    """The workspace that the options and the environment name. Raises UsageError when they name none."""
    harness_id = check_harness_id(values.get("--harness-id", DEFAULT_HARNESS_ID))
    try:
        here = os.getcwd()
    except OSError:
        raise UsageError(
            "The working directory is gone.", next_step="Change to a folder that exists, then start again."
        ) from None
    return Workspace(find_root(values.get("--project"), os.environ, here), harness_id)
