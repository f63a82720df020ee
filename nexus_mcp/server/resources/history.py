"""Resources nexus://history (a summary of closed cycles) and nexus://cycle/{completed_at} (one whole cycle)."""

from __future__ import annotations

from nexus_mcp.server.resources.definition import JSON, Content, Missing, Resource, ResourceRefused, as_json
from nexus_mcp.server.resources.session import file_entries
from nexus_mcp.store.codec import compact
from nexus_mcp.tools import history_search

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.server.resources.definition import Content, ReadContext, Values

FILE = "history.json"
_MOST_DIGITS = 18  # no history has 10^18 cycles


def read_history(ctx: ReadContext, values: Values) -> list[Content]:
    """Return the answer of the tool history_search."""
    return as_json(history_search.run(ctx.tool_context(), _arguments(values)))


def _arguments(values: Values) -> dict[str, Any]:
    """Return the tool's arguments. Raise ResourceRefused when last_n is not a whole number from 1 on."""
    arguments: dict[str, Any] = {name: values[name] for name in ("query",) if name in values}
    if "last_n" in values:
        arguments["last_n"] = _count(values["last_n"])
    return arguments


def _count(text: str) -> int:
    digits = text.lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        raise ResourceRefused("last_n is a whole number from 1 on")
    return int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS


HISTORY = Resource(
    "nexus://history{?query,last_n}",
    name="history",
    title="The history",
    description=(
        "Closed cycles as history_search returns them: the last_n newest (10 when left out) whose text has the query, "
        "ignoring case."
    ),
    mime_type=JSON,
    priority=0.6,
    read=read_history,
    check=_arguments,
    entries=file_entries(FILE),
    watched=lambda _: (FILE,),
)


MOST_WORDS = 10_000
"""The maximum number of cycles, the newest ones, that are offered for completion."""


def read_cycle(ctx: ReadContext, values: Values) -> list[Content]:
    """Return the cycle as in history.json; all cycles if several were closed in one millisecond. Raise Missing."""
    at = values["completed_at"]
    cycles = ctx.store.history(lambda archive: archive.ended_at(at))
    if not cycles:
        raise Missing("no cycle was closed at that time; nexus://history lists the times")
    return [Content(JSON, compact(cycle)) for cycle in cycles]


def words(ctx: ReadContext, _: str) -> Iterable[str]:
    """Return the times at which cycles were closed, newest first."""
    return ctx.store.history(lambda archive: archive.newest_times(MOST_WORDS))


CYCLE = Resource(
    "nexus://cycle/{completed_at}",
    name="cycle",
    title="A closed cycle",
    description="The whole cycle that was closed at this time, with its plan and all its tasks.",
    mime_type=JSON,
    priority=0.5,
    read=read_cycle,
    watched=lambda _: ("history.json",),
    words=words,
)
