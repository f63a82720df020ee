"""Build the manifest. With it, a consumer checks whether its copies of agents and skills are current."""

from __future__ import annotations

from nexus_mcp import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog

CONTRACT = "0.12"
"""The level of the Nexus contract that this version implements: tools, events, vocabulary, file formats."""
_AGENT = ("id", "name", "description", "category", "resume_tier", "model_tier")
_SKILL = ("id", "name", "description", "manual_only", "body_hash")
_CAPABILITY = ("reason", "description", "classes")


def manifest(catalog: Catalog) -> dict[str, Any]:
    """Return version, contract, agents, skills and vocabulary: schemas/catalog/manifest.schema.json, docs/agents.md.

    Agents and skills are sorted by id; the words of the vocabulary are in the order of its files.
    """
    words = catalog.vocabulary
    return {
        "version": __version__,
        "contract": CONTRACT,
        "agents": [
            {
                **{name: agent[name] for name in _AGENT},
                "capabilities": [*agent["capabilities"], *agent["added"]],
                "body_hash": agent["body_hash"],
            }
            for _, agent in sorted(catalog.agents.items())
        ],
        "skills": [{name: skill[name] for name in _SKILL} for _, skill in sorted(catalog.skills.items())],
        "vocabulary": {
            "capabilities": [
                {"id": word, **{name: entry[name] for name in _CAPABILITY}}
                for word, entry in words["capabilities"].items()
            ],
            "categories": _describe(words["categories"]),
            "resume_tiers": _describe(words["resume_tiers"]),
            "tags": [_tag(word, entry) for word, entry in words["tags"].items()],
        },
    }


def _describe(words: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    return [{"id": word, "description": entry["description"]} for word, entry in words.items()]


def _tag(word: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return a tag and its variants, each with its skill or action."""
    kind = entry["kind"]
    variants = [
        {"id": name, kind: one.get(kind, entry[kind]), "description": one["description"]}
        for name, one in entry["variants"].items()
    ]
    return {
        "id": word,
        "kind": kind,
        kind: entry[kind],
        "description": entry["description"],
        "variants": variants,
        "any_variant": bool(entry.get("any_variant")),
    }
