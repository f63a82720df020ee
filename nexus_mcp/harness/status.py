"""Report the installed parts of a harness in each scope, and their faults."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import files, marks
from nexus_mcp.harness.definition import SCOPES, SERVER, SERVER_NAME
from nexus_mcp.harness.installing import read_record

if TYPE_CHECKING:
    from nexus_mcp.harness.definition import Harness, Site
    from nexus_mcp.harness.record import Record

_WAIT_S = 5
_UNKNOWN = "of an unknown version"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "nexus-mcp install", "version": "1"},
    },
}


def status(harness: Harness, site: Site) -> dict[str, Any]:
    """Return id, title, version ("" when not found), scopes (parts, notices, answers), plugins and doubles.

    plugins: place → its parts. doubles: a line for each part that is there twice.
    """
    scopes = {scope: _scope(harness, site._replace(scope=scope)) for scope in SCOPES}
    sets = [set(row["parts"]) for row in scopes.values()]
    doubles = [f"{part} in both scopes" for part in sorted(set.intersection(*sets))]
    plugins: dict[str, list[str]] = {}
    for one in harness.doubles(site):
        plugins.setdefault(one.place, []).append(one.part)
        if one.part in set.union(*sets):
            doubles.append(f"{one.part} here and in {one.place}. Run nexus-mcp uninstall {harness.id}, or remove it.")
    return {
        "id": harness.id,
        "title": harness.title,
        "version": find_version(harness, site.environ.get("PATH", "")),
        "scopes": scopes,
        "plugins": plugins,
        "doubles": doubles,
    }


def find_version(harness: Harness, path: str) -> str:
    """Return the version of the program on the PATH, "" without one."""
    program = shutil.which(harness.program, path=path)
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - the program of the harness, as the PATH has it
            [program, "--version"], capture_output=True, text=True, timeout=_WAIT_S, check=False
        )
    except OSError:
        return "does not start"
    except subprocess.TimeoutExpired:  # a first start on a busy machine, perhaps
        return _UNKNOWN
    words = [word for word in done.stdout.split() if word[:1].isdigit()]
    return words[0] if words else _UNKNOWN


def drift(site: Site, record: Record, harness: str) -> list[str]:
    """Return the generated files of a harness that are missing or were edited by hand."""
    found = []
    for key in record.owned_files(harness):
        path = site.path(key)
        try:
            data = files.look(path, site.within).data
        except InstallRefused as error:
            found += error.faults
            continue
        if data is None:
            found.append(f"{site.shown(path)} is missing.")
        elif marks.digest(data) != record.files[key]["hash"]:
            found.append(f"{site.shown(path)} was edited by hand.")
    return found


def _scope(harness: Harness, site: Site) -> dict[str, Any]:
    try:
        record = read_record(site)
        parts = record.parts(harness.id)
        notices = [*drift(site, record, harness.id), *harness.notices(site, record)] if parts else []
    except InstallRefused as error:
        return {"parts": [], "notices": error.faults, "answers": None}
    words = _server_words(site, record, harness.id) if SERVER in parts else []
    return {"parts": parts, "notices": notices, "answers": _answers(words, site.root) if words else None}


def _server_words(site: Site, record: Record, harness: str) -> list[str]:
    for key, pointer in record.owned_entries(harness):
        if record.entries[key][pointer]["part"] != SERVER:
            continue
        value: Any = files.read_settings(site.path(key))
        for name in pointer.split("/")[1:]:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, dict):
            command = value.get("command")
            arguments = value.get("args")
            words = [*(command if isinstance(command, list) else [command]), *(arguments or [])]
            return [word for word in words if isinstance(word, str)]
    return []


def _answers(words: list[str], root: str) -> bool:
    """Return whether the server starts and answers."""
    try:
        done = subprocess.run(  # noqa: S603 - the words of the configuration, which the harness runs too
            words,
            input=json.dumps(_HELLO) + "\n",
            capture_output=True,
            text=True,
            timeout=_WAIT_S,
            cwd=root,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return f'"{SERVER_NAME}' in done.stdout and os.linesep in done.stdout
