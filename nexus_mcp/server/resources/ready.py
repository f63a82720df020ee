"""nexus://tasks/ready: the tasks that may be started now."""

from __future__ import annotations

from nexus_mcp.server.resources.definition import JSON, Resource, as_json
from nexus_mcp.server.resources.session import entry
from nexus_mcp.server.resources.tasks import FILE
from nexus_mcp.state import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.server.resources.definition import Content, Entry, Look, Values


def read(look: Look, _: Values) -> list[Content]:
    """The goal and the whole of each task that is pending with all its deps completed, in file order."""
    current = look.store.tasks()
    if current is None:
        return as_json({"exists": False})
    ready = set(tasks.ready(current))
    mine = [task for task in current["tasks"] if task["id"] in ready and task["status"] == tasks.PENDING]
    return as_json({"goal": current["goal"], "tasks": mine})


def entries(look: Look, after: str | None) -> Iterator[Entry]:
    if after is None:
        yield entry(look, FILE, lambda: read(look, {}))


RESOURCE = Resource(
    "nexus://tasks/ready",
    name="tasks/ready",
    title="The ready tasks",
    description="The tasks that may be started now, whole: pending, with every dependency completed.",
    mime_type=JSON,
    priority=1.0,
    read=read,
    entries=entries,
    watched=lambda _: (FILE,),
)
