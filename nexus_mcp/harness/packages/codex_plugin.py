"""Make the plugin for Codex: server, hooks and skills, with a marketplace that offers it. Codex loads no agents from a
plugin.

`.codex-plugin/plugin.json` names `.mcp.json`, which has the server. Codex also accepts `plugin.json` and `mcp.json` in
the root of the plugin, but then Codex starts the server in its own cache folder, outside of the project, and drops a
command that is an absolute path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.harness import codex
from nexus_mcp.harness.claude_code import skill_rows
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

_CATEGORY = "Productivity"
_README = f"""# nexus-mcp for Codex

{DESCRIPTION}.

The plugin mounts the server `{SERVER_NAME}`, connects its hooks, and brings its skills. It starts the program
`{{command}}`, which you install first; without it the hooks fail and the server does not start. The state is in the
folder `.nexus` of your project.

Type `/hooks` in Codex and trust the hooks; until then Codex skips them. Codex takes no agents from a plugin:
`nexus-mcp install codex --with agents` brings them.

Type `[plan]` and what you want to do. `[run]` carries out the tasks. `codex plugin remove {PLUGIN}@{MARKETPLACE}`
removes the plugin; plans, tasks and history stay.
"""


class CodexPlugin:
    """A marketplace of one plugin."""

    id = "codex"
    title = "The plugin for Codex"
    harness = codex.ID
    has_program = False

    def files(self, order: Order) -> dict[str, bytes]:
        request = order.request
        plugin = {
            ".codex-plugin/plugin.json": json_file(_manifest()),
            ".mcp.json": server_file(request, self.harness),
            "hooks/hooks.json": json_file(
                {"hooks": {name: [group] for name, group in codex.hook_groups(request, OF_A_PLUGIN).items()}}
            ),
            **generate(skill_rows(request, "skills", (self.harness,))),
            "README.md": _README.replace("{command}", request.command[0]).encode(),
        }
        return {".agents/plugins/marketplace.json": json_file(_marketplace()), **in_plugin(plugin)}

    def next_steps(self, folder: str) -> Sequence[str]:
        return (
            f"codex plugin marketplace add {shell_line([folder])}",
            f"codex plugin add {PLUGIN}@{MARKETPLACE}",
            "Type /hooks in codex and trust the hooks of nexus-mcp. Until then Codex skips them silently.",
            "nexus-mcp install codex --with agents brings the agents, because Codex takes no agents from a plugin.",
        )


def _manifest() -> dict[str, object]:
    parts = {"mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json", "skills": "./skills/"}
    shown = {
        "displayName": "Nexus",
        "shortDescription": DESCRIPTION,
        "developerName": AUTHOR,
        "category": _CATEGORY,
    }
    return {**identity(), **parts, "interface": shown}


def _marketplace() -> dict[str, object]:
    entry = {
        "name": PLUGIN,
        "source": {"source": "local", "path": f"./{PLUGIN_FOLDER}"},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": _CATEGORY,
    }
    return {"name": MARKETPLACE, "interface": {"displayName": "Nexus"}, "plugins": [entry]}


PACKAGE: Package = CodexPlugin()
