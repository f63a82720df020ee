"""nexus://plan: the open plan."""

from __future__ import annotations

from nexus_mcp.server.resources.definition import JSON, Resource, as_json
from nexus_mcp.server.resources.session import entry
from nexus_mcp.tools import plan_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.server.resources.definition import Content, Entry, Look, Values

FILE = "state/plan.json"


def read(look: Look, _: Values) -> list[Content]:
    """What the tool plan_status answers."""
    return as_json(plan_status.run(look.asking(), {}))


def entries(look: Look, after: str | None) -> Iterator[Entry]:
    if after is None:
        yield entry(look, FILE, lambda: read(look, {}))


RESOURCE = Resource(
    "nexus://plan",
    name="plan",
    title="The plan",
    description="The open plan as plan_status answers: topic, issues, decisions; active is false when there is none.",
    mime_type=JSON,
    priority=0.9,
    read=read,
    entries=entries,
    watched=lambda _: (FILE,),
)
