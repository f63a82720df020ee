"""`nexus-mcp serve`: run the MCP server on stdin and stdout, or over HTTP."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli.options import Command, Option, parse_count
from nexus_mcp.cli.workspace_options import (
    HARNESS_ID,
    MOUNT,
    PROJECT,
    TOOL_PREFIX,
    check_prefix,
    shared_state,
    workspace_from,
)
from nexus_mcp.errors import UsageError
from nexus_mcp.log import FORMATS, LEVELS, info, is_json, set_format, set_level
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, check_harness_id, find_root, misplaced_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

LOG_VARIABLE = "NEXUS_LOG"
FORMAT_VARIABLE = "NEXUS_LOG_FORMAT"
LOG_LEVEL = Option("--log-level", "LEVEL", "debug, info, warning or error (default: warning)", LEVELS)
LOG_FORMAT = Option("--log-format", "FORMAT", "text or json: one object a line (default: text)", FORMATS)
SDK = Option("--sdk", "", "serve through the official SDK, not our own loop")
HOOK_TOOL = Option("--hook-tool", "", "offer a tool that hooks of the harness call")
HTTP = Option("--http", "HOST:PORT", "serve over HTTP on this address")
PROJECTS = Option("--projects", "FILE", "over HTTP: the projects, one [NAME=]PATH a line")
STATELESS = Option("--stateless", "", "over HTTP: keep no sessions")
TOKENS = Option("--tokens", "FILE", "over HTTP: the token file")
ALLOW_HOST = Option("--allow-host", "HOST", "over HTTP: accept this Host header", many=True)
ALLOW_ORIGIN = Option("--allow-origin", "URL", "over HTTP: accept pages of this origin", many=True)
CERTFILE = Option("--certfile", "FILE", "over HTTP: the certificate, with its chain")
KEYFILE = Option("--keyfile", "FILE", "over HTTP: the key of the certificate")
BEHIND_PROXY = Option("--behind-proxy", "", "over HTTP: a proxy of yours does TLS")
RATE = Option("--rate", "N", "over HTTP: requests a minute of a token; 0: no limit")
CONNECTIONS = Option("--max-connections", "N", "over HTTP: open connections (default: 2000)")
FORWARDED_FROM = Option("--forwarded-from", "ADDR", "behind a proxy: trust its X-Forwarded headers", many=True)
OAUTH_ISSUER = Option("--oauth-issuer", "URL", "over HTTP: accept the access tokens of this issuer")
OAUTH_AUDIENCE = Option("--oauth-audience", "URL", "OAuth: the URL of this server, which tokens name")
OAUTH_JWKS = Option("--oauth-jwks", "URL", "OAuth: the issuer's keys (default: from metadata)")
OAUTH_PLAIN = Option("--oauth-plain-jwt", "", "OAuth: also accept tokens of type JWT or of no type")
OAUTH_ONLY = Option("--oauth-only", "", "OAuth: accept no other tokens")
OAUTH = (OAUTH_AUDIENCE, OAUTH_JWKS, OAUTH_PLAIN, OAUTH_ONLY)
OVER_HTTP = (
    PROJECTS,
    STATELESS,
    TOKENS,
    ALLOW_HOST,
    ALLOW_ORIGIN,
    CERTFILE,
    KEYFILE,
    BEHIND_PROXY,
    RATE,
    CONNECTIONS,
    FORWARDED_FROM,
    OAUTH_ISSUER,
    *OAUTH,
)
_MOST = 1_000_000

WAITING = "nexus-mcp waits for an MCP client on stdin; Ctrl-D or Ctrl-C stops it. nexus-mcp init shows how to mount it."


def run(values: Values) -> int:
    """Serve on stdin and stdout until stdin ends, the client goes away or a signal comes; over HTTP until a signal.

    Return the exit code. Raise UsageError for a wrong option or variable.
    """
    set_format(_choice(values, LOG_FORMAT, FORMAT_VARIABLE, "text"))
    set_level(_choice(values, LOG_LEVEL, LOG_VARIABLE, "warning"))
    prefix = check_prefix(values.get(TOOL_PREFIX.name, ""))
    if HTTP.name in values:
        return _serve_http(values, prefix)
    for option in OVER_HTTP:
        if option.name in values or values.lists.get(option.name):
            raise UsageError(f"{option.name} needs {HTTP.name}.", next_step="Example: --http 127.0.0.1:8750")
    workspace = workspace_from(values)
    outside = misplaced_in(values.get(PROJECT.name), os.environ, os.getcwd())
    from nexus_mcp.server.app import App

    app = App(workspace, prefix, outside=outside, has_hook_tool=HOOK_TOOL.name in values)
    info(f"serving {workspace.root} as {workspace.harness_id}{', outside of a project' if outside else ''}")
    if os.isatty(0) and not is_json():
        print(WAITING, file=sys.stderr)
    if SDK.name in values:
        from nexus_mcp.server.sdk import serve_sdk

        return serve_sdk(app)
    from nexus_mcp.server.stdio import serve

    return serve(app)


def _serve_http(values: Values, prefix: str) -> int:
    for option in (SDK, HOOK_TOOL, MOUNT):
        if option.name in values:
            raise UsageError(f"{option.name} and {HTTP.name} exclude each other.")
    if PROJECT.name in values and PROJECTS.name in values:
        raise UsageError(f"{PROJECT.name} and {PROJECTS.name} exclude each other.", next_step="Use one of them.")
    for option in OAUTH:
        if option.name in values and OAUTH_ISSUER.name not in values:
            raise UsageError(f"{option.name} needs {OAUTH_ISSUER.name}.", next_step="Name the issuer of the tokens.")
    from dataclasses import replace

    from nexus_mcp.server.app import App
    from nexus_mcp.server.http import address
    from nexus_mcp.server.http.oauth.settings import OAuthSettings
    from nexus_mcp.server.http.serve import serve_http
    from nexus_mcp.server.http.service import Settings
    from nexus_mcp.workspace import Workspace

    harness_id = check_harness_id(values.get(HARNESS_ID.name, DEFAULT_HARNESS_ID))

    def open_workspace(path: str) -> Workspace:
        root = find_root(path, {}, "/")
        return Workspace(root, harness_id, shared_state(root))

    settings = Settings(
        place=address.parse(values[HTTP.name], HTTP.name),
        project="" if PROJECTS.name in values else workspace_from(values).root,
        projects=values.get(PROJECTS.name, ""),
        is_stateless=STATELESS.name in values,
        token_file=values.get(TOKENS.name, ""),
        hosts=tuple(values.lists[ALLOW_HOST.name]),
        origins=tuple(values.lists[ALLOW_ORIGIN.name]),
        certfile=values.get(CERTFILE.name, ""),
        keyfile=values.get(KEYFILE.name, ""),
        is_behind_proxy=BEHIND_PROXY.name in values,
        forwarded_from=tuple(values.lists[FORWARDED_FROM.name]),
        rate=parse_count(values[RATE.name], RATE.name, _MOST, least=0) if RATE.name in values else None,
    )
    if OAUTH_ISSUER.name in values:
        oauth = OAuthSettings(
            issuer=values[OAUTH_ISSUER.name],
            audience=values.get(OAUTH_AUDIENCE.name, ""),
            jwks=values.get(OAUTH_JWKS.name, ""),
            accepts_plain=OAUTH_PLAIN.name in values,
        )
        settings = replace(settings, oauth=oauth, has_oauth_only=OAUTH_ONLY.name in values)
    if CONNECTIONS.name in values:
        settings = replace(settings, connections=parse_count(values[CONNECTIONS.name], CONNECTIONS.name, _MOST))
    return serve_http(settings, open_workspace, lambda workspace: App(workspace, prefix), prefix=prefix)


def _choice(values: Values, option: Option, variable: str, default: str) -> str:
    """Return the option, else the environment variable (empty counts as unset), else the default. Raise UsageError."""
    if option.name in values:
        return values[option.name]
    return option.check(os.environ.get(variable) or default, variable)


COMMAND = Command(
    "serve",
    "speak MCP on stdin and stdout, or over HTTP",
    "Serves the tools to the client that started it, over stdin and stdout, until\n"
    "stdin ends. With --http it serves several clients until Ctrl-C, at /mcp, or\n"
    "with --projects at /p/NAME/mcp. If only this machine can reach it, it prints a\n"
    "token for them, except with --oauth-only. Logs go to stderr.",
    (PROJECT, HARNESS_ID, TOOL_PREFIX, MOUNT, LOG_LEVEL, LOG_FORMAT, SDK, HOOK_TOOL, HTTP, *OVER_HTTP),
    run,
    examples=(
        ("nexus-mcp serve --harness-id claude-code", "serve the repository around you to Claude Code"),
        ("nexus-mcp serve --project ~/shop --log-level info", "serve another project, and log refused calls"),
        ("nexus-mcp serve --http 127.0.0.1:8750", "serve the project to several clients of this machine"),
    ),
)
