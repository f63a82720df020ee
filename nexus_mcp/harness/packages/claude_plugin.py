"""Make the plugin for Claude Code: server, hooks, agents and skills, with a marketplace that offers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.catalog.tool_files import ANY
from nexus_mcp.harness import claude_code, texts
from nexus_mcp.harness.definition import SERVER_NAME
from nexus_mcp.harness.packages.definition import (
    AUTHOR,
    DESCRIPTION,
    MARKETPLACE,
    OF_A_PLUGIN,
    PLUGIN,
    PLUGIN_FOLDER,
    Order,
    Package,
    generate,
    identity,
    in_plugin,
    json_file,
    server_file,
)
from nexus_mcp.program import shell_line

if TYPE_CHECKING:
    from collections.abc import Sequence

MOUNT = f"mcp__plugin_{PLUGIN}_{SERVER_NAME}__"
"""The prefix that Claude Code gives to the tools of a server that a plugin mounts."""
_README = f"""# nexus-mcp for Claude Code

{DESCRIPTION}.

The plugin mounts the server `{SERVER_NAME}`, connects its hooks, and brings its agents and skills. It starts the
program `{{command}}`, which you install first; without it the hooks fail and the server does not start. The state is in
the folder `.nexus` of your project.

Type `[plan]` and what you want to do. `[run]` carries out the tasks. `claude plugin uninstall {PLUGIN}` removes the
plugin; plans, tasks and history stay.
"""


class ClaudePlugin:
    """A marketplace of one plugin."""

    id = "claude"
    title = "The plugin for Claude Code"
    harness = claude_code.ID
    has_program = False

    def files(self, order: Order) -> dict[str, bytes]:
        shipped = order.request.catalog
        mounts = texts.Mounts(shipped.maps[self.harness]["nexus_tools"], MOUNT + ANY)
        request = order.request._replace(catalog=texts.with_mount(shipped, self.harness, MOUNT), mount=MOUNT)
        plugin = {
            ".claude-plugin/plugin.json": json_file(identity()),
            ".mcp.json": server_file(request, self.harness),
            "hooks/hooks.json": json_file(
                {"hooks": {name: [group] for name, group in claude_code.hook_groups(request, OF_A_PLUGIN).items()}}
            ),
            **generate(claude_code.agent_rows(request, "agents")),
            **generate(claude_code.skill_rows(request, "skills", (self.harness,), mounts)),
            "README.md": _README.replace("{command}", request.command[0]).encode(),
        }
        return {".claude-plugin/marketplace.json": json_file(_marketplace()), **in_plugin(plugin)}

    def next_steps(self, folder: str) -> Sequence[str]:
        return (
            f"claude plugin marketplace add {shell_line([folder])}",
            f"claude plugin install {PLUGIN}@{MARKETPLACE}",
        )


def _marketplace() -> dict[str, object]:
    entry = {"name": PLUGIN, "source": f"./{PLUGIN_FOLDER}", "description": DESCRIPTION}
    return {
        "name": MARKETPLACE,
        "owner": {"name": AUTHOR},
        "metadata": {"description": DESCRIPTION},
        "plugins": [entry],
    }


PACKAGE: Package = ClaudePlugin()
