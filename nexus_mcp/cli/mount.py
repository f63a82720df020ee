"""The lines that mount the server in a client, for copying: `nexus-mcp init` and the demo print them.

Absolute paths throughout: clients are often started without the PATH of a shell.
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
"""The harness ids of the clients that lines are printed for, each of which has a capability map."""


def serve_command(options: Sequence[str] = ()) -> list[str]:
    """The words a client starts the server with. `options` are those of `serve` that are to be in force."""
    return [*own_command(), "serve", *options]


def claude_command(options: Sequence[str] = ()) -> str:
    """The shell line that mounts the server in Claude Code."""
    return _claude_line(_command(CLAUDE_CODE, options))


def snippets(options: Sequence[str] = (), harness_id: str = "") -> list[tuple[str, str]]:
    """(where it belongs, the text to put there) for each client, each with its own harness id.

    A `harness_id` that is none of theirs stands in all of them. Where `options` name the project, what all projects
    share is no good place for them, and the text says so.
    """
    from nexus_mcp.cli.spelling import quoted, quoted_list

    claude_code, codex, opencode = (
        _command(own if harness_id in ("", *CLIENTS) else harness_id, options) for own in CLIENTS
    )
    mcp_json = {"type": '"stdio"', "command": quoted(claude_code[0]), "args": quoted_list(claude_code[1:])}
    opencode_json = {"type": '"local"', "command": quoted_list(opencode), "enabled": "true"}
    is_of_one = PROJECT.name in options
    all_yours = "" if is_of_one else " (for all your projects: --scope user)"
    shared = ", which all your projects share: with these lines each of them uses this one" if is_of_one else ""
    return [
        (f"Claude Code, in a shell in the project{all_yours}", _claude_line(claude_code)),
        ("Claude Code, for everyone in the project: .mcp.json", _entry("mcpServers", mcp_json)),
        (
            f"Codex: ~/.codex/config.toml{shared}",
            "\n".join(
                (
                    f"[mcp_servers.{SERVER_NAME}]",
                    f"command = {quoted(codex[0])}",
                    f"args = {quoted_list(codex[1:])}",
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
    """A JSON document with one server; its values are JSON already."""
    members = ",\n".join(f'      "{name}": {value}' for name, value in server.items())
    return f'{{\n  "{section}": {{\n    "{SERVER_NAME}": {{\n{members}\n    }}\n  }}\n}}'
