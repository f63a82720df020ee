"""Whether the cached catalog of a project has the structure of one, before it is used: anybody may have written it.

By hand, not by a schema: hooks do this each time. A damaged or forged cache must never leave a shipped agent with less
than its canonical capabilities. Whether the project's files have changed since is for cache.py.
"""

from __future__ import annotations

from nexus_mcp.catalog.sources import AGENTS, CLOSED, KINDS, LOST_MAP, MEND, PROJECT, SKILLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    Value = dict[str, Any]

_MEMBERS = {AGENTS, SKILLS, "maps", "told", CLOSED, LOST_MAP}
_OF = {
    AGENTS: {
        **dict.fromkeys(("id", "name", "description", "model_tier", "body_hash", "category", "resume_tier"), str),
        **dict.fromkeys(("capabilities", "added"), list),
        "origin": str,
        "own_body": bool,
    },
    SKILLS: {
        **dict.fromkeys(("id", "name", "description", "body_hash", "origin"), str),
        "manual_only": bool,
        "harness_notes": list,
        "own_body": bool,
    },
}
_TABLES = ("editing", "patching", "opening", "resuming")
_MAP = {"classes": dict, "reading": list, **dict.fromkeys(_TABLES, dict), "nexus_tools": str}


def is_sound(own: Any, shipped: Value, names: Mapping[str, Collection[str] | None], *, has_map: bool) -> bool:
    """`names`: the folders there are of each kind, None for too many; `has_map`: whether the project has a map.

    Raises TypeError, AttributeError.
    """
    if not isinstance(own, dict) or own.keys() != _MEMBERS or not _is_texts(own["told"]):
        return False
    vocabulary = shipped["vocabulary"]
    agents, skills = names[AGENTS], names[SKILLS] or ()
    all_there = own[AGENTS].keys() == set(shipped[AGENTS] if agents is None else agents)
    return (
        all_there
        and own[SKILLS].keys() <= set(skills)
        and isinstance(own[CLOSED], str)
        and isinstance(own[LOST_MAP], str)
        and bool(own[CLOSED]) == (agents is None)
        and (agents is not None or all(MEND in entry for entry in own[AGENTS].values()))
        and (bool(own["told"]) or (None not in names.values() and own[SKILLS].keys() == set(skills)))
        and (has_map or own["maps"] == {})
        and all(_is_entry(kind, name, entry) for kind in KINDS for name, entry in own[kind].items())
        and all(_is_agent(entry, shipped[AGENTS].get(name), vocabulary) for name, entry in own[AGENTS].items())
        and all(_is_skill(entry, shipped[SKILLS].get(name)) for name, entry in own[SKILLS].items())
        and all(_is_map(entry, vocabulary) for entry in own["maps"].values())
    )


def _is_entry(kind: str, name: str, entry: Any) -> bool:
    wanted = _OF[kind]
    return (
        isinstance(entry, dict)
        and entry.keys() - {MEND} == wanted.keys()
        and all(isinstance(entry[member], type_) for member, type_ in wanted.items())
        and entry["id"] == name
        and entry["origin"] == PROJECT
    )


def _is_agent(entry: Value, below: Value | None, vocabulary: Value) -> bool:
    has = {*entry["capabilities"], *entry["added"]}
    every = vocabulary["capabilities"].keys()
    return (
        has <= every
        and (below is None or entry["capabilities"] == below["capabilities"])
        and (MEND not in entry or (isinstance(entry[MEND], str) and has == every))
        and entry["category"] in vocabulary["categories"]
        and entry["resume_tier"] in vocabulary["resume_tiers"]
    )


def _is_skill(entry: Value, below: Value | None) -> bool:
    return _is_texts(entry["harness_notes"]) and (below is None or entry["manual_only"] or not below["manual_only"])


def _is_map(known: Any, vocabulary: Value) -> bool:
    return (
        isinstance(known, dict)
        and known.keys() == _MAP.keys()
        and all(isinstance(known[member], type_) for member, type_ in _MAP.items())
        and _is_texts(known["reading"])
        and all(_is_texts(tools) and tools for tools in known["classes"].values())
        and all(name in known["classes"] for one in vocabulary["capabilities"].values() for name in one["classes"])
        and all(_is_texts(list(known[member].values())) for member in _TABLES)
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
