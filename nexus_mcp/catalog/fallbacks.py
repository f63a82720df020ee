"""Fallbacks for project catalog entries that do not validate, and the warnings about them."""

from __future__ import annotations

from nexus_mcp.catalog.faults import Faults
from nexus_mcp.catalog.sources import AGENTS, CLOSED, LOST_MAP, MAP, MEND, PROJECT, SKILLS
from nexus_mcp.errors import CatalogError
from nexus_mcp.quoting import quoted_name

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.errors import NexusError

    Value = dict[str, Any]

_FEW = 3
# The entry of an agent whose folder alone is known. It is never resumed, and never suggested for work.
_UNKNOWN = {"category": "check", "resume_tier": "ephemeral", "model_tier": "standard", "body_hash": ""}


def agents(faults: Faults, shipped: Value) -> dict[str, Value]:
    """Return an entry for each faulty agent: the shipped one, if any, with every capability.

    When the folder of the agents cannot be listed, every shipped agent counts as faulty.
    """
    found = [entry.partition("/") for entry in faults.entries()]
    at = {name: faults.files(f"{kind}/{name}")[0] for kind, slash, name in found if slash and kind == AGENTS}
    if faults.of(AGENTS):
        at = dict.fromkeys(shipped[AGENTS], faults.files(AGENTS)[0])
    return {name: _agent(name, file, shipped) for name, file in at.items()}


def _closed(faults: Faults) -> str:
    """Return the folder of the agents when it cannot be listed; else ""."""
    return faults.files(AGENTS)[0] if faults.of(AGENTS) else ""


def standing(faults: Faults, shipped: Value) -> Value:
    """Return the fields beside agents, skills and maps: the warnings, and the parts that faults make unknown."""
    lost = faults.files(MAP)[0] if faults.of(MAP) else ""
    return {"told": warnings(faults, shipped), CLOSED: _closed(faults), LOST_MAP: lost}


def unlisted(name: str, file: str, shipped: Value) -> Value:
    """Return an entry with every capability for an agent that may be one of the project's own."""
    return _agent(name, file, shipped)


def fault(error: NexusError) -> CatalogError:
    """Convert the error of opening `.nexus` into a CatalogError. Raises errors that are not about a file."""
    faults = Faults()
    faults.raised(AGENTS, ".nexus", error)
    return CatalogError(faults.all())


def all_of(error: NexusError, shipped: Value) -> Value:
    """Return the fallback catalog when `.nexus` cannot be opened. Raises errors that are not about a file."""
    faults = Faults()
    faults.raised(AGENTS, ".nexus", error)
    return {
        AGENTS: agents(faults, shipped),
        SKILLS: {},
        "maps": {},
        **standing(faults, shipped),
        LOST_MAP: ".nexus",
    }


def warnings(faults: Faults, shipped: Value) -> list[str]:
    """Return one line each for the first faulty entries, with the fallback in use, and one line for the rest."""
    there = faults.entries()
    lines = [_line(faults, entry, shipped) for entry in there[:_FEW]]
    rest = len(there) - _FEW
    if rest > 0:
        lines.append(f"{rest} more agents, skills or maps of this project cannot be used.")
    return lines


def _agent(name: str, file: str, shipped: Value) -> Value:
    below = shipped[AGENTS].get(name)
    own: Value = below or {"id": name, "name": name, "description": f"{file} cannot be used.", **_UNKNOWN}
    canonical = [] if below is None else below["capabilities"]
    added = [one for one in shipped["vocabulary"]["capabilities"] if one not in canonical]
    over = {"capabilities": canonical, "added": added, "origin": PROJECT, "own_body": below is None, MEND: file}
    return {**own, **over}


def _line(faults: Faults, entry: str, shipped: Value) -> str:
    rest = faults.count(entry) - 1
    more = f" (and {rest} more)" if rest else ""
    return f"{faults.of(entry)[0].rstrip('.')}{more}; until that is mended {_meanwhile(entry, shipped)}."


def _meanwhile(entry: str, shipped: Value) -> str:
    kind, _, name = entry.partition("/")
    if kind == AGENTS:
        return f"{quoted_name(name) if name else 'every agent'} may do nothing that can be forbidden"
    if entry == MAP:
        return "the shipped map holds for each harness that it is about"
    if not name:
        return "the shipped ones are used"
    return "the shipped one is used" if name in shipped[SKILLS] else "there is no such skill"
