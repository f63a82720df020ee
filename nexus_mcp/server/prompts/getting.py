"""prompts/list and prompts/get. The one place where what goes wrong with a prompt becomes a Fault."""

from __future__ import annotations

from functools import partial

from nexus_mcp import log
from nexus_mcp.catalog.placeholders import suggestion
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quoted, quoted_name
from nexus_mcp.server.faults import INTERNAL_ERROR, INVALID_PARAMS, Fault
from nexus_mcp.server.paging import page
from nexus_mcp.server.prompts import prompts
from nexus_mcp.server.prompts.definition import Wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.server.prompts.definition import Prompt
    from nexus_mcp.server.resources.definition import Look


def listed(look: Look, cursor: str | None) -> dict[str, Any]:
    """MCP's ListPromptsResult. Raises Fault."""
    shown, following = page(cursor, [partial(_after, _all(look))])
    return {"prompts": shown, **({"nextCursor": following} if following else {})}


def get(look: Look, name: str, given: dict[str, str]) -> dict[str, Any]:
    """MCP's GetPromptResult: one message of the user. Raises Fault."""
    prompt = found(look, name)
    known = [argument.name for argument in prompt.arguments]
    unknown = [argument for argument in given if argument not in known]
    settled = prompt.settled(given)
    missing = [one.name for one in prompt.arguments if one.required and one.name not in settled]
    faults = [f"{quoted(argument, 100)} is no argument; there are {', '.join(known)}" for argument in unknown]
    faults += [f"{argument} is required" for argument in missing]
    if faults:
        raise Fault(INVALID_PARAMS, f"Prompt {name}: {'; '.join(faults)}")
    try:
        text = prompt.text(look, settled)
    except Wrong as error:
        raise Fault(INVALID_PARAMS, f"Prompt {name}: {error}") from None
    except NexusError as error:
        raise _internal(error) from None
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt.description, "messages": [message]}


def found(look: Look, name: str) -> Prompt:
    """Raises Fault, with the near names, when there is no such prompt."""
    there = _all(look)
    if name not in there:
        raise Fault(INVALID_PARAMS, f"Unknown prompt: {quoted_name(name, 100)}{suggestion(name, there)}")
    return there[name]


def _all(look: Look) -> dict[str, Prompt]:
    try:
        return prompts(look)
    except NexusError as error:
        raise _internal(error) from None


def _internal(error: NexusError) -> Fault:
    log.info(f"prompts: {error}")
    return Fault(INTERNAL_ERROR, str(error))


def _after(there: dict[str, Prompt], after: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """In the order of the table. A name that is gone stands for the end: what came before it is known already."""
    names = list(there)
    start = 0 if after is None else names.index(after) + 1 if after in there else len(names)
    for name in names[start:]:
        yield name, there[name].definition()
