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
    from shlex import join

    return f"claude mcp add {SERVER_NAME} -- {join(serve_command(options))}"


def snippets(options: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(where it belongs, the text to put there) for each client."""
    import json

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    command, *args = serve_command(options)
    claude: dict[str, object] = {"type": "stdio", "command": command, "args": args}
    opencode: dict[str, object] = {"type": "local", "command": [command, *args], "enabled": True}
    return [
        ("Claude Code, in a shell in the project (for all your projects: --scope user)", claude_command(options)),
        ("Claude Code, for everyone in the project: .mcp.json", _entry("mcpServers", claude)),
        (
            "Codex: ~/.codex/config.toml",
            "\n".join(
                (
                    f"[mcp_servers.{SERVER_NAME}]",
                    f"command = {text(command)}",
                    f"args = {text(args)}",
                    "required = true",
                    "startup_timeout_sec = 20",
                    'default_tools_approval_mode = "approve"',
                )
            ),
        ),
        ("OpenCode: opencode.json", _entry("mcp", opencode)),
    ]


def _entry(section: str, server: dict[str, object]) -> str:
    import json

    members = ",\n".join(
        f"      {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in server.items()
    )
    return f'{{\n  "{section}": {{\n    "{SERVER_NAME}": {{\n{members}\n    }}\n  }}\n}}'
