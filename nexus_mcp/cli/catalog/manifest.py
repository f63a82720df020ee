"""`nexus-mcp catalog manifest`: print ids, tiers, capabilities and digests, for programs that keep copies."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Print the manifest as JSON. Raise CatalogError, PathRefused, StorageError."""
    from nexus_mcp.catalog.load import load
    from nexus_mcp.catalog.manifest import manifest
    from nexus_mcp.store.codec import pretty

    # Bytes, because JSON is UTF-8 whatever the terminal is.
    sys.stdout.buffer.write(pretty(manifest(load(workspace_from(values).root))).encode() + b"\n")
    sys.stdout.buffer.flush()
    return exits.OK


COMMAND = Command(
    "manifest",
    "print ids, tiers, capabilities and digests as JSON",
    "For a consumer that keeps copies of agents and skills: body_hash tells whether\na copy is current.",
    (PROJECT,),
    run,
)
