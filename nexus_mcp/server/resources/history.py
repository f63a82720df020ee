"""nexus://history: the closed cycles, in short."""

from __future__ import annotations

from nexus_mcp.server.resources.definition import JSON, Refused, Resource, as_json
from nexus_mcp.server.resources.session import entry
from nexus_mcp.tools import history_search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import Content, Entry, Look, Values

FILE = "history.json"
_MOST_DIGITS = 18  # no history has as many cycles as that says


def read(look: Look, values: Values) -> list[Content]:
    """What the tool history_search answers."""
    return as_json(history_search.run(look.asking(), _arguments(values)))


def _arguments(values: Values) -> dict[str, Any]:
    """Those of the tool. Raises Refused when last_n is no number from 1 on."""
    arguments: dict[str, Any] = {name: values[name] for name in ("query",) if name in values}
    if "last_n" in values:
        arguments["last_n"] = _count(values["last_n"])
    return arguments


def _count(text: str) -> int:
    digits = text.lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        raise Refused("last_n is a whole number from 1 on")
    return int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS


def entries(look: Look, after: str | None) -> Iterator[Entry]:
    if after is None:
        yield entry(look, FILE)


RESOURCE = Resource(
    "nexus://history{?query,last_n}",
    name="history",
    title="The history",
    description=(
        "Closed cycles as history_search answers: the last_n newest (10 when left out) whose text has the query, "
        "case aside."
    ),
    mime_type=JSON,
    priority=0.6,
    read=read,
    check=_arguments,
    entries=entries,
    watched=lambda _: (FILE,),
)
