"""The lines that mount the server in a client, for copying: `nexus-mcp init` and the demo print them.

Absolute paths throughout: clients are often started without the PATH of a shell.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER_NAME = "nexus"


def own_command() -> list[str]:
    """The words that start this very installation."""
    for candidate in (sys.argv[0], os.path.join(os.path.dirname(sys.executable), "nexus-mcp")):
        path = os.path.abspath(candidate)
        if os.path.basename(path) == "nexus-mcp" and os.access(path, os.X_OK):
            return [path]
    return [sys.executable, "-m", "nexus_mcp"]


def serve_command(options: Sequence[str] = ()) -> list[str]:
    """The words a client starts the server with. `options` are those of `serve` that are to be in force."""
    return [*own_command(), "serve", *options]


def claude_command(options: Sequence[str] = ()) -> str:
    """The shell line that mounts the server in Claude Code."""
    from nexus_mcp.cli.spelling import shell_line

    return f"claude mcp add {SERVER_NAME} -- {shell_line(serve_command(options))}"


def snippets(options: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(where it belongs, the text to put there) for each client."""
    from nexus_mcp.cli.spelling import quoted, quoted_list

    words = serve_command(options)
    command, args = quoted(words[0]), quoted_list(words[1:])
    claude = {"type": '"stdio"', "command": command, "args": args}
    opencode = {"type": '"local"', "command": quoted_list(words), "enabled": "true"}
    return [
        ("Claude Code, in a shell in the project (for all your projects: --scope user)", claude_command(options)),
        ("Claude Code, for everyone in the project: .mcp.json", _entry("mcpServers", claude)),
        (
            "Codex: ~/.codex/config.toml",
            "\n".join(
                (
                    f"[mcp_servers.{SERVER_NAME}]",
                    f"command = {command}",
                    f"args = {args}",
                    "required = true",
                    "startup_timeout_sec = 20",
                    'default_tools_approval_mode = "approve"',
                )
            ),
        ),
        ("OpenCode: opencode.json", _entry("mcp", opencode)),
    ]


def _entry(section: str, server: dict[str, str]) -> str:
    """A JSON document with one server; its values are JSON already."""
    members = ",\n".join(f'      "{name}": {value}' for name, value in server.items())
    return f'{{\n  "{section}": {{\n    "{SERVER_NAME}": {{\n{members}\n    }}\n  }}\n}}'
