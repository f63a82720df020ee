"""`nexus-mcp serve`: run the MCP server on stdin and stdout."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import HARNESS_ID, MOUNT, PROJECT, TOOL_PREFIX, check_prefix, workspace_from
from nexus_mcp.log import LEVELS, info, set_level
from nexus_mcp.workspace import misplaced_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

LOG_VARIABLE = "NEXUS_LOG"
LOG_LEVEL = Option("--log-level", "LEVEL", "debug, info, warning or error (default: warning)", LEVELS)
SDK = Option("--sdk", "", "serve through the official SDK instead of our own loop")
HOOK_TOOL = Option("--hook-tool", "", "offer a tool that hooks of the harness call")

WAITING = "nexus-mcp waits for an MCP client on stdin; Ctrl-D or Ctrl-C stops it. nexus-mcp init shows how to mount it."


def run(values: Values) -> int:
    """Serve until stdin ends. Raise UsageError for a wrong option or variable."""
    set_level(_level(values))
    prefix = check_prefix(values.get(TOOL_PREFIX.name, ""))
    workspace = workspace_from(values)
    outside = misplaced_in(values.get(PROJECT.name), os.environ, os.getcwd())
    from nexus_mcp.server.app import App

    app = App(workspace, prefix, outside=outside, has_hook_tool=HOOK_TOOL.name in values)
    info(f"serving {workspace.root} as {workspace.harness_id}{', outside of a project' if outside else ''}")
    if os.isatty(0):
        print(WAITING, file=sys.stderr)
    if SDK.name in values:
        from nexus_mcp.server.sdk import serve_sdk

        return serve_sdk(app)
    from nexus_mcp.server.stdio import serve

    return serve(app)


def _level(values: Values) -> str:
    """Return the option, else the environment variable (empty counts as unset), else the level `warning`."""
    if LOG_LEVEL.name in values:
        return values[LOG_LEVEL.name]
    return LOG_LEVEL.check(os.environ.get(LOG_VARIABLE) or "warning", LOG_VARIABLE)


COMMAND = Command(
    "serve",
    "speak MCP on stdin and stdout; this is what a client starts",
    "Serves the tools over stdin and stdout until stdin ends. Logs go to stderr.",
    (PROJECT, HARNESS_ID, TOOL_PREFIX, MOUNT, LOG_LEVEL, SDK, HOOK_TOOL),
    run,
    examples=(
        ("nexus-mcp serve --harness-id claude-code", "serve the repository around you to Claude Code"),
        ("nexus-mcp serve --project ~/shop --log-level info", "serve another project, and log refused calls"),
    ),
)
