"""The MCP bundle (.mcpb): a zip archive with a manifest and nexus-mcp itself, for clients that install such files.

The server needs no compiled library, so the bundle runs on any Python that is new enough. It holds our package and
PyYAML, without its compiled part, because the server reads the YAML files of a project. A client starts the server of a
bundle outside of any project, so the manifest makes the client ask the user for the project's folder. A bundle has the
server, but no hooks.
"""

from __future__ import annotations

import io
import os
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Any

import nexus_mcp
from nexus_mcp import __version__
from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness.packages.definition import (
    AUTHOR,
    DESCRIPTION,
    KEYWORDS,
    LICENSE,
    Order,
    Package,
    json_file,
)
from nexus_mcp.packaged import data_path
from nexus_mcp.program import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILE = f"{NAME}.mcpb"
MANIFEST_VERSION = "0.3"
PYTHON = (3, 11)
ENTRY = "server/main.py"
_LIB = "server/lib"
_DATA = ("assets", "schemas")
_DATED = (1980, 1, 1, 0, 0, 0)
"""The date of each entry: the earliest that a zip archive allows. Real dates would give other bytes each time."""
_MODE = 0o100644
_UNIX = 3
_MAIN = f'''"""Start the server of this bundle."""
import os
import sys

if sys.version_info < {PYTHON}:
    sys.exit("nexus-mcp needs Python {PYTHON[0]}.{PYTHON[1]} or newer, and this is " + sys.version.split()[0] + ".")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from nexus_mcp.cli import main

sys.exit(main())
'''


class McpbBundle:
    """One file, which a client opens."""

    id = "mcpb"
    title = "The MCP bundle"
    harness = ""
    has_program = True

    def files(self, order: Order) -> dict[str, bytes]:
        entries = {
            "manifest.json": json_file(manifest(order)),
            ENTRY: _MAIN.encode(),
            "LICENSE": _read(data_path("LICENSE")),
            **_program(),
        }
        return {FILE: _zip(entries)}

    def next_steps(self, folder: str) -> Sequence[str]:
        path = os.path.join(folder, FILE)
        return (f"Open {path} with Claude Desktop, or with another client that installs .mcpb files.",)


def manifest(order: Order) -> dict[str, Any]:
    """Return the manifest, by the MCPB specification."""
    prefix = order.request.prefix
    options = ["--tool-prefix", prefix] if prefix else []
    serve = ["${__dirname}/" + ENTRY, "serve", "--project", "${user_config.project}", *options]
    project = {
        "type": "directory",
        "title": "Project folder",
        "description": "The plan, the tasks and the history are in its folder .nexus.",
        "required": True,
    }
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": NAME,
        "display_name": "Nexus",
        "version": __version__,
        "description": DESCRIPTION,
        "author": {"name": AUTHOR},
        "license": LICENSE,
        "keywords": list(KEYWORDS),
        "server": {
            "type": "python",
            "entry_point": ENTRY,
            "mcp_config": {"command": "python3", "args": serve},
        },
        "tools": [{"name": prefix + name, "description": text} for name, text in order.tools.items()],
        "prompts_generated": True,
        "compatibility": {
            "platforms": ["linux", "darwin"],
            "runtimes": {"python": f">={PYTHON[0]}.{PYTHON[1]}"},
        },
        "user_config": {"project": project},
    }


def _program() -> dict[str, bytes]:
    """Return path in the bundle → bytes of our package and the data that its server reads."""
    package = os.path.dirname(os.path.abspath(nexus_mcp.__file__))
    found = {f"{_LIB}/nexus_mcp/{name}": path for name, path in _below(package, ".py")}
    for part in _DATA:
        found |= {f"{_LIB}/nexus_mcp/_data/{part}/{name}": path for name, path in _below(data_path(part), "")}
    return {name: _read(path) for name, path in found.items()} | _yaml()


def _yaml() -> dict[str, bytes]:
    """Return path in the bundle → bytes of the Python files of PyYAML, its licence and its version.

    Raise InstallRefused if the licence is not installed with PyYAML: a copy must have it.
    """
    import yaml

    folder = os.path.dirname(os.path.abspath(yaml.__file__))
    files = {f"{_LIB}/yaml/{name}": _read(path) for name, path in _below(folder, ".py")}
    try:
        found = distribution("PyYAML")
        licence = next(file for file in found.files or () if file.name.upper().startswith("LICENSE"))
        files[f"{_LIB}/yaml/LICENSE"] = _read(str(licence.locate()))
    except (PackageNotFoundError, StopIteration, OSError) as error:
        step = "Install PyYAML from PyPI, then run the command again."
        raise InstallRefused([f"The licence of PyYAML is not installed. {step}"]) from error
    files[f"{_LIB}/yaml/VERSION"] = f"{found.version}\n".encode()
    return files


def _below(folder: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield (path from `folder`, absolute path) of the files below `folder` whose names end with `end`, except those in
    folders with the name __pycache__ or _data.
    """
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("__pycache__", "_data")]
        for name in names:
            if name.endswith(end):
                path = os.path.join(place, name)
                yield os.path.relpath(path, folder).replace(os.sep, "/"), path


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _zip(entries: dict[str, bytes]) -> bytes:
    """Return a zip archive of the entries, the same bytes for the same entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, _DATED)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = _UNIX
            info.external_attr = _MODE << 16
            archive.writestr(info, entries[name], compresslevel=9)
    return buffer.getvalue()


PACKAGE: Package = McpbBundle()
