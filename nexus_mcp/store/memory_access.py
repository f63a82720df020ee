"""How often each note of `.nexus/memory/` was read, and by whom: a line for each note, in the harness's own folder."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import StateError
from nexus_mcp.store import jsonl
from nexus_mcp.store.codec import compact, in_utf8
from nexus_mcp.store.harness_files import ACCESS, own_folder
from nexus_mcp.store.journal import SESSION_LIMIT
from nexus_mcp.store.original import read
from nexus_mcp.store.replacing import Replacement, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.store import Store

SCHEMA = "state/memory-access"


def note_read(store: Store, harness_id: str, path: str, agent: str) -> dict[str, Any]:
    """Count one more read of the note at `path`, from the project root, by `agent`; its line as it is now.

    All other lines stay as they are, to the byte, those that cannot be read among them. Raises StateError, PathRefused
    and StorageError with nothing written, NotConfirmed.
    """
    with own_folder(store, harness_id) as (own, held):
        return repeated(lambda: _noted(own, held, path, store.stamp(), agent))


def _noted(own: Folder, held: Held, path: str, now: str, agent: str) -> dict[str, Any]:
    """As `note_read`, once. Raises ChangedMeanwhile when another program saved the file."""
    original = read(own, ACCESS, SESSION_LIMIT)
    data = original.content() or b""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    at, line = _counted(lines, path, now, agent)
    lines[at : at + 1] = [in_utf8(compact(line))]
    changed = b"\n".join(lines) + b"\n"
    if len(changed) > SESSION_LIMIT:
        raise StateError(own.show(ACCESS), f"would grow beyond {SESSION_LIMIT >> 20} MiB")
    Replacement(own, ACCESS, original).put(changed, held.check)()
    return line


def _counted(lines: list[bytes], path: str, now: str, agent: str) -> tuple[int, dict[str, Any]]:
    """(the number of the line that tells of the note, that of a new one when none does; what it says from now on)."""
    told = {"path": path, "last_accessed_ts": now, "access_count": 1, "last_agent": agent}
    spelt = in_utf8(compact(path))
    for number in reversed(range(len(lines))):
        line = lines[number]
        if spelt not in line and b"\\" not in line:  # nor is it there in another spelling
            continue
        known = jsonl.parsed(line, ACCESS) if line.strip() else None
        if known is None or known.get("path") != path or schemas.faults(schemas.readable(SCHEMA), known, most=1):
            continue
        return number, {**known, **told, "access_count": int(known["access_count"]) + 1}
    return len(lines), told
