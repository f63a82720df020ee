"""Taking back the last changes of session files and artifacts: itself a change, made as all others are."""

from __future__ import annotations

from nexus_mcp.state import oplog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.state.oplog import By
    from nexus_mcp.store.store import Store
    from nexus_mcp.store.transaction import Transaction


def undo(store: Store, by: By, count: int, *, dry_run: bool = False) -> dict[str, Any]:
    """Take the last `count` changes back that were not taken back yet: all of them or, when one must stay, none.

    -> `undone`: their entries, the newest first · `files`: path from `.nexus/state` -> whether the file is there
    afterwards. Raises UndoRefused, StateError, PathRefused, StorageError with nothing changed, NotAppliedYet,
    NotConfirmed. With `dry_run` nothing is changed at all. An undo that was interrupted is completed first, as by any
    call, and then refused once: whoever repeats it did not ask for more to be taken back, and there is no redo.
    """

    def change(now: Transaction) -> dict[str, Any]:
        oplog.check_completed(now.completed)
        lines = now.log()
        entries = oplog.last_changes(lines, count)
        oplog.check_names({file["name"] for entry in entries for file in entry["files"]})
        files: dict[str, bytes | None] = {}
        for entry in entries:
            for file in entry["files"]:
                name = file["name"]
                files[name] = oplog.put_back(file, files[name] if name in files else now.current(name), entry)
        for name, data in files.items():
            now.restore(name, data)
        now.undoes = [entry["id"] for entry in entries]
        now.what = f"takes back {count} change{'s' * (count > 1)}"
        return {"undone": entries, "files": {name: data is not None for name, data in files.items()}}

    return store.preview(change, by) if dry_run else store.change(change, by)
