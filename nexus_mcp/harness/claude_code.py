"""Define the harness Claude Code: the places of its files, and the rows of an installation."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from nexus_mcp.catalog.load import has_text
from nexus_mcp.catalog.tool_files import own_name
from nexus_mcp.harness import files, texts
from nexus_mcp.harness.definition import (
    AGENTS,
    HOOK_TIMEOUT_S,
    HOOKS,
    JSON,
    PROJECT,
    SERVER,
    SERVER_NAME,
    SKILLS,
    STATUS_LINE,
    USER,
    Double,
    Row,
    Site,
    SplicedEntry,
    Whole,
    our_command,
    our_hook,
    shows_status,
)
from nexus_mcp.harness.marks import add_mark
from nexus_mcp.harness.remote_mount import is_remote

if TYPE_CHECKING:
    from nexus_mcp.harness.definition import Harness, Request
    from nexus_mcp.harness.record import Record

ID = "claude-code"
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "SessionEnd",
)
STATUS_SECONDS = 5
"""Seconds between two starts of the status line. Claude Code's own events are not enough, because other programs change
tasks, too.
"""
_STATUS = "statusLine"
HOOK_TOOL = "hook"
"""The tool of `serve --hook-tool` (server/hook_tool.py)."""
_TOOL = ("tool_name", "tool_input", "agent_id", "agent_type")
_FAST = {
    "PreToolUse": ("pre_tool_use", _TOOL),
    "PostToolUse": ("post_tool_use", _TOOL),
    "PostToolUseFailure": ("post_tool_use", (*_TOOL, "is_interrupt")),
    "Stop": ("turn_end", ("stop_hook_active",)),
}
"""Event that can be a hook of type mcp_tool → (our event, its fields). All other events stay hooks of type command,
because a model that calls the tool itself would gain by forging them.
"""
_RESULT = (
    "Your last message is the result: Claude Code hands it to the lead, as the answer of the tool `Agent` or as a "
    "message when you have ended. The user does not see it, and nothing else of this conversation reaches the lead. So "
    "put everything that the lead needs into that one message."
)


class ClaudeCode:
    """Claude Code. Its user files are in CLAUDE_CONFIG_DIR or ~/.claude. The server of the user is in the file
    .claude.json, which is in CLAUDE_CONFIG_DIR or in the home folder.
    """

    id = ID
    title = "Claude Code"
    program = "claude"
    package = "@anthropic-ai/claude-code"
    no_fast_hooks = ""
    no_status_line = ""

    def rows(self, site: Site, request: Request, record: Record) -> list[Row]:
        rows: list[Row] = []
        if SERVER in request.parts:
            rows.append(SplicedEntry(SERVER, _server_file(site), JSON, ("mcpServers", SERVER_NAME), _server(request)))
        if HOOKS in request.parts:
            for event, group in hook_groups(request).items():
                rows.append(SplicedEntry(HOOKS, _settings(site), JSON, ("hooks", event), group, is_item=True))
            if request.fast_hooks:  # a denied tool is hidden from the model, and hooks can still call it
                name = own_name(texts.mount(request.catalog, ID, request.prefix), HOOK_TOOL)
                rows.append(SplicedEntry(HOOKS, _settings(site), JSON, ("permissions", "deny"), name, is_item=True))
        if AGENTS in request.parts:
            rows += agent_rows(request, os.path.join(_folder(site), "agents"))
        if SKILLS in request.parts:
            rows += skill_rows(request, os.path.join(_folder(site), "skills"), (ID, "opencode"))
        if STATUS_LINE in request.parts and request.remote is None:  # the status line shows the files of this machine
            line = shlex.join([*request.command, "status", "--line", *request.server_options])
            shown: dict[str, Any] = {"type": "command", "command": line, "refreshInterval": STATUS_SECONDS}
            rows.append(SplicedEntry(STATUS_LINE, _settings(site), JSON, (_STATUS,), shown))
        return rows

    def recognizes(self, value: Any) -> bool:
        if our_command(value) or is_remote(value) or our_hook(value, ID) or _is_fast_hook(value):
            return True
        return _is_denied_tool(value) or _is_status_line(value)

    def next_steps(self, site: Site, request: Request) -> list[str]:
        steps = []
        if SERVER in request.parts and site.scope == PROJECT:
            steps.append("Start claude in the project once, and approve the server nexus of .mcp.json.")
        if SERVER in request.parts:
            own = texts.mount(request.catalog, ID, request.prefix)
            names = ", ".join(json.dumps(name) for name in texts.reading_tools(request.catalog, own))
            shown = site.format_path(_settings(site))
            steps.append(
                "To let Claude Code read plan, tasks and history without asking, add to "
                f"permissions.allow in {shown}: {names}"
            )
        if STATUS_LINE in request.parts and site.scope == PROJECT:
            user = _settings(site._replace(scope=USER))
            if _has_other_status(user):
                text = "has a status line of its own: in this project Claude Code shows ours instead."
                steps.append(f"{site.format_path(user)} {text}")
        return steps

    def doubles(self, site: Site) -> list[Double]:
        found: dict[str, object] = {}
        local = os.path.join(site.root, ".claude", "settings.local.json")
        has_user = site.find_folder("CLAUDE_CONFIG_DIR", ".claude")
        scopes = (USER, PROJECT) if has_user else (PROJECT,)
        # A later file overrides an earlier one.
        for path in (*(_settings(site._replace(scope=scope)) for scope in scopes), local):
            enabled = files.read_settings(path).get("enabledPlugins")
            found |= enabled if isinstance(enabled, dict) else {}
        return [
            Double(part, f"the plugin {name}", f"Run claude plugin uninstall {name} first.")
            for name, is_on in found.items()
            if is_on and name.partition("@")[0] == SERVER_NAME
            for part in (SERVER, HOOKS, AGENTS, SKILLS)
        ]

    def notices(self, site: Site, record: Record) -> list[str]:
        found = []
        if files.read_settings(_settings(site)).get("disableAllHooks") is True:
            found.append(f"{site.format_path(_settings(site))} has disableAllHooks: hooks and status line do not run.")
        else:
            local = os.path.join(site.root, ".claude", "settings.local.json")
            if STATUS_LINE in record.parts(ID) and _has_other_status(local):
                found.append(f"{site.format_path(local)} has another status line: Claude Code shows that one.")
        if site.scope == PROJECT and SERVER in record.parts(ID) and (server := _local_server(site)):
            found.append(
                f"{site.format_path(server)} has a server {SERVER_NAME} for this project, and Claude Code starts that "
                f"one: run claude mcp remove {SERVER_NAME} -s local."
            )
        return found


def _server(request: Request) -> dict[str, Any]:
    if request.remote is not None:
        headers = {"Authorization": f"Bearer ${{{request.remote.variable}}}"}
        return {"type": "http", "url": request.remote.url, "headers": headers}
    first, *rest = request.serve_words(ID)
    return {"type": "stdio", "command": first, "args": rest}


def hook_groups(request: Request, *options: str) -> dict[str, dict[str, Any]]:
    """Return event → the entry for it in a table of hooks. `options` are more options of the command."""
    line = shlex.join([*request.hook_words(ID), *options])
    hook = {"type": "command", "command": line, "timeout": HOOK_TIMEOUT_S}
    fast = _fast_hooks(request)
    return {event: {"hooks": [fast.get(event, hook)]} for event in EVENTS}


def _fast_hooks(request: Request) -> dict[str, dict[str, Any]]:
    """Return event → its hook of type mcp_tool; {} without --fast-hooks.

    Claude Code fills in values at the first level only: `${tool_input}` arrives as JSON text, an absent field as "".
    """
    if not request.fast_hooks:
        return {}
    common = {"type": "mcp_tool", "server": SERVER_NAME, "tool": f"{request.prefix}{HOOK_TOOL}"}
    return {
        event: {
            **common,
            "input": {
                "event": ours,
                "gate": request.gate,
                "hook_event_name": event,
                **{name: f"${{{name}}}" for name in ("session_id", *fields)},
            },
            "timeout": HOOK_TIMEOUT_S,
        }
        for event, (ours, fields) in _FAST.items()
    }


def _is_fast_hook(value: Any) -> bool:
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(hooks, list) or len(hooks) != 1 or not isinstance(hooks[0], dict):
        return False
    one, tool = hooks[0], hooks[0].get("tool")
    is_ours = one.get("type") == "mcp_tool" and one.get("server") == SERVER_NAME
    return is_ours and isinstance(tool, str) and tool.endswith(HOOK_TOOL)


def _is_denied_tool(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(f"mcp__{SERVER_NAME}__") and value.endswith(HOOK_TOOL)


def skill_rows(request: Request, folder: str, readers: tuple[str, ...], mounts: texts.Mounts = texts.SAME) -> list[Row]:
    """Return a row for the SKILL.md of each skill that has a text. `readers` are the harnesses that read `folder`.

    `mounts` has the form of our tools' names in the notes of a harness, and the form to write instead.
    """
    naming = texts.skill_naming(request.catalog, readers, request.prefix, shlex.join(request.command))
    skills = {name: skill for name, skill in request.catalog.skills.items() if has_text(skill)}
    return [
        Whole(
            SKILLS,
            os.path.join(folder, name, "SKILL.md"),
            add_mark(texts.skill_file(request.catalog, name, naming, readers, mounts), "#"),
        )
        for name in skills
    ]


def agent_rows(request: Request, folder: str) -> list[Row]:
    """Return a row for the file, in `folder`, of each agent that has a text."""
    catalog = request.catalog
    naming = texts.naming_of(catalog, ID, request.prefix, shlex.join(request.command))
    rows: list[Row] = []
    for name, agent in texts.usable_agents(catalog).items():
        lines = [f"name: {name}", f"description: {json.dumps(agent['description'], ensure_ascii=False)}"]
        if model := request.models.of(agent):
            lines.append(f"model: {json.dumps(model, ensure_ascii=False)}")
        if tools := texts.exact_tools(catalog, name, ID, request.prefix):
            lines.append(f"disallowedTools: {', '.join(tools)}")
        text = texts.front_matter(lines, texts.role(catalog, name, naming, _RESULT))
        rows.append(Whole(AGENTS, os.path.join(folder, f"{name}.md"), add_mark(text, "#")))
    return rows


def _is_status_line(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "command" and shows_status(value.get("command"))


def _has_other_status(path: str) -> bool:
    """Return whether a file of settings has a status line that is not ours."""
    value = files.read_settings(path).get(_STATUS)
    return value is not None and not _is_status_line(value)


def _folder(site: Site) -> str:
    if site.scope == PROJECT:
        return os.path.join(site.root, ".claude")
    return site.folder("CLAUDE_CONFIG_DIR", ".claude")


def _server_file(site: Site) -> str:
    if site.scope == PROJECT:
        return os.path.join(site.root, ".mcp.json")
    return os.path.join(site.folder("CLAUDE_CONFIG_DIR"), ".claude.json")


def _local_server(site: Site) -> str:
    """Return the file in which `claude mcp add` keeps servers of a project, if one of these has our name; else ""."""
    folder = site.find_folder("CLAUDE_CONFIG_DIR")
    path = os.path.join(folder, ".claude.json") if folder else ""
    value: Any = files.read_settings(path) if path else {}
    for name in ("projects", site.root, "mcpServers"):
        value = value.get(name) if isinstance(value, dict) else None
    return path if isinstance(value, dict) and SERVER_NAME in value else ""


def _settings(site: Site) -> str:
    return os.path.join(_folder(site), "settings.json")


HARNESS: Harness = ClaudeCode()
