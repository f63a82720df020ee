"""The catalog of a project: what is shipped, and what `.nexus/agents`, `.nexus/skills` and its own map put over it.

Without files of its own nothing but catalog.json is read. With them, what they came to is remembered beside the state
(cache.py), so that a hook of such a project is as fast as any.
"""

from __future__ import annotations

from nexus_mcp.catalog import shipped
from nexus_mcp.catalog.sources import AGENTS, BODY, CLOSED, LOST_MAP, MEND, PROJECT, SKILLS, Own, Shipped
from nexus_mcp.errors import CatalogError, NexusError, UnknownEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.catalog.sources import Source
    from nexus_mcp.store.folder import Folder

_KIND = {AGENTS: "agent", SKILLS: "skill"}


class Catalog:
    """Agents, skills, vocabulary and capability maps, as plain values (docs/agents.md).

    agents: id → {id, name, description, category, resume_tier, model_tier, capabilities (canonical), added (by the
    project), body_hash, origin "shipped"|"project", own_body}. skills: id → {id, name, description, manual_only,
    harness_notes, body_hash, origin, own_body}. vocabulary: the files of assets/vocabulary, `-` as `_`. maps: harness
    id → its capability map. An agent with a fault in its files has a member `mend` too: the file to look at. `told`: a
    line for each of the first few faults, for people and models.
    """

    __slots__ = ("_closed", "_lost", "_mapped", "_root", "_value", "agents", "maps", "skills", "told", "vocabulary")

    def __init__(self, value: dict[str, Any], own: dict[str, Any] | None = None, root: str = "") -> None:
        over = own or {AGENTS: {}, SKILLS: {}, "maps": {}, "told": [], CLOSED: "", LOST_MAP: ""}
        self._root = root
        self._value = value
        self._closed: str = over[CLOSED]
        self._lost: str = over[LOST_MAP]
        self._mapped = frozenset(over["maps"])
        self.agents: dict[str, dict[str, Any]] = {**value[AGENTS], **over[AGENTS]}
        self.skills: dict[str, dict[str, Any]] = {**value[SKILLS], **over[SKILLS]}
        self.maps: dict[str, dict[str, Any]] = {**value["maps"], **over["maps"]}
        self.vocabulary: dict[str, Any] = value["vocabulary"]
        self.told: list[str] = _with_advice(over["told"])

    def agent(self, name: str) -> dict[str, Any]:
        """Raises UnknownEntry."""
        return self._entry(AGENTS, name)

    def lost_map(self, harness: str) -> str:
        """The project's capability map where what it says of the harness cannot be used; "" where nothing is lost."""
        return "" if harness in self._mapped else self._lost

    def unlisted(self, name: str) -> dict[str, Any] | None:
        """The agent `name` that `agents` does not have, where the project's own cannot be listed; else None.

        It may be one of them, so it may do nothing that can be forbidden.
        """
        if not self._closed or not name:
            return None
        from nexus_mcp.catalog import shut

        return self.agents.setdefault(name, shut.unlisted(name, self._closed, self._value))

    def skill(self, name: str) -> dict[str, Any]:
        """Raises UnknownEntry."""
        return self._entry(SKILLS, name)

    def body(self, kind: str, name: str) -> str:
        """The text of an entry ("agents" or "skills"), placeholders and all.

        Raises UnknownEntry, and CatalogError, PathRefused, StorageError for a file that went since.
        """
        entry = self._entry(kind, name)
        if not has_text(entry):
            raise CatalogError([f"{entry[MEND]}: {name} cannot be used as it is"])
        if entry["own_body"] and entry["origin"] == PROJECT:
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


def _with_advice(told: list[str]) -> list[str]:
    """What is kept of a project holds for every installation, and which words start this one is no part of it."""
    if not told:
        return told
    from nexus_mcp.program import command

    return [*told[:-1], f"{told[-1]} {command('catalog check')} tells all that is wrong."]


def has_text(entry: dict[str, Any]) -> bool:
    """Whether an agent or a skill can be asked for its text: one of the project with a fault in its files cannot."""
    return not (entry["own_body"] and MEND in entry)


def load(root: str | None) -> Catalog:
    """The catalog of the project at `root`, for None the shipped one.

    Raises CatalogError with all that is wrong with the project's own files, and StorageError where there is no project.
    """
    return _loaded(root, is_strict=True)


def usable(root: str, is_over: Callable[[], bool] | None = None) -> Catalog:
    """The catalog of the project as far as it can be used; `told` says what is wrong with the rest, and what holds.

    A fault takes no restriction away: an agent with one may do nothing that can be forbidden (building.usable_value).
    Files that were not read before `is_over()` are at fault, too. Raises StorageError where there is no project.
    """
    return _loaded(root, is_strict=False, is_over=is_over)


def _loaded(root: str | None, *, is_strict: bool, is_over: Callable[[], bool] | None = None) -> Catalog:
    value = shipped.read()
    if root is None:
        return Catalog(value)
    from nexus_mcp.store.folder import Folder

    with Folder.root(root) as folder:
        try:
            nexus = folder.child(".nexus")
        except NexusError as error:
            from nexus_mcp.catalog import shut

            if is_strict:
                raise shut.fault(error) from error
            return Catalog(value, shut.all_of(error, value), root)
        if nexus is None:
            return Catalog(value)
        with nexus:
            return Catalog(value, _own(nexus, value, is_over, is_strict=is_strict), root)


def _own(
    nexus: Folder, value: dict[str, Any], is_over: Callable[[], bool] | None, *, is_strict: bool
) -> dict[str, Any] | None:
    """What the project puts over the shipped catalog; None for nothing."""
    from nexus_mcp.catalog import cache

    seen = cache.identities(nexus)
    if seen == []:
        return None
    kept = None if seen is None else cache.read(nexus, seen, value)
    if kept is None or (is_strict and kept["told"]):
        from nexus_mcp.catalog import building, shut

        made, faults = building.usable_value(Own(nexus), value, _work(nexus, seen, is_over))
        kept = {**made, **shut.standing(faults, value)}
        if seen is not None and not _is_right(kept, seen, value):  # what was kept of the files was not ours
            made, faults = building.usable_value(Own(nexus), value, _work(nexus, None, is_over))
            kept = {**made, **shut.standing(faults, value)}
        if seen is not None and not faults.may_pass:
            cache.write(nexus, seen, kept)
        if is_strict and faults.entries():
            raise CatalogError(faults.all())
    return kept


def _work(nexus: Folder, seen: Any, is_over: Callable[[], bool] | None) -> Any:
    from functools import partial

    from nexus_mcp.catalog import cache
    from nexus_mcp.catalog.rows import Work, never

    if seen is None:
        return Work(is_over=is_over or never)
    return Work(cache.read_rows(nexus), cache.by_entry(seen), partial(cache.write_rows, nexus), is_over or never)


def _is_right(kept: dict[str, Any], seen: Any, value: dict[str, Any]) -> bool:
    from nexus_mcp.catalog import cache

    try:
        return cache.is_right(kept, seen, value)
    except (TypeError, KeyError, AttributeError, ValueError):
        return False


def _text(source: Source, kind: str, name: str) -> str:
    path = f"{kind}/{name}/{BODY}"
    data = source.read(path)
    if data is None:
        raise CatalogError([f"{source.shown(path)}: is missing"])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CatalogError([f"{source.shown(path)}: is not text in UTF-8 (byte {error.start})"]) from error
