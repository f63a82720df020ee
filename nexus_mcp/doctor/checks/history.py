"""history.json: whether it can be read, and which of its cycles are not as they should be. Old shapes are."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from nexus_mcp import schemas
from nexus_mcp.doctor.documents import opened
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.numbers import listed, spelled
from nexus_mcp.state import shapes
from nexus_mcp.store.journal import SHOWN_HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nexus_mcp.doctor.site import Site

_MOST = 4
_LONGEST = 100


def check(site: Site) -> Iterator[Finding]:
    yield from site.history.findings
    if site.history.file is None:
        return
    cycles = site.history.file.cycles
    yield from _broken(cycles)
    plans = (
        (index, cycle["plan"].get("id")) for index, cycle in enumerate(cycles) if isinstance(cycle.get("plan"), dict)
    )
    yield from _repeated(
        ((i, id_) for i, id_ in plans if schemas.is_integer(id_)), "repeated-plan-id", "plan id", "/plan/id"
    )
    times = ((index, cycle.get("completed_at")) for index, cycle in enumerate(cycles))
    yield from _repeated(
        ((i, at) for i, at in times if isinstance(at, str)), "repeated-time", "completed_at", "/completed_at"
    )


def _broken(cycles: list[dict[str, Any]]) -> Iterator[Finding]:
    """The cycles that break the schema. One without a schema_version or a plan, or with fields of its own, is old."""
    envelope = opened(shapes.part(shapes.CYCLE))
    envelope["required"] = [name for name in envelope["required"] if name != "schema_version"]
    plan = opened(schemas.load(shapes.PLAN))
    for index, cycle in enumerate(cycles):
        pointer = f"/cycles/{index}"
        has_plan = isinstance(cycle.get("plan"), dict)
        # The plan by itself: of a value that matches none of several shapes nobody says where it does not.
        found = schemas.faults(envelope, {**cycle, "plan": None} if has_plan else cycle, pointer, _MOST)
        if has_plan and len(found) < _MOST:
            found += schemas.faults(plan, cycle["plan"], f"{pointer}/plan", _MOST)
        if found:
            others = [fault.pointer for fault in found[1:_MOST] if len(fault.pointer) < _LONGEST]
            also = f"; also broken: {', '.join(others)}" if others else ""
            more = " and more" if len(found) > _MOST else ""
            yield Finding("old-cycle", SHOWN_HISTORY, f"{found[0].message}{also}{more}", found[0].pointer)


def _repeated(values: Iterable[tuple[int, object]], code: str, what: str, below: str) -> Iterator[Finding]:
    places: defaultdict[object, list[int]] = defaultdict(list)
    for index, value in values:
        places[value].append(index)
    for value, indexes in places.items():
        if len(indexes) > 1:
            named = f" {spelled(value)}" if isinstance(value, (int, float)) else ""
            problem = f"has the same {what}{named} in {len(indexes)} cycles: {listed(indexes)}"
            yield Finding(code, SHOWN_HISTORY, problem, f"/cycles/{indexes[1]}{below}")
