"""artifact_write: leave a file for other agents."""

from __future__ import annotations

from nexus_mcp.tools.definition import ARTIFACT_WRITE, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Write the file below `.nexus/state/artifacts`; replace an older one of the same name."""
    from nexus_mcp.store import artifacts

    return {"success": True, "path": artifacts.write(ctx.store, arguments["filename"], arguments["content"], ctx.by)}


TOOL = Tool(
    name="artifact_write",
    title="Write an artifact",
    summary="Stores a file that belongs to the work but not to the code.",
    description=(
        "Write a text file for other agents of this project: a report, notes, a test log. It is stored below "
        ".nexus/state/artifacts/, not tracked by git; a file with the same name is overwritten. Returns the "
        "absolute path: hand on this path, or nexus://artifacts/FILENAME to other machines."
    ),
    parameters={
        "filename": {"type": "string", "minLength": 1, "description": "Plain relative path, e.g. review/findings.md."},
        "content": {"type": "string", "description": "The whole text."},
    },
    required=("filename", "content"),
    output=answer(
        {
            "success": {"type": "boolean", "description": "Always true."},
            "path": {"type": "string", "description": "Absolute path."},
        }
    ),
    run=run,
    classes=(ARTIFACT_WRITE,),
    destructive=True,
    idempotent=True,
)
