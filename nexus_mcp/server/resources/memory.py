"""nexus://memory/{name}: a note that was learnt. Reading one counts in the record that clean-up goes by."""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.server.resources import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.resources.definition import Look


def _count(look: Look, path: str) -> None:
    """Whoever asked for the note has it, whether or not that can be noted, and soon, whoever has the lock."""
    from nexus_mcp.lifecycle.params import LONGEST
    from nexus_mcp.store.memory_access import note_read

    harness = look.workspace.harness_id
    try:
        note_read(look.noting, harness, f".nexus/{path}", (look.client_name or harness)[:LONGEST])
    except NexusError as error:
        log.warning(f"the read of .nexus/{path} was not counted: {error}")


RESOURCE = notes.made(
    "memory",
    "A memory note",
    "What was learnt in this project and is worth keeping. Reading it counts in the access record.",
    0.5,
    _count,
)
