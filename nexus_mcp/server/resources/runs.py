"""Resources nexus://run (the newest run) and nexus://run/{id}: the status file of a run of `nexus-mcp run`."""

from __future__ import annotations

import os

from nexus_mcp.program import command
from nexus_mcp.server.resources.definition import JSON, Entry, Missing, Resource, ResourceRefused, as_json, info
from nexus_mcp.store.poller import EACH
from nexus_mcp.store.run_files import RUNS, STATUS, is_run_id, read_status, run_ids

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nexus_mcp.server.resources.definition import Content, ReadContext, Values

_ID = "id"


def _ids(ctx: ReadContext) -> list[str]:
    with ctx.store.state() as state:
        return [] if state is None else run_ids(state)


def _check(values: Values) -> None:
    if not is_run_id(values[_ID]):
        raise ResourceRefused("the id of a run looks like run-2026-01-31T10-00-00-000Z")


def read(ctx: ReadContext, values: Values) -> list[Content]:
    """Return the status of the run `id`, or of the newest run without an id.

    Raise Missing, and the errors of `read_status`.
    """
    with ctx.store.state() as state:
        ids = [] if state is None else run_ids(state)
        if state is None or not ids:
            raise Missing(f"this project has no run; {command('run')} begins one")
        name = values.get(_ID, ids[-1])
        if name not in ids:
            raise Missing(f"there is no run {name}; the newest one is {ids[-1]}")
        found = read_status(state, name)
    if found is None:
        raise Missing(f"{name} has no status yet; {command('run status')} shows the run from its log")
    return as_json(found)


def newest(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
    """Yield the entry of the newest run, if that run has a status file and `after` is None."""
    ids = _ids(ctx) if after is None else []
    for entry in _entry(ctx, ids[-1]) if ids else ():
        yield Entry("", {}, size=entry.size, modified=entry.modified)


def entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
    """Yield an entry for each run after the id `after` that has a status file, oldest first."""
    for name in _ids(ctx):
        if after is None or name > after:
            yield from _entry(ctx, name)


def _entry(ctx: ReadContext, name: str) -> Iterator[Entry]:
    seen = info(os.path.join(ctx.workspace.state_root, ".nexus", "state", RUNS, name), STATUS)
    if seen is not None:
        yield Entry(name, {_ID: name}, title=name, modified=seen.st_mtime)


def words(ctx: ReadContext, _: str) -> Iterable[str]:
    """Return the ids of the runs, newest first."""
    return reversed(_ids(ctx))


NEWEST = Resource(
    "nexus://run",
    name="run",
    title="The newest run",
    description="The status file of the newest run: progress, attempts at work, cost, open questions.",
    mime_type=JSON,
    priority=0.8,
    read=read,
    entries=newest,
    watched=lambda _: (f"state/{RUNS}/{STATUS}{EACH}",),
)


RUN = Resource(
    "nexus://run/{id}",
    name="runs",
    title="A run",
    description="The status file of the run with this id.",
    mime_type=JSON,
    priority=0.5,
    read=read,
    check=_check,
    entries=entries,
    watched=lambda values: (f"state/{RUNS}/{values[_ID]}/{STATUS}",),
    words=words,
)
