"""Resource skill://{id}/SKILL.md: the skills of the catalog as files in the Agent Skills format.

The file is made from the catalog. The same catalog gives the same bytes, so the digest in skills/list stays right
until the catalog changes.
"""

from __future__ import annotations

import json
import re

from nexus_mcp import log
from nexus_mcp.catalog.load import has_text
from nexus_mcp.errors import NexusError, UnknownEntry
from nexus_mcp.quoting import inert
from nexus_mcp.server.resources.catalogued import body, harness_chapter
from nexus_mcp.server.resources.definition import MARKDOWN, Content, Entry, Missing, Resource

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import ReadContext, Values

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1024


def skill_ids(ctx: ReadContext) -> Iterator[str]:
    """Yield the ids of the skills, sorted. Leave out skills without a readable text, and skills that the Agent Skills
    format does not allow.
    """
    for name, skill in sorted(ctx.catalog().skills.items()):
        if has_text(skill):
            if fault := _fault(name, skill):
                log.info(f"the skill {inert(name)} is not served as SKILL.md: {fault}")
            else:
                yield name


def _fault(name: str, skill: dict[str, Any]) -> str:
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        return f"its id must be 1 to {_LONGEST_NAME} lower-case letters, digits and single hyphens"
    if not 0 < len(_description(skill)) <= _LONGEST_DESCRIPTION:
        return f"its description must have 1 to {_LONGEST_DESCRIPTION} characters"
    return ""


def _description(skill: dict[str, Any]) -> str:
    """Return the description on one line, made inert (quoting.py), because clients show it to a model."""
    return inert(" ".join(skill["description"].split()))


def front_matter(ctx: ReadContext, name: str) -> dict[str, Any]:
    """Return the fields at the head of the file of a known skill."""
    skill = ctx.catalog().skill(name)
    fields = {"name": name, "description": _description(skill)}
    # Clients that know this field do not let the model start such a skill itself.
    return {**fields, "disable-model-invocation": True} if skill["manual_only"] else fields


def text(ctx: ReadContext, name: str) -> str:
    """Return SKILL.md of a skill. Raise Missing, CatalogError, PathRefused, StorageError."""
    try:
        skill = ctx.catalog().skill(name)
    except UnknownEntry as error:
        raise Missing(str(error)) from None
    if fault := _fault(name, skill):
        raise Missing(f"the skill cannot be served as SKILL.md: {fault}")
    head = [f"{field}: {_yaml(value)}" for field, value in front_matter(ctx, name).items()]
    parts = [body(ctx, "skills", name).strip(), *([harness_chapter(ctx)] if skill["harness_notes"] else [])]
    return "\n".join(("---", *head, "---", "", "\n\n".join(parts).rstrip(), ""))


def _yaml(value: object) -> str:
    """Return a value as JSON, which is also YAML: `inert` has escaped the characters that YAML refuses."""
    return json.dumps(value, ensure_ascii=False)


def _read(ctx: ReadContext, values: Values) -> list[Content]:
    return [Content(MARKDOWN, text(ctx, values["id"]))]


def _entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
    for name in skill_ids(ctx):
        if after is None or name > after:
            skill = ctx.catalog().skill(name)
            yield Entry(
                name,
                {"id": name},
                name=name,
                title=skill["name"],
                description=_description(skill),
                size=_size(ctx, name),
            )


def _size(ctx: ReadContext, name: str) -> int | None:
    try:
        return len(text(ctx, name).encode())
    except NexusError:
        return None


def _words(ctx: ReadContext, _: str) -> Iterable[str]:
    return skill_ids(ctx)


SKILL_FILES = Resource(
    "skill://{id}/SKILL.md",
    name="skill-file",
    title="A skill as SKILL.md",
    description="A skill of this project in the Agent Skills format, for clients with the skills extension of MCP.",
    mime_type=MARKDOWN,
    priority=0.3,
    read=_read,
    entries=_entries,
    watched=lambda values: tuple(f"skills/{values['id']}/{file}" for file in ("meta.yml", "body.md")),
    words=_words,
    audience=("assistant",),
)
