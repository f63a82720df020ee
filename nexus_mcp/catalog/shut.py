"""What stands in the place of what a project wrote and cannot be used, and how that is told in a few lines."""

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
# Of an agent that is known by its folder alone: never resumed, and nobody hands work to it.
_UNKNOWN = {"category": "check", "resume_tier": "ephemeral", "model_tier": "standard", "body_hash": ""}


def agents(faults: Faults, shipped: Value) -> dict[str, Value]:
    """An entry for each agent with a fault: as it is shipped, where it is, and with every capability there is.

    Where the folder of the agents cannot be listed that is each of those that are shipped.
    """
    found = [entry.partition("/") for entry in faults.entries()]
    at = {name: faults.files(f"{kind}/{name}")[0] for kind, slash, name in found if slash and kind == AGENTS}
    if faults.of(AGENTS):
        at = dict.fromkeys(shipped[AGENTS], faults.files(AGENTS)[0])
    return {name: _agent(name, file, shipped) for name, file in at.items()}


def _closed(faults: Faults) -> str:
    """The folder of the agents where it cannot be listed; "" where it can."""
    return faults.files(AGENTS)[0] if faults.of(AGENTS) else ""


def standing(faults: Faults, shipped: Value) -> Value:
    """What is said beside the agents, skills and maps: `told`, and what a fault leaves unknown."""
    lost = faults.files(MAP)[0] if faults.of(MAP) else ""
    return {"told": told(faults, shipped), CLOSED: _closed(faults), LOST_MAP: lost}


def unlisted(name: str, file: str, shipped: Value) -> Value:
    """An agent that may be one of the project's own: with every capability there is."""
    return _agent(name, file, shipped)


def fault(error: NexusError) -> CatalogError:
    """What stands in the way of the catalog where `.nexus` cannot be opened. Raises what says nothing about a file."""
    faults = Faults()
    faults.raised(AGENTS, ".nexus", error)
    return CatalogError(faults.all())


def all_of(error: NexusError, shipped: Value) -> Value:
    """What a project has whose `.nexus` cannot be opened. Raises what says nothing about a file."""
    faults = Faults()
    faults.raised(AGENTS, ".nexus", error)
    return {
        AGENTS: agents(faults, shipped),
        SKILLS: {},
        "maps": {},
        **standing(faults, shipped),
        LOST_MAP: ".nexus",
    }


def told(faults: Faults, shipped: Value) -> list[str]:
    """A line for each of the first few entries with a fault, with what holds meanwhile, and one about the others."""
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
