"""The options that say which project is served, for whom and under which names; shared by the commands."""

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
TOOL_PREFIX = Option("--tool-prefix", "PREFIX", "put before every tool name, e.g. nx_")

# Clients put a prefix of their own before tool names, and the whole may have 64 characters with several of them.
PREFIX_LIMIT = 32


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


def check_prefix(value: str) -> str:
    """`value` itself. Raises UsageError unless it is empty or can begin a tool name with every client."""
    usable = value.isascii() and value[:1].isalpha() and value.replace("_", "a").replace("-", "a").isalnum()
    if value and not (usable and len(value) <= PREFIX_LIMIT):
        raise UsageError(
            f"The tool prefix {value!r} is not usable: a letter, then letters, digits, _ and -, "
            f"at most {PREFIX_LIMIT} in all.",
            next_step="Example: --tool-prefix nx_",
        )
    return value
