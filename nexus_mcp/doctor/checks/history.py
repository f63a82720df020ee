"""Check history.json: readability, shape, plan ids and times of its cycles. Known shapes of old versions are valid."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from nexus_mcp import schemas
from nexus_mcp.doctor.documents import allow_unknown_fields
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.values import find_bad_times, format_ids
from nexus_mcp.state import shapes
from nexus_mcp.store.journal import SHOWN_HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nexus_mcp.doctor.site import Site

Value = TypeVar("Value", float, str)
_MOST = 4
_LONGEST = 100


def check(site: Site) -> Iterator[Finding]:
    yield from site.history.findings
    if site.history.file is None:
        return
    cycles = site.history.file.cycles
    yield from _find_broken(cycles)
    plans = (
        (index, cycle["plan"].get("id")) for index, cycle in enumerate(cycles) if isinstance(cycle.get("plan"), dict)
    )
    yield from _shared_ids((i, id_) for i, id_ in plans if schemas.is_integer(id_))
    times = ((index, cycle.get("completed_at")) for index, cycle in enumerate(cycles))
    yield from _repeated_times((i, at) for i, at in times if isinstance(at, str))
    schema = shapes.part(shapes.CYCLE)
    for index, cycle in enumerate(cycles):
        yield from find_bad_times(SHOWN_HISTORY, schema, cycle, site.now, f"/cycles/{index}")


def _find_broken(cycles: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield cycles that break the schema. A missing schema_version and extra fields are allowed."""
    envelope = allow_unknown_fields(shapes.part(shapes.CYCLE))
    envelope["required"] = [name for name in envelope["required"] if name != "schema_version"]
    plan = allow_unknown_fields(schemas.load(shapes.PLAN))
    for index, cycle in enumerate(cycles):
        pointer = f"/cycles/{index}"
        has_plan = isinstance(cycle.get("plan"), dict)
        # The plan is validated separately, because the fault of an anyOf does not name the place inside the plan.
        found = schemas.faults(envelope, {**cycle, "plan": None} if has_plan else cycle, pointer, _MOST)
        if has_plan and len(found) < _MOST:
            found += schemas.faults(plan, cycle["plan"], f"{pointer}/plan", _MOST)
        if found:
            others = [fault.pointer for fault in found[1:_MOST] if len(fault.pointer) < _LONGEST]
            also = f"; also broken: {', '.join(others)}" if others else ""
            more = " and more" if len(found) > _MOST else ""
            yield Finding("old-cycle", SHOWN_HISTORY, f"{found[0].message}{also}{more}", found[0].pointer)


def _shared_ids(ids: Iterable[tuple[int, float]]) -> Iterator[Finding]:
    """Yield one finding for all repeated plan ids, because a merge of two branches with new plans may repeat many."""
    shared = _find_repeated(ids)
    if shared:
        are = "1 plan id in several plans" if len(shared) == 1 else f"{len(shared)} plan ids in several plans"
        first = min(indexes[1] for indexes in shared.values())
        problem = f"has {are}: {format_ids(list(shared))}"
        yield Finding("repeated-plan-id", SHOWN_HISTORY, problem, f"/cycles/{first}/plan/id")


def _repeated_times(times: Iterable[tuple[int, str]]) -> Iterator[Finding]:
    for indexes in _find_repeated(times).values():
        problem = f"has the same completed_at in {len(indexes)} cycles: {format_ids(indexes)}"
        yield Finding("repeated-time", SHOWN_HISTORY, problem, f"/cycles/{indexes[1]}/completed_at")


def _find_repeated(values: Iterable[tuple[int, Value]]) -> dict[Value, list[int]]:
    """Return each repeated value with the indexes of its cycles."""
    places: defaultdict[Value, list[int]] = defaultdict(list)
    for index, value in values:
        places[value].append(index)
    return {value: indexes for value, indexes in places.items() if len(indexes) > 1}
