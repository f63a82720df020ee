"""Handle requests for resources, prompts, skills and completion: they only read, but reads of memory/ are counted."""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quote
from nexus_mcp.server import prompts, skills
from nexus_mcp.server.faults import INVALID_PARAMS, Fault
from nexus_mcp.server.resources import RESOURCES, requests

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from nexus_mcp.server.resources.definition import ReadContext

    Params = dict[str, Any]

MOST = 100
"""Largest number of completion values in one response, as in the protocol."""


def answer(ctx: ReadContext, method: str, params: Params) -> dict[str, Any]:
    """Return the result of a request for one of METHODS, without the fields that only 2026-07-28 has. Raise Fault,
    without an id.
    """
    return METHODS[method](ctx, params)


def complete(ctx: ReadContext, ref: dict[str, Any], argument: dict[str, str]) -> dict[str, Any]:
    """Return MCP's CompleteResult: the words that start with the argument's value, then those that contain it.

    Case is ignored. If a file cannot be read, the result has only the words found before. Raise Fault for an unknown
    prompt, template or argument, and if the prompts cannot be read.
    """
    name, wanted = argument["name"], argument["value"].lower()
    words = _of_prompt(ctx, ref["name"], name) if ref["type"] == "ref/prompt" else _of_template(ctx, ref["uri"], name)
    known: dict[str, None] = {}
    try:
        for word in words():
            known[word] = None
    except NexusError as error:
        log.info(f"completion is incomplete: {error}")
    first = [word for word in known if word.lower().startswith(wanted)]
    rest = [word for word in known if wanted in word.lower() and not word.lower().startswith(wanted)]
    found = first + rest
    return {"completion": {"values": found[:MOST], "total": len(found), "hasMore": len(found) > MOST}}


def _of_prompt(ctx: ReadContext, prompt: str, name: str) -> Callable[[], Iterable[str]]:
    arguments = {argument.name: argument for argument in prompts.find_prompt(ctx, prompt).arguments}
    if name not in arguments:
        raise _unknown(name, arguments)
    return lambda: arguments[name].words(ctx)


def _of_template(ctx: ReadContext, uri: str, name: str) -> Callable[[], Iterable[str]]:
    for resource in RESOURCES:
        if resource.template.text == uri and resource.template.variables:
            if name not in resource.template.variables:
                raise _unknown(name, resource.template.variables)
            return lambda: resource.words(ctx, name)
    raise Fault(INVALID_PARAMS, "Unknown resource template: resources/templates/list shows the templates")


def _unknown(name: str, known: Iterable[str]) -> Fault:
    return Fault(INVALID_PARAMS, f"{quote(name, 100)} is no argument; the arguments are {', '.join(known)}")


METHODS: dict[str, Callable[[ReadContext, Params], dict[str, Any]]] = {
    "resources/list": lambda ctx, params: requests.resources(ctx, params.get("cursor")),
    "resources/templates/list": lambda _, params: requests.templates(params.get("cursor")),
    "resources/read": lambda ctx, params: requests.read(ctx, params["uri"]),
    "prompts/list": lambda ctx, params: prompts.list_prompts(ctx, params.get("cursor")),
    "prompts/get": lambda ctx, params: prompts.get(ctx, params["name"], params.get("arguments") or {}),
    "skills/list": lambda ctx, params: skills.list_skills(ctx, params.get("cursor")),
    "skills/get": lambda ctx, params: skills.get(ctx, params["uri"]),
    "completion/complete": lambda ctx, params: complete(ctx, params["ref"], params["argument"]),
}
