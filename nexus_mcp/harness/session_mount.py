"""Make the configuration with server and hooks for one session of `nexus-mcp run`, from the rows that `install` writes.

No file of the user or of the worktree is touched. The driver passes the configuration to the harness on the command
line, in files that the command line names, or in the environment.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.harness import load
from nexus_mcp.harness.definition import HOOKS, PROJECT, SERVER, Request, Site, SplicedEntry
from nexus_mcp.harness.models import Models
from nexus_mcp.harness.record import Record
from nexus_mcp.harness.second_hook import HARNESSES as GIVES_WAY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nexus_mcp.catalog.load import Catalog

_GATE = "off"
"""Every session of a run has a task, so the edit gate is off."""
_SECOND = "--plugin"
"""With this option a hook stays silent if a hook that `install` wrote answers the event."""


class Mount(NamedTuple):
    """Server and hooks for a session. `server` and `hooks` are whole configuration documents in the format of the
    harness, {} if the part is left out; `files` maps the path of each generated file, which `hooks` names, to its text.
    """

    server: Mapping[str, Any]
    hooks: Mapping[str, Any]
    files: Mapping[str, str]


NOTHING = Mount({}, {}, {})


def mount(harness: str, folder: str, command: Sequence[str], catalog: Catalog, *, has_hooks: bool = False) -> Mount:
    """Return the server and hooks of a harness for a session; generated files belong below `folder`.

    `command` starts nexus-mcp. `has_hooks`: the harness loads hooks that `install` wrote, and hooks of the session
    would not stay silent beside them, so the result has no hooks.
    """
    parts = (SERVER,) if has_hooks else (SERVER, HOOKS)
    request = Request(
        parts=parts,
        command=command,
        gate=_GATE,
        prefix="",
        fast_hooks=False,
        catalog=catalog,
        models=Models(harness, {}, {}),
        native_skills=False,
        hook_options=(_SECOND,) if harness in GIVES_WAY else (),
    )
    documents: dict[str, dict[str, Any]] = {SERVER: {}, HOOKS: {}}
    files: dict[str, str] = {}
    for row in load(harness).rows(Site(PROJECT, folder, os.environ), request, Record()):
        if isinstance(row, SplicedEntry):
            _put(documents[row.part], row)
        else:
            files[row.path] = row.text
    return Mount(documents[SERVER], documents[HOOKS], files)


def _put(document: dict[str, Any], row: SplicedEntry) -> None:
    """Put the entry of a row into a document."""
    *above, last = row.pointer
    for name in above:
        document = document.setdefault(name, {})
    if row.is_item:
        document.setdefault(last, []).append(row.value)
    else:
        document[last] = row.value
