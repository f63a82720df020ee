"""Faults in the syncs for a dead process: each shows only after a death and then a power cut."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from nexus_mcp.store import access, commit, journal
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.history.frame import HistoryFile
from tests.reliability.mutants.definition import Mutant


def _unconfirmed_journal() -> tuple[Any, str, Any]:
    return journal, "_confirm_journal", lambda state: None


def _unconfirmed_folder() -> tuple[Any, str, Any]:
    real = Folder.make

    def make(self: Folder, name: str, *, confirm: bool = True) -> tuple[Folder, bool]:
        with patch.object(Folder, "names", lambda self: ["something"]):
            return real(self, name, confirm=confirm)

    return Folder, "make", make


def _unconfirmed_beginning() -> tuple[Any, str, Any]:
    real = access.WriterLock.begin

    def begin(self: access.WriterLock) -> bool:
        self.held.orderly = self.held.orderly or not self.held.created
        return real(self)

    return access.WriterLock, "begin", begin


def _unconfirmed_removal() -> tuple[Any, str, Any]:
    return commit, "sync", lambda state: None


def _unconfirmed_history() -> tuple[Any, str, Any]:
    real = journal._apply_cycle

    def apply(nexus: Folder, state: Folder, cycle: dict[str, Any], *others: Any) -> None:
        if not HistoryFile(nexus.read(journal.HISTORY, journal.HISTORY_LIMIT)).has(cycle):
            real(nexus, state, cycle, *others)

    return journal, "_apply_cycle", apply


MUTANTS = (
    Mutant("unconfirmed-journal", "A journal is completed without a sync of its name.", _unconfirmed_journal),
    Mutant("unconfirmed-folder", "A file is created in a folder whose name was never synced.", _unconfirmed_folder),
    Mutant(
        "unconfirmed-beginning",
        "If the lock file exists, its folders count as synced, although their maker died before that.",
        _unconfirmed_beginning,
    ),
    Mutant("unconfirmed-history", "A cycle that was never synced counts as durable.", _unconfirmed_history),
    Mutant("unconfirmed-removal", "A removed journal may come back: its removal is not synced.", _unconfirmed_removal),
)
