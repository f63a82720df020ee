"""Report the installed parts of a harness in each scope, and their faults."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import files, marks
from nexus_mcp.harness.definition import (
    ALL_PARTS,
    HOOKS,
    SCOPES,
    SERVER,
    SERVER_NAME,
    STATUS_LINE,
    USER,
    pointer_of,
)
from nexus_mcp.harness.installing import read_record
from nexus_mcp.harness.plain_read import read_plain
from nexus_mcp.harness.record import hashes
from nexus_mcp.harness.remote_mount import fault_of, mount_of, token_notice
from nexus_mcp.log import printable
from nexus_mcp.program import is_own_program, own_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.harness.definition import Harness, Site
    from nexus_mcp.harness.record import Record

_WAIT_S = 5
_UNKNOWN = "of an unknown version"
_PLUGIN_WORDS = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)
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
    """Return id, title, version (of find_version), scopes, plugins and doubles.

    scopes: scope → its parts, its notices, and `answers`: whether the server answers, None if it was not started.
    plugins: place → its parts. doubles: a line for each part that is installed twice, and one for a program that the
    PATH has several times.
    """
    scopes = {scope: _scope(harness, site._replace(scope=scope)) for scope in SCOPES}
    sets = [set(row["parts"]) for row in scopes.values()]
    doubles = [f"{part} in both scopes" for part in sorted(set.intersection(*sets))]
    plugins: dict[str, list[str]] = {}
    for one in harness.doubles(site):
        plugins.setdefault(one.place, []).append(one.part)
        if one.part in set.union(*sets):
            step = f"Run nexus-mcp uninstall {harness.id}, or remove {one.place}."
            doubles.append(f"{one.part} by nexus-mcp install and by {one.place}. {step}")
    found = find_versions(harness, site.environ.get("PATH", ""))
    if len(found) > 1:
        doubles.append("the program: " + ", ".join(f"{version} in {printable(path)}" for path, version in found))
    return {
        "id": harness.id,
        "title": harness.title,
        "version": found[0][1] if found else "",
        "scopes": scopes,
        "plugins": plugins,
        "doubles": doubles,
    }


def find_version(harness: Harness, path: str) -> str:
    """Return the version of the harness's program on the PATH, a phrase if it is unknown, "" without a program."""
    program = shutil.which(harness.program, path=path)
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - the program of the harness, as the PATH has it
            [program, "--version"], capture_output=True, text=True, timeout=_WAIT_S, check=False
        )
    except OSError:
        return "does not start"
    except subprocess.TimeoutExpired:  # the first start may be slow on a busy machine
        return _UNKNOWN
    words = [word for word in done.stdout.split() if word[:1].isdigit()]
    return words[0] if words else _UNKNOWN


def find_versions(harness: Harness, path: str) -> list[tuple[str, str]]:
    """Return (path, version) of each different program of the harness on the PATH; the shell starts the first one."""
    found: dict[str, tuple[str, str]] = {}
    for folder in path.split(os.pathsep):
        program = shutil.which(harness.program, path=folder) if folder else None
        if program is not None:
            found.setdefault(os.path.realpath(program), (program, find_version(harness, folder)))
    return [*found.values()]


def missing_commands(site: Site, record: Record, harness: str) -> list[str]:
    """Return a sentence for each missing program that an installed entry or plugin starts."""
    words: dict[str, str] = {}
    for key, pointer, value in _own_values(site, record, harness):
        part = record.entries[key][pointer]["part"]
        line = _words_of(value)
        if part in (SERVER, HOOKS, STATUS_LINE) and line:
            words.setdefault(line[0], f"{site.format_path(site.path(key))}")
    for key in record.owned_files(harness):
        if record.files[key]["part"] == HOOKS and (found := _PLUGIN_WORDS.search(_text(site.path(key)))):
            with suppress(ValueError):
                words.setdefault(json.loads(found[1])[0], site.format_path(site.path(key)))
    path = site.environ.get("PATH", "")
    return [
        f"{place} starts {printable(word)}, which is not there. Run nexus-mcp install {harness} again."
        for word, place in words.items()
        if shutil.which(word, path=path) is None
    ]


def drift(site: Site, record: Record, harness: str) -> list[str]:
    """Return a sentence for each recorded entry or file of a harness that is missing, was edited or cannot be read."""
    found = [
        f"{'.'.join(pointer_of(pointer)[0])} in {site.format_path(site.path(key))} is missing or was edited by hand."
        for key, pointer, value in _own_values(site, record, harness)
        if value is None
    ]
    for key in record.owned_files(harness):
        path = site.path(key)
        try:
            data = files.look(path, site.within).data
        except InstallRefused as error:
            found += error.faults
            continue
        if data is None:
            found.append(f"{site.format_path(path)} is missing.")
        elif marks.digest(data) not in hashes(record.files[key]):
            found.append(f"{site.format_path(path)} was edited by hand.")
    return found


def _own_values(site: Site, record: Record, harness: str) -> Iterator[tuple[str, str, Any]]:
    """Yield (key of the path, pointer, present value) of the recorded entries; None as the value of an entry that has
    changed or is missing.
    """
    settings: dict[str, Any] = {}
    for key, pointer in record.owned_entries(harness):
        if key not in settings:
            settings[key] = files.read_settings(site.path(key))
        parts, is_item = pointer_of(pointer)
        value = settings[key]
        for name in parts:
            value = value.get(name) if isinstance(value, dict) else None
        there = (value if isinstance(value, list) else []) if is_item else [value]
        known = hashes(record.entries[key][pointer])
        yield key, pointer, next((one for one in there if marks.value_digest(one) in known), None)


def _words_of(value: Any) -> list[str]:
    """Return the command of an entry as words; [] for an entry without a command."""
    if not isinstance(value, dict):
        return []
    hooks = value.get("hooks")
    is_status = value.get("type") == "command" and "args" not in value
    if isinstance(hooks, list) or is_status:
        first = value if is_status else hooks[0] if hooks else None
        line = first.get("command") if isinstance(first, dict) else None
        try:
            return shlex.split(line) if isinstance(line, str) else []
        except ValueError:
            return []
    command = value.get("command")
    words = [*(command if isinstance(command, list) else [command]), *(value.get("args") or [])]
    return [word for word in words if isinstance(word, str)]


def _text(path: str) -> str:
    try:
        return read_plain(path, 1 << 16).decode("utf-8", "replace")
    except OSError:
        return ""


def _scope(harness: Harness, site: Site) -> dict[str, Any]:
    try:
        record = read_record(site)
        parts = sorted(record.parts(harness.id), key=ALL_PARTS.index)
        notices = [*drift(site, record, harness.id), *missing_commands(site, record, harness.id)] if parts else []
        notices += harness.notices(site, record) if parts else []
    except InstallRefused as error:
        return {"parts": [], "notices": error.faults, "answers": None}
    if (remote := mount_of(record.options(harness.id))) is not None and parts:
        notices += [notice] if (notice := token_notice(remote, site.environ)) else []
        notices += [fault] if (fault := fault_of(remote)) else []
        return {"parts": parts, "notices": notices, "answers": not fault}
    words = _server_words(site, record, harness.id) if SERVER in parts else []
    if words and not _may_start(words, site):
        problem = f"{printable(words[0])} is not a nexus-mcp that is installed outside of the project"
        notices.append(f"The server was not started: {problem}.")
        words = []
    return {"parts": parts, "notices": notices, "answers": _answers(words, site.root) if words else None}


def _may_start(words: list[str], site: Site) -> bool:
    """Return whether the command of a server may be started: a cloned project may name any program in its files."""
    own = own_command()
    if site.scope == USER or words[: len(own) + 1] == [*own, "serve"]:
        return True
    return words[1:2] == ["serve"] and is_own_program(words[0], site.root)


def _server_words(site: Site, record: Record, harness: str) -> list[str]:
    """Return the command of the installed server; [] without one."""
    for key, pointer in record.owned_entries(harness):
        if record.entries[key][pointer]["part"] == SERVER:
            value: Any = files.read_settings(site.path(key))
            for name in pointer_of(pointer)[0]:
                value = value.get(name) if isinstance(value, dict) else None
            if words := _words_of(value):  # the part may also own the entry `$schema`, which is no command
                return words
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
            env={**os.environ, "PYTHONSAFEPATH": "1"},  # import no module from the project folder
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return f'"{SERVER_NAME}' in done.stdout and os.linesep in done.stdout
