"""Write the start of a new server: a copy of one of the examples in conformance/examples/, under another name."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

from nexus_mcp.errors import HarnessFault
from nexus_mcp.packaged import data_path

NAME = "nexus-example"
"""The name in the files of an example; a copy has the name of its project instead."""
SOURCE = "git+https://github.com/OWNER/nexus-mcp"
"""The place from which pip installs nexus-mcp in the workflow of an example; a copy may get another one."""
WHEELS = "vendor"
"""The folder of a project for a wheel that its workflow installs."""
WORKFLOW = ".github/workflows/conformance.yml"
_COMMON = (WORKFLOW, ".gitignore", "README.md")


@dataclass(frozen=True)
class Example:
    """An example: its language, what it needs, the commands that build it, and the command that starts the server.

    `files` lists the files to copy; other files, which a build may have left there, are not copied.
    """

    language: str
    needs: str
    build: tuple[str, ...]
    server: str
    files: tuple[str, ...]


EXAMPLES = {
    "typescript": Example(
        "TypeScript",
        "Node.js 20 or newer with npm",
        ("npm install", "npm run build"),
        "node dist/server.js",
        (*_COMMON, "package.json", "tsconfig.json", "src/server.ts", "src/store.ts", "src/tools.ts"),
    ),
    "python": Example(
        "Python",
        "Python 3.11 or newer",
        ("python3 -m venv .venv", ".venv/bin/python -m pip install -r requirements.txt"),
        ".venv/bin/python server.py",
        (*_COMMON, "requirements.txt", "server.py", "store.py", "tools.py"),
    ),
    "go": Example(
        "Go",
        "Go 1.19 or newer",
        (f"go build -o {NAME} .",),
        f"./{NAME}",
        (*_COMMON, "go.mod", "main.go", "object.go", "store.go", "tools.go"),
    ),
}


def project_name(folder: str) -> str:
    """Return a project name, made from the name of the folder, that npm and Go accept."""
    name = re.sub(r"[^a-z0-9]+", "-", os.path.basename(os.path.abspath(folder)).lower()).strip("-")
    return name if name[:1].isalpha() else f"nexus-{name or 'server'}"


def rename(text: str, name: str) -> str:
    """Return a text of an example with the name of the project in it."""
    return text.replace(NAME, name)


def write_example(language: str, folder: str, source: str) -> str:
    """Write the example into the folder, under the name of `project_name(folder)`. Return what the workflow installs.

    `source` is the place from which pip installs nexus-mcp; "" leaves a placeholder. A wheel is copied into the folder.
    Raise HarnessFault without writing anything if the wheel cannot be read or a file is already there, else for a file
    that cannot be written.
    """
    name = project_name(folder)
    files = {path: rename(_read(language, path), name).encode() for path in EXAMPLES[language].files}
    installed = SOURCE
    if source.endswith(".whl") and os.path.isfile(source):
        wheel = f"{WHEELS}/{os.path.basename(source)}"
        try:
            with open(source, "rb") as file:
                files[wheel] = file.read()
        except OSError as error:
            raise HarnessFault([f"{source} cannot be read: {error.strerror}."], next_step=_READABLE) from None
        installed = f"./{wheel}"
    elif source:
        installed = source
    # Each JSON string is also a YAML string, so json.dumps quotes any source.
    is_plain = re.fullmatch(r"(\./|(git\+)?https://)[\w./+@-]+", installed, re.ASCII)
    shown = installed if is_plain else json.dumps(installed)
    files[WORKFLOW] = files[WORKFLOW].replace(SOURCE.encode(), shown.encode())
    if there := [path for path in files if os.path.lexists(os.path.join(folder, path))]:
        raise HarnessFault([f"{os.path.join(folder, path)} is already there." for path in there], next_step=_ELSEWHERE)
    for path, data in files.items():
        _write(os.path.join(folder, path), data)
    return installed


_READABLE = "Nothing was written. Name a wheel that you may read."
_ELSEWHERE = "Nothing was written. Name a folder that is new, or that has none of these files."


def _read(language: str, path: str) -> str:
    with open(data_path("conformance", "examples", language, path), encoding="utf-8", newline="") as file:
        return file.read()


def _write(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
    except OSError as error:
        raise HarnessFault([f"{path} cannot be written: {error.strerror}."]) from None
