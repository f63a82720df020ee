"""Handle skills/list and skills/get of the skills extension: the skills of the catalog, with digests of their files."""

from __future__ import annotations

import hashlib

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.server.faults import INTERNAL_ERROR, INVALID_PARAMS, Fault
from nexus_mcp.server.paging import page
from nexus_mcp.server.resources.definition import BadUri, Missing
from nexus_mcp.server.resources.skill_files import SKILL_FILES, front_matter, skill_ids, text

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import ReadContext

_ADVICE = "skills/list names the skills."


def list_skills(ctx: ReadContext, cursor: str | None) -> dict[str, Any]:
    """Return one page of ListSkillsResult, in the order of the ids. Raise Fault for an invalid cursor and an unreadable
    catalog.

    A skill whose text cannot be read is left out and logged.
    """
    shown, following = page(cursor, [lambda after: _entries(ctx, after)])
    return {"skills": shown, **({"nextCursor": following} if following else {})}


def _entries(ctx: ReadContext, after: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        names = list(skill_ids(ctx))
    except NexusError as error:
        log.info(f"skills/list: {error}")
        raise Fault(INTERNAL_ERROR, str(error)) from None
    for name in names:
        if after is None or name > after:
            try:
                yield name, _entry(ctx, name)
            except NexusError as error:
                log.warning(f"the skill {name} is not listed: {error}")


def _entry(ctx: ReadContext, name: str) -> dict[str, Any]:
    uri = SKILL_FILES.template.fill({"id": name})
    data = text(ctx, name).encode()
    file = {"uri": uri, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}
    return {"uri": uri, "frontmatter": front_matter(ctx, name), "resources": [file]}


def get(ctx: ReadContext, uri: str) -> dict[str, Any]:
    """Return GetSkillResult of the skill whose SKILL.md has this URI. Raise Fault, with the URI in its data."""
    try:
        values = SKILL_FILES.template.match(uri)
        if values is None:
            raise Fault(INVALID_PARAMS, f"No skill is served at this URI: {_ADVICE}", data={"uri": uri})
        return {"skill": _entry(ctx, values["id"])}
    except (BadUri, Missing) as error:
        raise Fault(INVALID_PARAMS, f"No skill is served at this URI: {error}", data={"uri": uri}) from None
    except NexusError as error:
        log.info(f"{SKILL_FILES.template.text}: {error}")
        raise Fault(INTERNAL_ERROR, str(error), data={"uri": uri}) from None
