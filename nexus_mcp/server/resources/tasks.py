"""nexus://tasks: the task list."""

from __future__ import annotations

from nexus_mcp.server.resources.definition import JSON, Resource, as_json
from nexus_mcp.server.resources.session import entry
from nexus_mcp.tools import task_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.server.resources.definition import Content, Entry, Look, Values

FILE = "state/tasks.json"


def read(look: Look, _: Values) -> list[Content]:
    """What the tool task_list answers."""
    return as_json(task_list.run(look.asking(), {}))


def entries(look: Look, after: str | None) -> Iterator[Entry]:
    if after is None:
        yield entry(look, FILE, lambda: read(look, {}))


RESOURCE = Resource(
    "nexus://tasks",
    name="tasks",
    title="The tasks",
    description="All tasks as task_list answers: goal, tasks, summary; exists is false when there is no list.",
    mime_type=JSON,
    priority=0.9,
    read=read,
    entries=entries,
    watched=lambda _: (FILE,),
)
