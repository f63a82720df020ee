"""nexus://cycle/{completed_at}: one closed cycle, whole."""

from __future__ import annotations

from nexus_mcp.server.resources.definition import JSON, Content, Missing, Resource
from nexus_mcp.store.codec import compact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from nexus_mcp.server.resources.definition import Look, Values

MOST_WORDS = 10_000
"""Of the newest cycles; of more than that nobody finds one by its time."""


def read(look: Look, values: Values) -> list[Content]:
    """The cycle as history.json has it; each of them, should several have been closed in one millisecond."""
    at = values["completed_at"]
    cycles = look.store.history(lambda archive: archive.ended_at(at))
    if not cycles:
        raise Missing("no cycle was closed then; nexus://history tells when those were that there are")
    return [Content(JSON, compact(cycle)) for cycle in cycles]


def words(look: Look, _: str) -> Iterable[str]:
    """When cycles were closed, the newest first."""
    return look.store.history(lambda archive: archive.newest_times(MOST_WORDS))


RESOURCE = Resource(
    "nexus://cycle/{completed_at}",
    name="cycle",
    title="A closed cycle",
    description="A closed cycle whole, with its plan and all its tasks, by the time at which it was closed.",
    mime_type=JSON,
    priority=0.5,
    read=read,
    watched=lambda _: ("history.json",),
    words=words,
)
