"""Define a package: a folder with the files of a plugin and its marketplace, or with a bundle, for a harness or client
to install.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nexus_mcp import __version__
from nexus_mcp.harness.definition import SERVER_NAME, Whole
from nexus_mcp.program import NAME
from nexus_mcp.store.codec import pretty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nexus_mcp.harness.definition import Request, Row

PLUGIN = SERVER_NAME
"""The name of the plugin. Claude Code puts it into the names of the plugin's tools."""
MARKETPLACE = NAME
PLUGIN_FOLDER = f"plugins/{PLUGIN}"
"""The folder of the plugin in a package. Codex finds no plugin in the root of a marketplace."""
DESCRIPTION = "A shared, durable plan and task list for coding agents, over MCP"
AUTHOR = "The nexus-mcp authors"
LICENSE = "MIT"
KEYWORDS = ("mcp", "model-context-protocol", "coding-agents", "plan", "tasks")
OF_A_PLUGIN = "--plugin"
"""The option of a hook in a plugin: the hook stays silent if an installed hook answers the event (second_hook.py)."""


class Order(NamedTuple):
    """The input for a package: a request as for an installation, always for all PARTS, and our tools as name →
    description.
    """

    request: Request
    tools: Mapping[str, str]


class Package(Protocol):
    """One package. Each has its own module with the constant PACKAGE; the table PACKAGES lists the modules."""

    id: str
    title: str
    harness: str
    """The id of the harness that installs the package, "" for any client."""
    has_program: bool
    """Whether the package contains nexus-mcp itself, so that it does not start an installed nexus-mcp."""

    def files(self, order: Order) -> dict[str, bytes]:
        """Return path in the package → bytes. The same order gives the same bytes. Raise CatalogError."""

    def next_steps(self, folder: str) -> Sequence[str]:
        """Return the steps by which the user installs the package; `folder` has its files."""


def json_file(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a JSON file."""
    return f"{pretty(value)}\n".encode()


def identity() -> dict[str, Any]:
    """Return the fields that manifests of plugins share."""
    return {
        "name": PLUGIN,
        "version": __version__,
        "description": DESCRIPTION,
        "author": {"name": AUTHOR},
        "license": LICENSE,
        "keywords": list(KEYWORDS),
    }


def server_file(request: Request, harness: str) -> bytes:
    """Return the content of `.mcp.json` of a plugin."""
    first, *rest = request.serve_words(harness)
    return json_file({"mcpServers": {SERVER_NAME: {"command": first, "args": rest}}})


def generate(rows: Sequence[Row]) -> dict[str, bytes]:
    """Return path → bytes of the generated files among the rows; paths have `/`."""
    return {row.path.replace(os.sep, "/"): row.text.encode() for row in rows if isinstance(row, Whole)}


def in_plugin(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files with the folder of the plugin before their paths."""
    return {f"{PLUGIN_FOLDER}/{path}": data for path, data in files.items()}
