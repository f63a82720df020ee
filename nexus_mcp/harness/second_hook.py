"""Find out, for the hook of a plugin, whether a hook that `install` wrote answers the same event.

`install` is refused beside a plugin, but the user may add a plugin later. Then the harness runs both hooks, and each
event would count twice. The hook of the plugin stays silent if a file of the harness has our hook for the event, and
the harness will run that hook. In doubt both hooks answer, because if none did, no tool would be denied. The hooks of
sessions of `nexus-mcp run` (session_mount.py) stay silent under the same condition.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from nexus_mcp.harness.plain_read import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Environ = Mapping[str, str]
    Files = Callable[[str, Environ], list[str]]
    Runs = Callable[[str, str, str, Environ], bool]

_LIMIT = 4 << 20  # bytes


def is_answered(harness: str, event: str, root: str, environ: Environ) -> bool:
    """Return whether a hook that `install` wrote answers the event that the harness calls `event`.

    `root` is the project folder.
    """
    row = HARNESSES.get(harness)
    if row is None:
        return False
    files, runs = row
    sign = f" hook --native {harness}"
    for path in files(root, environ):
        for group, number, line in _hooks(path, event, sign):
            if _is_program(line) and (runs is None or runs(path, event, f"{group}:{number}", environ)):
                return True
    return False


def _claude_files(root: str, environ: Environ) -> list[str]:
    """Return the files of Claude Code that may have hooks. Project files are in the folder in which the session was
    started.
    """
    project = os.path.join(environ.get("CLAUDE_PROJECT_DIR") or root, ".claude")
    user = _user_folder("CLAUDE_CONFIG_DIR", ".claude", environ)
    return [*(os.path.join(project, name) for name in ("settings.json", "settings.local.json")), *_in(user)]


def _in(user: str) -> list[str]:
    return [os.path.join(user, "settings.json")] if user else []


def _codex_files(root: str, environ: Environ) -> list[str]:
    user = _user_folder("CODEX_HOME", ".codex", environ)
    folders = [os.path.join(root, ".codex"), *([user] if user else [])]
    return [os.path.join(folder, "hooks.json") for folder in folders]


def _user_folder(variable: str, default: str, environ: Environ) -> str:
    home = environ.get("HOME", "")
    return environ.get(variable) or (os.path.join(home, default) if home else "")


def _is_trusted(path: str, event: str, place: str, environ: Environ) -> bool:
    """Return whether the user trusted the hook and did not disable it: Codex silently skips all other hooks."""
    import tomllib

    config = os.path.join(_user_folder("CODEX_HOME", ".codex", environ), "config.toml")
    with suppress(OSError, ValueError, RecursionError):
        settings = tomllib.loads(read_plain(config, _LIMIT).decode())
        hooks = settings.get("hooks")
        states = hooks.get("state") if isinstance(hooks, dict) else None
        row = states.get(f"{path}:{_label(event)}:{place}") if isinstance(states, dict) else None
        return isinstance(row, dict) and bool(row.get("trusted_hash")) and row.get("enabled", True) is not False
    return False


def _label(event: str) -> str:
    """Return the name of an event in Codex's list of trusted hooks: PreToolUse → pre_tool_use."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")


HARNESSES: dict[str, tuple[Files, Runs | None]] = {
    "claude-code": (_claude_files, None),
    "codex": (_codex_files, _is_trusted),
}
"""Harness → (a function that returns the files in which the harness may have hooks, a function that returns whether the
harness runs the hook `group:number` of an event in such a file). None in place of the second function: the harness
always runs the hook.
"""


def _hooks(path: str, event: str, sign: str) -> list[tuple[int, int, str]]:
    """Return (group, number, command line) of our hooks for the event in the file, without the hooks whose matcher
    selects certain tools; [] if the file cannot be read. Group and number count from 0.
    """
    found: list[tuple[int, int, str]] = []
    with suppress(OSError, ValueError, RecursionError):
        data = read_plain(path, _LIMIT)
        if sign.encode() not in data:  # usually the file has none of our hooks, and need not be parsed
            return []
        settings = json.loads(data)
        for group, entry in enumerate(_list(_member(_member(settings, "hooks"), event))):
            if _member(entry, "matcher") not in (None, "", "*"):
                continue
            for number, hook in enumerate(_list(_member(entry, "hooks"))):
                line = _member(hook, "command")
                if _member(hook, "type") == "command" and isinstance(line, str) and sign in line:
                    found.append((group, number, line))
    return found


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_program(line: str) -> bool:
    """Return whether the first word of a command line is an existing program."""
    import shlex
    import shutil

    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return bool(words) and shutil.which(words[0]) is not None
