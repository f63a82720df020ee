"""Remember which commands of a repository's configuration a person has seen and trusted.

A repository that was cloned may name any command. So its commands run only after a person saw and trusted them: the
digest of the section `run` is kept in the user's own state folder, by project. After any change of the section, the
person has to trust it again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder

_FOLDER = "nexus-mcp"
_FILE = "trusted-runs.json"
_LIMIT = 4 << 20
_RISKY = ("setup", "checks", "hooks", "drivers", "sandbox", "unsafe", "link", "worktrees", "strip_env")
"""Settings that start programs, reach files outside of the project, or change what sessions may do or see."""


def digest(section: Mapping[str, Any]) -> str:
    """Return the digest of the section `run` as the project wrote it; "" if it has no setting that needs trust."""
    if not any(section.get(name) for name in _RISKY):
        return ""
    return hashlib.sha256(json.dumps(section, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def commands(section: Mapping[str, Any]) -> list[str]:
    """Return a line for each setting that needs trust, for a person to read."""
    return [
        f"{name}: {json.dumps(section[name], ensure_ascii=False, sort_keys=True)}"
        for name in _RISKY
        if section.get(name)
    ]


def is_trusted(root: str, wanted: str) -> bool:
    """Return whether a person trusted the section with this digest in the project `root`; True for ""."""
    return not wanted or _read().get(os.path.realpath(root)) == wanted


def trust(root: str, wanted: str) -> None:
    """Remember that a person trusts the section with this digest. Raise StorageError, PathRefused, OSError."""
    folder = state_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    known = {**_read(), os.path.realpath(root): wanted}
    with Folder.root(folder) as place:
        atomic.put(place, _FILE, json.dumps(known, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def state_folder() -> str:
    """Return the user's folder for state of nexus-mcp, outside of all projects."""
    base = os.environ.get("XDG_STATE_HOME", "")
    base = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, _FOLDER)


def _read() -> dict[str, str]:
    """Return project -> digest; {} if the file is absent or damaged: then no project is trusted."""
    try:
        with open(os.path.join(state_folder(), _FILE), "rb") as file:
            value = json.loads(file.read(_LIMIT))
    except (OSError, ValueError):
        return {}
    return {str(root): str(one) for root, one in value.items()} if isinstance(value, dict) else {}
