"""The table of prompts, which are made of skills and tags, and the handlers of prompts/list and prompts/get.

Only this module turns the errors of prompts into Faults.
"""

from __future__ import annotations

from functools import partial

from nexus_mcp import log
from nexus_mcp.catalog.placeholders import suggestion
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quote, quoted_name
from nexus_mcp.server.faults import INTERNAL_ERROR, INVALID_PARAMS, Fault
from nexus_mcp.server.paging import page
from nexus_mcp.server.prompts import actions, skills
from nexus_mcp.server.prompts.definition import Wrong
from nexus_mcp.server.prompts.templates import is_template

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from nexus_mcp.server.prompts.definition import Prompt
    from nexus_mcp.server.resources.definition import ReadContext


def prompts(ctx: ReadContext) -> dict[str, Prompt]:
    """Return all prompts by name: the skills by id, then the tags. A project skill hides a tag of the same name.

    Raise StorageError.
    """
    found = {prompt.name: prompt for prompt in skills.prompts(ctx)}
    catalog = ctx.catalog()
    for name, tag in catalog.vocabulary["tags"].items():
        if name not in found:
            made = tag["kind"] == "skill"
            found[name] = (
                skills.of_skill(ctx, tag["skill"], catalog.skill(tag["skill"]), name)
                if made
                else actions.of_tag(name, tag)
            )
    return found


def list_prompts(ctx: ReadContext, cursor: str | None) -> dict[str, Any]:
    """Return one page of MCP's ListPromptsResult. Raise Fault."""
    shown, following = page(cursor, [partial(_after, _all(ctx))])
    return {"prompts": shown, **({"nextCursor": following} if following else {})}


def get(ctx: ReadContext, name: str, values: dict[str, str]) -> dict[str, Any]:
    """Return MCP's GetPromptResult: one user message. Raise Fault."""
    prompt = find_prompt(ctx, name)
    known = [argument.name for argument in prompt.arguments]
    if is_template(known, values):
        return _result(prompt, _text(prompt.name, partial(prompt.template, ctx, values)))
    unknown = [argument for argument in values if argument not in known]
    assigned = prompt.assign_arguments(values)
    missing = [one.name for one in prompt.arguments if one.required and one.name not in assigned]
    faults = [f"{quote(argument, 100)} is no argument; the arguments are {', '.join(known)}" for argument in unknown]
    faults += [f"{argument} is required" for argument in missing]
    if faults:
        raise Fault(INVALID_PARAMS, f"Prompt {name}: {'; '.join(faults)}")
    return _result(prompt, _text(prompt.name, partial(prompt.text, ctx, assigned)))


def _text(name: str, write: Callable[[], str]) -> str:
    """Return the result of `write`. Raise Fault if `write` raises Wrong or NexusError."""
    try:
        return write()
    except Wrong as error:
        raise Fault(INVALID_PARAMS, f"Prompt {name}: {error}") from None
    except NexusError as error:
        raise _internal(error) from None


def _result(prompt: Prompt, text: str) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt.description, "messages": [message]}


def find_prompt(ctx: ReadContext, name: str) -> Prompt:
    """Return the prompt `name`. Raise Fault for an unknown one, with similar names, and for an unreadable catalog."""
    there = _all(ctx)
    if name not in there:
        raise Fault(INVALID_PARAMS, f"Unknown prompt: {quoted_name(name, 100)}{suggestion(name, there)}")
    return there[name]


def _all(ctx: ReadContext) -> dict[str, Prompt]:
    try:
        return prompts(ctx)
    except NexusError as error:
        raise _internal(error) from None


def _internal(error: NexusError) -> Fault:
    log.info(f"prompts: {error}")
    return Fault(INTERNAL_ERROR, str(error))


def _after(there: dict[str, Prompt], after: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, definition) of each prompt after the one named `after`, in table order.

    If `after` is None, yield all. If there is no prompt of this name any more, yield none.
    """
    names = list(there)
    start = 0 if after is None else names.index(after) + 1 if after in there else len(names)
    for name in names[start:]:
        yield name, there[name].definition()
