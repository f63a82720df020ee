"""From the options to a target: our own table in memory, a command, or a URL."""

from __future__ import annotations

from nexus_mcp.cli.conformance.options import ENV, PROJECT_ENV
from nexus_mcp.cli.options import Option
from nexus_mcp.cli.workspace_options import PROJECT, TOOL_PREFIX, check_prefix
from nexus_mcp.errors import UsageError
from nexus_mcp.log import set_level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.conformance.target import Target, TargetOptions

SERVER = Option("--server", "CMD", "a command that speaks MCP on stdin and stdout")
URL = Option("--url", "URL", "a server over streamable HTTP; needs --project")
SERVED = Option(PROJECT.name, "DIR", "with --url: the empty folder that it serves")


def check(values: Values) -> None:
    """Raises UsageError for options that do not go together."""
    if SERVER.name in values and URL.name in values:
        raise UsageError("--server and --url are two targets; give one of them.")
    if (URL.name in values) != (SERVED.name in values):
        raise UsageError("--url and --project belong together: --project is the empty folder that the server serves.")
    for option in (ENV, PROJECT_ENV):
        if option.name in values and SERVER.name not in values:
            raise UsageError(f"{option.name} is for a server that is started here: it needs --server.")


def target(values: Values, options: TargetOptions) -> Target:
    """The target that the options name, our own tools in memory when they name none. Raises UsageError."""
    from nexus_mcp.conformance.settings import given
    from nexus_mcp.conformance.target import in_memory, over_http, stdio

    if SERVER.name in values:
        return stdio(given.command(values[SERVER.name], SERVER.name), options)
    if URL.name in values:
        _check_url(values[URL.name], values[SERVED.name])
        return over_http(values[URL.name], values[SERVED.name], options)
    prefix = check_prefix(values.get(TOOL_PREFIX.name, ""))
    # Fixtures have broken files on purpose, and our own warnings of them would run through the progress.
    set_level("error")

    def make(root: str) -> Any:
        from nexus_mcp.server.app import App
        from nexus_mcp.server.sdk import build_server
        from nexus_mcp.workspace import Workspace

        return build_server(App(Workspace(root, options.harness_id), prefix))

    return in_memory(make, options)


def _check_url(url: str, folder: str) -> None:
    import os
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise UsageError("--url needs an http or https address.", next_step="Example: --url http://127.0.0.1:8000/mcp")
    if not os.path.isdir(folder):
        raise UsageError(f"--project: {folder!r} is not a folder. Name the folder that the server serves.")
