"""Read `.nexus/config.yml`, the settings of a project (schemas/catalog/config.schema.json, docs/config.md).

The YAML library is loaded only if the file exists.
"""

from __future__ import annotations

from nexus_mcp.catalog.sources import YAML_BYTES
from nexus_mcp.errors import CatalogError, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

NAME = "config.yml"
_SCHEMA = "catalog/config"
LIMIT = YAML_BYTES
_LONGEST = 40
_NEXT_STEP = (
    "Correct the file, then call again. "
    "Its settings are gates:, worktrees:, context_limit:, models:, tags:, memory: and run:."
)


def read(nexus: Folder | None) -> dict[str, Any]:
    """Return the settings, {} without a file.

    Raise CatalogError if the file is malformed, with at most 20 faults, or larger than LIMIT bytes; PathRefused,
    StorageError.
    """
    try:
        data = None if nexus is None else nexus.read(NAME, LIMIT)
    except StateError as error:
        problem = f"{error.file}: larger than the {LIMIT >> 10} KiB that are read"
        raise CatalogError([problem], next_step=_NEXT_STEP) from error
    if nexus is None or data is None:
        return {}
    from nexus_mcp import schemas
    from nexus_mcp.catalog import yaml_file

    try:
        document = yaml_file.read(data, nexus.show(NAME))
    except CatalogError as error:
        raise CatalogError(error.faults, next_step=_NEXT_STEP) from error
    value = {} if document.value is None else document.value
    found = schemas.faults(schemas.load(_SCHEMA), value, most=20)
    if found:
        raise CatalogError(
            [document.fault_at(fault.pointer, _fault_text(fault)) for fault in found], next_step=_NEXT_STEP
        )
    # A key without a value counts as absent, because everything below it may be commented out.
    parts = _without_nulls(value)
    return {name: _without_nulls(part) if isinstance(part, dict) else part for name, part in parts.items()}


def worktree_mode(root: str) -> str:
    """Return the setting `worktrees` of the project at `root`, "auto" if it is not set. If it cannot be read, return
    "own", because then nothing is written outside of the worktree.
    """
    from nexus_mcp.errors import NexusError
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.worktree import AUTO, OWN

    try:
        with Folder.root(root) as top:
            nexus = top.child(".nexus")
            if nexus is None:
                return AUTO
            with nexus:
                mode: str = read(nexus).get("worktrees", AUTO)
    except NexusError:  # every action that needs the settings reports the fault
        return OWN
    return mode


def _without_nulls(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None}


def _fault_text(fault: Any) -> str:
    from nexus_mcp.quoting import quote
    from nexus_mcp.schemas import UNKNOWN_FIELD

    name = fault.pointer.rpartition("/")[2]
    if fault.message == UNKNOWN_FIELD:  # untrusted text, which a model may read
        name = quote(name, _LONGEST)
    return f"{name} {fault.message}" if name else f"the file {fault.message}"
