"""What is to be done about a history.json when the cycles of a commit are wanted, too: `history repair --from`."""

from __future__ import annotations

from nexus_mcp.errors import StateError, UsageError
from nexus_mcp.merging import markers
from nexus_mcp.merging.committed import Unknown
from nexus_mcp.merging.diagnosis import Healthy, Hopeless, Lacking, readable
from nexus_mcp.merging.restore import restored
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store.journal import SHOWN_HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.merging.diagnosis import Committed, Diagnosis, Unmerged

_WITHOUT_FROM = "nexus-mcp history repair without --from keeps the cycles of both sides."


def diagnose_with(data: bytes | None, revision: str, unmerged: Unmerged, committed: Committed) -> Diagnosis:
    """What there is to say of these bytes, None for no file, where the cycles of the commit `revision` are wanted, too.

    Raises UsageError when there is no such commit.
    """
    from nexus_mcp.store.history_file import HistoryFile

    fault, kept = "", data
    try:
        if data is not None:
            HistoryFile(data)
    except StateError as error:
        fault, kept = error.fault, None
    what = fault or f"{SHOWN_HISTORY} can be read"
    try:
        whole = committed(revision)
        if whole is None:
            return Hopeless(what, f"{revision} has no {SHOWN_HISTORY}")
        if data is not None and (markers.are_whole(data) or unmerged() is not None):
            return Hopeless(what, "git has a conflict of it, and a commit has but one side", _WITHOUT_FROM)
        if data is not None and fault:
            kept = readable(data)
        made = restored(kept, whole, revision)
    except Unknown as unknown:
        raise UsageError(f"--from: {unknown.reason}.", next_step="git log names the commits that there are.") from None
    except Undecided as undecided:
        return Hopeless(what, undecided.reason, undecided.next_step)
    if data is not None and not fault and not made.lacking:
        return Healthy(made.cycles)
    return Lacking(fault, revision, made)
