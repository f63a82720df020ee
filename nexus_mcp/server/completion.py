"""completion/complete: what an argument of a prompt, or a variable of a resource template, can be."""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quoted
from nexus_mcp.server.faults import INVALID_PARAMS, Fault
from nexus_mcp.server.prompts import getting
from nexus_mcp.server.resources import RESOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from nexus_mcp.server.resources.definition import Look

MOST = 100
"""Values of an answer (the protocol allows no more)."""


def complete(look: Look, ref: dict[str, Any], name: str, value: str) -> dict[str, Any]:
    """MCP's CompleteResult: the values that begin with `value`, case aside, and then those that have it elsewhere.

    Raises Fault for a prompt, a template or an argument that is not there. What the files cannot tell now is no value.
    """
    words = _of_prompt(look, ref["name"], name) if ref["type"] == "ref/prompt" else _of_template(look, ref["uri"], name)
    known: dict[str, None] = {}
    try:
        for word in words():
            known[word] = None
    except NexusError as error:
        log.info(f"not all that there may be is completed: {error}")
    wanted = value.lower()
    first = [word for word in known if word.lower().startswith(wanted)]
    rest = [word for word in known if wanted in word.lower() and not word.lower().startswith(wanted)]
    found = first + rest
    return {"completion": {"values": found[:MOST], "total": len(found), "hasMore": len(found) > MOST}}


def _of_prompt(look: Look, prompt: str, name: str) -> Callable[[], Iterable[str]]:
    arguments = {argument.name: argument for argument in getting.found(look, prompt).arguments}
    if name not in arguments:
        raise _unknown(name, arguments)
    return lambda: arguments[name].words(look)


def _of_template(look: Look, uri: str, name: str) -> Callable[[], Iterable[str]]:
    for resource in RESOURCES:
        if resource.template.text == uri and resource.template.variables:
            if name not in resource.template.variables:
                raise _unknown(name, resource.template.variables)
            return lambda: resource.words(look, name)
    raise Fault(INVALID_PARAMS, "Unknown resource template: resources/templates/list shows those that there are")


def _unknown(name: str, known: Iterable[str]) -> Fault:
    return Fault(INVALID_PARAMS, f"{quoted(name, 100)} is no argument of it; there are {', '.join(known)}")
