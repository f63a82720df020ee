"""history_search: search the archived cycles for a text."""

from __future__ import annotations

from nexus_mcp.state import history
from nexus_mcp.tools.definition import COUNT, READING, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.history.archive import Archive

DEFAULT_LAST_N = 10


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the newest cycles whose JSON text has the query, ignoring case; every cycle matches a blank query."""
    query, most = arguments.get("query", ""), arguments.get("last_n", DEFAULT_LAST_N)

    def look(archive: Archive) -> dict[str, Any]:
        total, shown = archive.newest(query if query.strip() else "", most, history.summary)
        return {"total": total, "showing": len(shown), "cycles": shown}

    return ctx.store.history(look)


TOOL = Tool(
    name="history_search",
    title="Search the history",
    summary="Finds earlier plans, decisions and tasks.",
    description=(
        "Search the closed cycles for a text, ignoring case: topics, decisions, tasks, field names and values "
        '("status":"decided"). Call it before you plan what may be decided already. Without query it gives the '
        "latest cycles. Returns the last_n newest matches, oldest first, and total, how many match. If the history "
        "is unreadable, mend what the error names; do not recreate it."
    ),
    parameters={
        "query": {"type": "string", "description": "Text to look for."},
        "last_n": {
            "type": "integer",
            "minimum": 1,
            "default": DEFAULT_LAST_N,
            "description": "How many of the newest matches to show.",
        },
    },
    required=(),
    output=answer(
        {
            "total": {**COUNT, "description": "How many cycles match."},
            "showing": {**COUNT, "description": "How many of them are shown."},
            "cycles": {
                "type": "array",
                "description": "The newest matches, oldest of them first.",
                "items": answer(
                    {},
                    {
                        "completed_at": {"type": "string"},
                        "branch": {"type": "string"},
                        "topic": {"type": "string", "description": "Only if the cycle has a plan."},
                        "decisions": {
                            "type": "array",
                            "items": answer({}, {"title": {"type": "string"}, "decision": {"type": "string"}}),
                            "description": "Only if the cycle has a plan.",
                        },
                        "task_count": COUNT,
                    },
                ),
            },
        }
    ),
    run=run,
    classes=(READING,),
    idempotent=True,
)
