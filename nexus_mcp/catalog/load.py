"""Load the catalog of a project: `.nexus/agents`, `.nexus/skills` and the project's map override the shipped catalog.

If the project has no such files, only assets/catalog.json is read. Otherwise the result is cached (cache.py), so that
hooks stay fast.
"""

from __future__ import annotations

from nexus_mcp.catalog.sources import (
    AGENTS,
    BODY,
    CLOSED,
    LOST_MAP,
    MEND,
    PROJECT,
    SKILLS,
    Own,
    ShippedFiles,
    read_shipped,
)
from nexus_mcp.catalog.tool_files import ANY
from nexus_mcp.errors import CatalogError, NexusError, UnknownEntry
from nexus_mcp.wording import line_and_column_of_byte

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
    harness_notes, triggers, hint, body_hash, origin, own_body}. vocabulary: a field for each file of assets/vocabulary,
    with `_` for `-`, and `tools`: the name of each tool of ours → its classes. maps: harness id → its capability map. A
    faulty agent also has the field `mend`: the file to correct. `warnings`: lines on the first faulty entries, for
    people and models.
    """

    __slots__ = (
        "_closed",
        "_lost",
        "_mapped",
        "_root",
        "_unmounted",
        "_value",
        "agents",
        "maps",
        "skills",
        "vocabulary",
        "warnings",
    )

    def __init__(self, value: dict[str, Any], own: dict[str, Any] | None = None, root: str = "") -> None:
        over = own or {AGENTS: {}, SKILLS: {}, "maps": {}, "warnings": [], CLOSED: "", LOST_MAP: ""}
        self._root = root
        self._value = value
        self._closed: str = over[CLOSED]
        self._lost: str = over[LOST_MAP]
        self._mapped = frozenset(over["maps"])
        self.agents: dict[str, dict[str, Any]] = {**value[AGENTS], **over[AGENTS]}
        self.skills: dict[str, dict[str, Any]] = {**value[SKILLS], **over[SKILLS]}
        self.maps: dict[str, dict[str, Any]] = {**value["maps"], **over["maps"]}
        self._unmounted: dict[str, str] = {}
        self.vocabulary: dict[str, Any] = value["vocabulary"]
        self.warnings: list[str] = _with_advice(over["warnings"])

    def agent(self, name: str) -> dict[str, Any]:
        """Return an agent. Raise UnknownEntry."""
        return self._entry(AGENTS, name)

    def lost_map(self, harness: str) -> str:
        """Return the path of the project's capability map if the map is faulty and has no usable part for the harness;
        ".nexus" if the folder `.nexus` cannot be opened; else "".
        """
        return "" if harness in self._mapped else self._lost

    def unlisted_agent(self, name: str) -> dict[str, Any] | None:
        """Return the entry of the agent `name`, and add it if it is not in `agents`. Return None if the agents of the
        project can be listed, or if the name is "".

        An added agent gets every restriction, because it may be one of the project.
        """
        if not self._closed or not name:
            return None
        from nexus_mcp.catalog.faults import restricted_agent

        return self.agents.setdefault(name, restricted_agent(name, self._closed, self._value))

    def skill(self, name: str) -> dict[str, Any]:
        """Return a skill. Raise UnknownEntry."""
        return self._entry(SKILLS, name)

    def naming(self, harness: str, prefix: str = "") -> str:
        """Return the naming of our tools in a harness, with `*` in place of the tool's name. `prefix` is the server's
        tool prefix.

        Without a capability map the naming is the prefix and `*`.
        """
        known = self.maps.get(harness)
        naming: str = ANY if known is None else known["nexus_tools"]
        return naming.replace(ANY, prefix + ANY)

    def mount(self, harness: str, mount: str) -> Catalog:
        """Let the harness put `mount` before the names of our tools. Return this catalog, unchanged if `mount` is "" or
        the harness has no capability map.
        """
        if mount and harness in self.maps:
            known = self.maps[harness]
            self._unmounted = {harness: known["nexus_tools"], **self._unmounted}
            self.maps = {**self.maps, harness: {**known, "nexus_tools": mount + ANY}}
        return self

    def mount_of(self, harness: str, prefix: str = "") -> str:
        """Return the text before the names of our tools; "" if it is unknown, if it is the same as in the capability
        map, or if there is also a text after the names.
        """
        naming = self.naming(harness, prefix)
        is_known = harness not in self.maps or naming == self._unmounted.get(harness, self.naming(harness))
        return "" if is_known or not naming.endswith(ANY) else naming.removesuffix(ANY)

    def naming_in_map(self, harness: str) -> str:
        """Return the naming of our tools in the capability map; "" if the harness uses that naming."""
        return self._unmounted.get(harness, "") if self.mount_of(harness) else ""

    def notes(self, harness: str) -> str:
        """Return the notes of a harness, with its names of our tools; "" without notes."""
        from nexus_mcp.catalog.placeholders import read_notes

        text = read_notes(harness)
        noted = self._unmounted.get(harness, "").removesuffix(ANY)
        return text.replace(noted, self.naming(harness).removesuffix(ANY)) if noted else text

    def resolved_body(self, kind: str, name: str, harness: str, prefix: str = "") -> str:
        """Return the text of an entry with its placeholders resolved for a harness. Raise the errors of `body`."""
        return self.resolve(self.body(kind, name), harness, self.naming(harness, prefix), prefix)

    def resolve(self, text: str, harness: str, naming: str, prefix: str = "") -> str:
        """Return the text with its placeholders resolved for a harness; `naming` has `*` for the name of a tool."""
        from nexus_mcp.catalog.placeholders import resolve

        return resolve(text, naming, harness, self.vocabulary["invocations"], self.mount_of(harness, prefix))

    def body(self, kind: str, name: str) -> str:
        """Return the text of an entry, with its placeholders. `kind` is "agents" or "skills".

        Raise UnknownEntry; CatalogError, PathRefused or StorageError if the text is missing or cannot be read.
        """
        entry = self._entry(kind, name)
        if not has_text(entry):
            raise CatalogError([f"{entry[MEND]}: {name} cannot be used as it is"])
        if entry["own_body"] and entry["origin"] == PROJECT:
            from nexus_mcp.store.folder import Folder

            with Folder.root(self._root) as root:
                nexus = root.child(".nexus")
                if nexus is None:
                    return _text(ShippedFiles(), kind, name)
                with nexus:
                    return _text(Own(nexus), kind, name)
        return _text(ShippedFiles(), kind, name)

    def _entry(self, kind: str, name: str) -> dict[str, Any]:
        of = self.agents if kind == AGENTS else self.skills
        if name not in of:
            from nexus_mcp.catalog.placeholders import near

            raise UnknownEntry(_KIND[kind], name, near(name, of))
        return of[name]


def _with_advice(lines: list[str]) -> list[str]:
    """Return the lines, the last one followed by the command that lists all faults; [] stays [].

    The command is not in the cache, because it depends on the installation.
    """
    if not lines:
        return lines
    from nexus_mcp.program import command

    return [*lines[:-1], f"{lines[-1]} {command('catalog check')} lists all faults."]


def has_text(entry: dict[str, Any]) -> bool:
    """Return whether an entry has a readable text. A faulty agent has none, unless it changes a shipped one:
    then that text is used.
    """
    return not (entry["own_body"] and MEND in entry)


def load(root: str | None) -> Catalog:
    """Return the catalog of the project at `root`, or the shipped catalog if `root` is None.

    Raise CatalogError with the faults of the project's own files, and StorageError if the folder `root` cannot be
    opened.
    """
    return _load_catalog(root, is_strict=True)


def usable(root: str, is_over: Callable[[], bool] | None = None) -> Catalog:
    """Return the usable part of the project's catalog; its `warnings` name the first of the other entries, their faults
    and the fallbacks.

    A fault never removes a restriction: a faulty agent gets all restrictions (building.usable_value). Files that were
    not read before `is_over()` returned True count as faulty. Raise StorageError if the folder `root` cannot be opened.
    """
    return _load_catalog(root, is_strict=False, is_over=is_over)


def _load_catalog(root: str | None, *, is_strict: bool, is_over: Callable[[], bool] | None = None) -> Catalog:
    value = read_shipped()
    if root is None:
        return Catalog(value)
    from nexus_mcp.store.folder import close_all, open_folders

    opened: list[Folder] = []
    try:
        nexus = open_folders(opened, root, ".nexus")[-1]
        own = None if nexus is None else _own(nexus, value, is_over, is_strict=is_strict)
        return Catalog(value, own, root)
    except NexusError as error:
        if len(opened) != 1:  # the error is not that of opening `.nexus`
            raise
        from nexus_mcp.catalog.faults import folder_error, folder_fallback

        if is_strict:
            raise folder_error(error) from error
        return Catalog(value, folder_fallback(error, value), root)
    finally:
        close_all(opened)


def _own(
    nexus: Folder, value: dict[str, Any], is_over: Callable[[], bool] | None, *, is_strict: bool
) -> dict[str, Any] | None:
    """Return the project's changes of and additions to the shipped catalog; None without any. Raise CatalogError if
    `is_strict` is true and there are faults.
    """
    from nexus_mcp.catalog import cache

    seen = cache.identities(nexus)
    if seen == []:
        return None
    own = None if seen is None else cache.read(nexus, seen, value)
    if own is None or (is_strict and own["warnings"]):
        from nexus_mcp.catalog import building
        from nexus_mcp.catalog.faults import fault_fields

        made, faults = building.usable_value(Own(nexus), value, _work(nexus, seen, is_over))
        own = {**made, **fault_fields(faults, value)}
        if seen is not None and not cache.is_plausible(own, seen, value):  # another program changed the cached rows
            made, faults = building.usable_value(Own(nexus), value, _work(nexus, None, is_over))
            own = {**made, **fault_fields(faults, value)}
        if seen is not None and not faults.may_pass:
            cache.write(nexus, seen, own)
        if is_strict and faults.entries():
            raise CatalogError(faults.all())
    return own


def _work(nexus: Folder, seen: Any, is_over: Callable[[], bool] | None) -> Any:
    from functools import partial

    from nexus_mcp.catalog import cache
    from nexus_mcp.catalog.building import Work, never

    if seen is None:
        return Work(is_over=is_over or never)
    return Work(cache.read_rows(nexus), cache.by_entry(seen), partial(cache.write_rows, nexus), is_over or never)


def _text(source: Source, kind: str, name: str) -> str:
    path = f"{kind}/{name}/{BODY}"
    data = source.read(path)
    if data is None:
        raise CatalogError([f"{source.format_path(path)}: is missing"])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line, column = line_and_column_of_byte(data, error.start)
        raise CatalogError([f"{source.format_path(path)}:{line}:{column}: not UTF-8"]) from error
