"""The files of the workspace: .nexus/ in the project root. See "The workspace" and "Files" in the contract."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class ToolError(Exception):
    """An error that the caller sees as {"error": "<message>"}."""


def project_root() -> Path:
    """Return the folder in NEXUS_PROJECT_ROOT, else the nearest one with a .git, else the working directory."""
    if named := os.environ.get("NEXUS_PROJECT_ROOT"):
        return Path(named).resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


class Store:
    """Read and replace the files of one workspace."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the object in a file of .nexus/, None if there is no such file. Raise ToolError for a broken file."""
        path = self._checked_path(name)
        try:
            value = json.loads(path.read_bytes().decode())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ToolError(f".nexus/{name} cannot be read ({error.strerror}). Nothing was changed.") from None
        except (ValueError, RecursionError):
            raise ToolError(
                f".nexus/{name} is not valid JSON. Repair it, then call again. Nothing was changed."
            ) from None
        if not isinstance(value, dict):
            raise ToolError(f".nexus/{name} must hold a JSON object. Repair it, then call again. Nothing was changed.")
        return value

    def write(self, name: str, value: dict[str, Any]) -> None:
        """Replace a file of .nexus/ as a whole: a reader, or a kill at any moment, sees the old text or the new one."""
        path = self._checked_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = self._root / ".nexus" / ".gitignore"
        if not ignore.exists():
            ignore.write_text("state/\n", encoding="utf-8")
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "x", encoding="utf-8") as file:
                file.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _checked_path(self, name: str) -> Path:
        """Return the path of a file of .nexus/. Refuse a link on the way: it could lead out of the project."""
        path = self._root / ".nexus" / name
        for part in (path, *path.parents):
            if part == self._root:
                break
            if part.is_symlink():
                shown = part.relative_to(self._root).as_posix()
                raise ToolError(f"{shown} is a symbolic link. Put a plain file or folder there.")
        return path
