"""Define the harness OpenCode: the places of its files, and the rows of an installation."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from nexus_mcp.catalog.capabilities import forbidden_tools
from nexus_mcp.catalog.tool_files import ANY, own_name
from nexus_mcp.harness import files, texts
from nexus_mcp.harness.claude_code import skill_rows
from nexus_mcp.harness.definition import (
    AGENTS,
    HOOKS,
    JSON,
    PROJECT,
    SERVER,
    SERVER_NAME,
    SHARED_FOLDERS,
    SKILLS,
    USER,
    Double,
    Row,
    Site,
    SplicedEntry,
    Whole,
    our_command,
)
from nexus_mcp.harness.marks import add_mark
from nexus_mcp.harness.remote_mount import is_remote
from nexus_mcp.packaged import data_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.harness.definition import Harness, Request
    from nexus_mcp.harness.record import Record

ID = "opencode"
PLUGIN = "nexus.js"
COMMAND = '"__NEXUS_COMMAND__"'
"""Placeholder in the plugin's source for the command of the hook, an array of words."""
_SCHEMA = ("$schema",), "https://opencode.ai/config.json"
"""OpenCode adds this field to a configuration that lacks it. So a configuration that we create has it: else the
addition would look like an edit by hand.
"""
_SCHEMA_KEY = "/$schema"
_EDITING = ("write", "edit", "multiedit", "apply_patch", "patch")
"""The tools that OpenCode's permission `edit` covers."""
_RESULT = (
    "Your last message is the result: OpenCode hands it to the lead, as the answer of the tool `task`. The user does "
    "not see it, and nothing else of this conversation reaches the lead. So put everything that the lead needs into "
    "that one message."
)


class OpenCode:
    """OpenCode. Its user files are in XDG_CONFIG_HOME/opencode or ~/.config/opencode."""

    id = ID
    title = "OpenCode"
    program = "opencode"
    package = "opencode-ai"
    no_fast_hooks = "Its plugin keeps one process for all events already."
    no_status_line = "OpenCode has no setting for a command that fills a status line."

    def rows(self, site: Site, request: Request, record: Record) -> list[Row]:
        rows: list[Row] = []
        config = _config(site)
        part = SERVER if SERVER in request.parts else HOOKS
        if part in request.parts and (not os.path.lexists(config) or record.entry(site.key(config), _SCHEMA_KEY)):
            rows.append(SplicedEntry(part, config, JSON, *_SCHEMA))
        if SERVER in request.parts:
            rows.append(SplicedEntry(SERVER, config, JSON, ("mcp", SERVER_NAME), _server(request)))
        if HOOKS in request.parts:
            path = _plugin(site)
            rows.append(Whole(HOOKS, path, add_mark(_plugin_source(request), "//")))
            rows.append(SplicedEntry(HOOKS, config, JSON, ("plugin",), Path(path).as_uri(), is_item=True))
        if AGENTS in request.parts:
            rows += _agents(site, request)
        if SKILLS in request.parts:
            rows += _skills(site, request, record)
        return rows

    def recognizes(self, value: Any) -> bool:
        return our_command(value) or is_remote(value) or _is_our_plugin(value)

    def next_steps(self, site: Site, request: Request) -> list[str]:
        return ["Start opencode anew: it reads its configuration when it starts."]

    def doubles(self, site: Site) -> list[Double]:
        return []

    def notices(self, site: Site, record: Record) -> list[str]:
        return []


def _server(request: Request) -> dict[str, Any]:
    if request.remote is not None:
        headers = {"Authorization": f"Bearer {{env:{request.remote.variable}}}"}
        # With oauth, OpenCode would start a registration after a refused token instead of showing the status.
        return {"type": "remote", "url": request.remote.url, "headers": headers, "oauth": False, "enabled": True}
    return {"type": "local", "command": request.serve_words(ID), "enabled": True}


def _plugin_source(request: Request) -> str:
    with open(data_path("assets", "harnesses", ID, "plugin.js"), encoding="utf-8") as file:
        source = file.read()
    words = request.hook_words(ID, "--serve")
    return source.replace(COMMAND, json.dumps(words, ensure_ascii=False), 1)


def _agents(site: Site, request: Request) -> list[Row]:
    catalog = request.catalog
    naming = texts.naming_of(catalog, ID, request.prefix, shlex.join(request.command))
    rows: list[Row] = []
    for name, agent in texts.usable_agents(catalog).items():
        lines = [f"description: {json.dumps(agent['description'], ensure_ascii=False)}", "mode: subagent"]
        if model := request.models.of(agent):
            lines.append(f"model: {json.dumps(model, ensure_ascii=False)}")
        if denied := _denials_for(request, name):
            lines += ["permission:", *(f"  {json.dumps(tool)}: deny" for tool in denied)]
        text = texts.front_matter(lines, texts.role(catalog, name, naming, _RESULT))
        rows.append(Whole(AGENTS, os.path.join(_folder(site), "agents", f"{name}.md"), add_mark(text, "#")))
    return rows


def _denials_for(request: Request, agent: str) -> list[str]:
    """Return the permissions, which may be patterns, that OpenCode has to deny to the agent."""
    own = texts.mount(request.catalog, ID, request.prefix)
    bare = texts.mount(request.catalog, ID, "")
    start = bare.split(ANY, 1)[0]
    names = []
    for name in forbidden_tools(request.catalog, agent, ID):
        if name in _EDITING:
            names.append("edit")
        elif name.startswith(start) and ANY not in name:
            names.append(own_name(own, name.removeprefix(start)))
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def _skills(site: Site, request: Request, record: Record) -> list[Row]:
    """Return the rows of the skills: in the folder of another harness if our skills are in it, because OpenCode reads
    that folder, too; else in OpenCode's own folder.
    """
    for folder in SHARED_FOLDERS:
        base = os.path.join(site.root if site.scope == PROJECT else site.home, *folder.split("/"))
        owner = "claude-code" if folder.startswith(".claude") else "codex"
        begin = site.key(os.path.join(base, ""))
        if any(
            path.startswith(f"{begin.rstrip('/')}/") and owner in row["owners"] for path, row in record.files.items()
        ):
            return skill_rows(request, base, (owner, ID))
    return skill_rows(request, os.path.join(_folder(site), "skill"), (ID,))


def _folder(site: Site) -> str:
    if site.scope == PROJECT:
        return os.path.join(site.root, ".opencode")
    return os.path.join(site.folder("XDG_CONFIG_HOME", ".config"), "opencode")


def _config(site: Site) -> str:
    """Return the path of opencode.jsonc if it exists, because it overrides opencode.json, else of opencode.json."""
    folder = site.root if site.scope == PROJECT else _folder(site)
    path = os.path.join(folder, "opencode.jsonc")
    return path if os.path.lexists(path) else os.path.join(folder, "opencode.json")


def _plugin(site: Site) -> str:
    """Return the path of our plugin, which is not in a folder whose plugins OpenCode loads automatically."""
    if site.scope == PROJECT:
        return os.path.join(site.root, ".nexus", "opencode", PLUGIN)
    return os.path.join(_folder(site), "nexus", PLUGIN)


def loads_plugin(root: str, environ: Mapping[str, str]) -> bool:
    """Return whether OpenCode, started in `root`, loads our plugin from a configuration that `install` wrote."""
    for scope in (PROJECT, USER):
        site = Site(scope, root, environ)
        if scope == USER and not site.find_folder("XDG_CONFIG_HOME", ".config"):
            continue
        plugins = files.read_settings(_config(site)).get("plugin")
        found = [one for one in plugins if _is_our_plugin(one)] if isinstance(plugins, list) else []
        if any(os.path.isfile(unquote(urlsplit(one).path)) for one in found):
            return True
    return False


def _is_our_plugin(value: Any) -> bool:
    ends = (f"/.nexus/opencode/{PLUGIN}", f"/opencode/nexus/{PLUGIN}")
    return isinstance(value, str) and value.startswith("file://") and value.endswith(ends)


HARNESS: Harness = OpenCode()
