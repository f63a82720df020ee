"""The catalog of a project: what is shipped, and what `.nexus/agents`, `.nexus/skills` and its own map put over it.

Without files of its own nothing but catalog.json is read. With them, what they came to is remembered beside the state
(cache.py), so that a hook of such a project is as fast as any.
"""

from __future__ import annotations

from nexus_mcp.catalog import shipped
from nexus_mcp.catalog.sources import AGENTS, BODY, KINDS, SKILLS, Own, Shipped
from nexus_mcp.errors import UnknownEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.sources import Source
    from nexus_mcp.store.folder import Folder

_KIND = {AGENTS: "agent", SKILLS: "skill"}


class Catalog:
    """Agents, skills, vocabulary and capability maps, as plain values (docs/agents.md).

    agents: id → {id, name, description, category, resume_tier, model_tier, capabilities (canonical), added (by the
    project), body_hash, origin "shipped"|"project", own_body}. skills: id → {id, name, description, manual_only,
    harness_notes, body_hash, origin, own_body}. vocabulary: the files of assets/vocabulary, `-` as `_`. maps: harness
    id → its capability map.
    """

    __slots__ = ("_root", "agents", "maps", "skills", "vocabulary")

    def __init__(self, value: dict[str, Any], own: dict[str, Any] | None = None, root: str = "") -> None:
        over = own or {AGENTS: {}, SKILLS: {}, "maps": {}}
        self._root = root
        self.agents: dict[str, dict[str, Any]] = {**value[AGENTS], **over[AGENTS]}
        self.skills: dict[str, dict[str, Any]] = {**value[SKILLS], **over[SKILLS]}
        self.maps: dict[str, dict[str, Any]] = {**value["maps"], **over["maps"]}
        self.vocabulary: dict[str, Any] = value["vocabulary"]

    def agent(self, name: str) -> dict[str, Any]:
        """Raises UnknownEntry."""
        return self._entry(AGENTS, name)

    def skill(self, name: str) -> dict[str, Any]:
        """Raises UnknownEntry."""
        return self._entry(SKILLS, name)

    def body(self, kind: str, name: str) -> str:
        """The text of an entry ("agents" or "skills"), placeholders and all.

        Raises UnknownEntry, and CatalogError, PathRefused, StorageError for a file that went since.
        """
        entry = self._entry(kind, name)
        if entry["own_body"] and entry["origin"] == "project":
            from nexus_mcp.store.folder import Folder

            with Folder.root(self._root) as root:
                nexus = root.child(".nexus")
                if nexus is None:
                    return _text(Shipped(), kind, name)
                with nexus:
                    return _text(Own(nexus), kind, name)
        return _text(Shipped(), kind, name)

    def _entry(self, kind: str, name: str) -> dict[str, Any]:
        of = self.agents if kind == AGENTS else self.skills
        if name not in of:
            from nexus_mcp.catalog.placeholders import near

            raise UnknownEntry(_KIND[kind], name, near(name, of))
        return of[name]


def load(root: str | None) -> Catalog:
    """The catalog of the project at `root`, for None the shipped one.

    Raises CatalogError with all that is wrong with the project's own files, PathRefused, StorageError.
    """
    value = shipped.read()
    if root is None:
        return Catalog(value)
    from nexus_mcp.store.folder import Folder

    with Folder.root(root) as folder:
        nexus = folder.child(".nexus")
        if nexus is None:
            return Catalog(value)
        with nexus:
            return Catalog(value, _own(nexus, value), root)


def _own(nexus: Folder, value: dict[str, Any]) -> dict[str, Any] | None:
    """What the project puts over the shipped catalog; None for nothing."""
    from nexus_mcp.catalog import cache

    seen = cache.identities(nexus)
    if not seen:
        return None
    kept = cache.read(nexus, seen)
    if kept is None:
        from nexus_mcp.catalog.building import own_value

        kept = own_value(Own(nexus), value)
        cache.write(nexus, seen, kept)
    return kept


def _text(source: Source, kind: str, name: str) -> str:
    from nexus_mcp.errors import CatalogError

    path = f"{kind}/{name}/{BODY}"
    data = source.read(path)
    if data is None:
        raise CatalogError([f"{source.shown(path)}: is missing"])
    return data.decode()


__all__ = ["KINDS", "Catalog", "load"]
