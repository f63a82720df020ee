"""Define the harness Codex: the places of its files, and the rows of an installation."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from nexus_mcp.harness import files, texts
from nexus_mcp.harness.claude_code import skill_rows
from nexus_mcp.harness.codex_trust import untrusted_hooks
from nexus_mcp.harness.definition import (
    AGENTS,
    HOOK_TIMEOUT_S,
    HOOKS,
    JSON,
    PROJECT,
    SERVER,
    SERVER_NAME,
    SKILLS,
    TOML,
    Double,
    Row,
    Site,
    SplicedEntry,
    Whole,
    our_command,
    our_hook,
)
from nexus_mcp.harness.marks import add_mark
from nexus_mcp.harness.remote_mount import is_remote

if TYPE_CHECKING:
    from nexus_mcp.harness.definition import Harness, Request
    from nexus_mcp.harness.record import Record

ID = "codex"
EVENTS = {
    "SessionStart": HOOK_TIMEOUT_S,
    "UserPromptSubmit": HOOK_TIMEOUT_S,
    "PreToolUse": HOOK_TIMEOUT_S,
    "PostToolUse": HOOK_TIMEOUT_S,
    "SubagentStart": HOOK_TIMEOUT_S,
    "SubagentStop": HOOK_TIMEOUT_S,
    "Stop": HOOK_TIMEOUT_S,
    "PreCompact": HOOK_TIMEOUT_S,
    "SessionEnd": 3,
}
"""Event → timeout in seconds. Codex waits at most three seconds for a hook of SessionEnd."""
START_TIMEOUT_S = 20
_RESULT = (
    "Your last message is the result: Codex hands it to the lead, which waits for it with `wait_agent`. The user does "
    "not see it, and nothing else of this conversation reaches the lead. So put everything that the lead needs into "
    "that one message."
)


class Codex:
    """Codex. Its user files are in CODEX_HOME or ~/.codex, the skills of the user in ~/.agents."""

    id = ID
    title = "Codex"
    program = "codex"
    package = "@openai/codex"
    no_fast_hooks = "Codex cannot hide the hook tool from the model: disabling the tool disables the hooks, too."
    no_status_line = "Codex builds its status line itself."

    def rows(self, site: Site, request: Request, record: Record) -> list[Row]:
        rows: list[Row] = []
        if SERVER in request.parts:
            pointer = ("mcp_servers", SERVER_NAME)
            config = os.path.join(_folder(site), "config.toml")
            rows.append(SplicedEntry(SERVER, config, TOML, pointer, _server(request)))
        if HOOKS in request.parts:
            for event, group in hook_groups(request).items():
                rows.append(SplicedEntry(HOOKS, _hooks_file(site), JSON, ("hooks", event), group, is_item=True))
        if AGENTS in request.parts:
            rows += _agents(site, request)
        if SKILLS in request.parts:
            base = site.root if site.scope == PROJECT else site.home
            rows += skill_rows(request, os.path.join(base, ".agents", "skills"), (ID, "opencode"))
        return rows

    def recognizes(self, value: Any) -> bool:
        return our_command(value) or is_remote(value) or our_hook(value, ID)

    def next_steps(self, site: Site, request: Request) -> list[str]:
        steps = []
        if site.scope == PROJECT:
            steps.append("Start codex in the project and trust it: Codex reads .codex/ in trusted projects only.")
        if HOOKS in request.parts:
            steps.append(
                "Type /hooks in codex and trust the hooks of nexus-mcp. Until then Codex skips them silently, "
                "and after each change of the hooks it skips them again."
            )
        return steps

    def doubles(self, site: Site) -> list[Double]:
        plugins = _user_settings(site).get("plugins")
        found = []
        for name, settings in plugins.items() if isinstance(plugins, dict) else ():
            is_on = not isinstance(settings, dict) or settings.get("enabled", True) is not False
            if is_on and name.partition("@")[0] == SERVER_NAME:
                step = f"Run codex plugin remove {name} first, or install the agents alone: --with agents."
                found += [Double(part, f"the plugin {name}", step) for part in (SERVER, HOOKS, SKILLS)]
        return found

    def notices(self, site: Site, record: Record) -> list[str]:
        settings, path = _user_settings(site), _hooks_file(site)
        found: list[str] = []
        if any(row["part"] == HOOKS and row["owner"] == ID for row in record.entries.get(site.key(path), {}).values()):
            found += untrusted_hooks(settings, path, files.read_settings(path), ID)
        if site.scope == PROJECT and ID in record.installed and not _is_trusted(settings, site.root):
            found.append("Codex does not trust this project, and reads nothing of .codex/: start codex in the project.")
        return found


def hook_groups(request: Request, *options: str) -> dict[str, dict[str, Any]]:
    """Return event → the entry for it in a table of hooks. `options` are more options of the command."""
    line = shlex.join([*request.hook_words(ID), *options])
    return {
        event: {"hooks": [{"type": "command", "command": line, "timeout": timeout}]}
        for event, timeout in EVENTS.items()
    }


def _server(request: Request) -> dict[str, Any]:
    names = [f"{request.prefix}{name}" for name in texts.reading_tools(request.catalog)]
    first, *rest = request.serve_words(ID)
    place = {"command": first, "args": rest}
    if request.remote is not None:
        place = {"url": request.remote.url, "bearer_token_env_var": request.remote.variable}
    return {
        **place,
        "required": True,
        "startup_timeout_sec": START_TIMEOUT_S,
        "tools": {name: {"approval_mode": "approve"} for name in names},
    }


def _agents(site: Site, request: Request) -> list[Row]:
    catalog = request.catalog
    naming = texts.naming_of(catalog, ID, request.prefix, shlex.join(request.command))
    rows: list[Row] = []
    for name, agent in texts.usable_agents(catalog).items():
        fields = {"name": name, "description": agent["description"]}
        if model := request.models.of(agent):
            fields["model"] = model
        lines = [f"{field} = {_literal(value)}" for field, value in fields.items()]
        text = _multiline(texts.role(catalog, name, naming, _RESULT))
        whole = "\n".join((*lines, f"developer_instructions = {text}", ""))
        rows.append(Whole(AGENTS, os.path.join(_folder(site), "agents", f"{name}.toml"), add_mark(whole, "#")))
    return rows


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _multiline(text: str) -> str:
    """Return a text as a TOML string, a multi-line one if that needs no escapes."""
    is_plain = "'''" not in text and not text.endswith("'")
    if is_plain and all(char.isprintable() or char in "\n\t" for char in text):
        return f"'''\n{text}'''"
    return _literal(text)


def _folder(site: Site) -> str:
    return os.path.join(site.root, ".codex") if site.scope == PROJECT else site.folder("CODEX_HOME", ".codex")


def _hooks_file(site: Site) -> str:
    return os.path.join(_folder(site), "hooks.json")


def _user_settings(site: Site) -> dict[str, Any]:
    folder = site.find_folder("CODEX_HOME", ".codex")
    return files.read_settings(os.path.join(folder, "config.toml")) if folder else {}


def _is_trusted(settings: dict[str, Any], root: str) -> bool:
    projects = settings.get("projects")
    row = projects.get(root) if isinstance(projects, dict) else None
    return isinstance(row, dict) and row.get("trust_level") == "trusted"


HARNESS: Harness = Codex()
