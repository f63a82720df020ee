"""The configuration that mounts the server in each client, as printed by `nexus-mcp init` and the demo.

All paths are absolute: clients often start without the PATH of a shell.
"""

from __future__ import annotations

from nexus_mcp.cli.workspace_options import PROJECT
from nexus_mcp.program import own_command, shell_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER_NAME = "nexus"
CLAUDE_CODE = "claude-code"
CLIENTS = (CLAUDE_CODE, "codex", "opencode")
"""The harness ids of the clients with printed configuration; each has a capability map."""


def serve_command(options: Sequence[str] = ()) -> list[str]:
    """Return the command line that starts the server, with the `options` of `serve`."""
    return [*own_command(), "serve", *options]


def claude_command(options: Sequence[str] = ()) -> str:
    """Return the shell line that mounts the server in Claude Code."""
    return _claude_line(_command(CLAUDE_CODE, options))


def snippets(options: Sequence[str] = (), harness_id: str = "") -> list[tuple[str, str]]:
    """Return (place, text to put there) for each client, two for Claude Code, each with the harness id of the client.

    If `harness_id` is neither "" nor one of these ids, all snippets use it. If `options` name the project, the place
    warns about files that all projects share.
    """
    from nexus_mcp.cli.text_output import json_array, json_string, toml_array, toml_string

    claude_code, codex, opencode = (
        _command(own if harness_id in ("", *CLIENTS) else harness_id, options) for own in CLIENTS
    )
    mcp_json = {"type": '"stdio"', "command": json_string(claude_code[0]), "args": json_array(claude_code[1:])}
    opencode_json = {"type": '"local"', "command": json_array(opencode), "enabled": "true"}
    is_of_one = PROJECT.name in options
    all_yours = "" if is_of_one else " (for all your projects: --scope user)"
    shared = ", which all your projects share: with these lines all of them use this project" if is_of_one else ""
    return [
        (f"Claude Code, in a shell in the project{all_yours}", _claude_line(claude_code)),
        ("Claude Code, for everyone in the project: .mcp.json", _entry("mcpServers", mcp_json)),
        (
            f"Codex: ~/.codex/config.toml{shared}",
            "\n".join(
                (
                    f"[mcp_servers.{SERVER_NAME}]",
                    f"command = {toml_string(codex[0])}",
                    f"args = {toml_array(codex[1:])}",
                    "required = true",
                    "startup_timeout_sec = 20",
                    'default_tools_approval_mode = "approve"',
                )
            ),
        ),
        ("OpenCode: opencode.json", _entry("mcp", opencode_json)),
    ]


def _command(harness_id: str, options: Sequence[str]) -> list[str]:
    return serve_command(["--harness-id", harness_id, *options])


def _claude_line(words: Sequence[str]) -> str:
    return f"claude mcp add {SERVER_NAME} -- {shell_line(words)}"


def _entry(section: str, server: dict[str, str]) -> str:
    """Return a JSON document with one server; the values in `server` are JSON texts."""
    fields = ",\n".join(f'      "{name}": {value}' for name, value in server.items())
    return f'{{\n  "{section}": {{\n    "{SERVER_NAME}": {{\n{fields}\n    }}\n  }}\n}}'
