"""Texts of the catalog in the words of this server: placeholders become the names of its tools and plain English."""

from __future__ import annotations

from nexus_mcp.catalog.placeholders import command, resolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.resources.definition import Look


def body(look: Look, kind: str, name: str) -> str:
    """The body of one of the "agents" or "skills". Raises UnknownEntry, CatalogError, PathRefused, StorageError."""
    return worded(look, look.catalog().body(kind, name))


def worded(look: Look, text: str) -> str:
    """A text of the catalog. What a harness does in a way of its own is told as what is to be done."""
    invocations = look.catalog().vocabulary["invocations"]
    return resolved(
        text,
        {
            "tool": lambda name: f"`{look.prefix}{name}`",
            "agent": lambda name: name,
            "skill": lambda name: name,
            "command": lambda name: command(name, look.workspace.harness_id),
            "action": lambda name: str(invocations[name]["say"]) if name in invocations else name,
        },
    )
