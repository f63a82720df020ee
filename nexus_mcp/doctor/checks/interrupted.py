"""Find files of interrupted processes: the journal of a change, temporary files, receipts of undelivered closes.

A change that is being made has such files, too, so they are reported only while no process is making a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nexus_mcp.doctor import places
from nexus_mcp.doctor.finding import CAP, Finding, More
from nexus_mcp.doctor.lock_watch import watch_holder
from nexus_mcp.doctor.survey import FILE, FOLDER
from nexus_mcp.errors import JournalError, NewerJournal, NexusError, StateError
from nexus_mcp.store import close_receipt, journal
from nexus_mcp.store.journal import SHOWN_HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.site import Site
    from nexus_mcp.doctor.survey import Entry


def check(site: Site) -> Iterator[Finding | More]:
    """Yield findings for files of interrupted processes; none if a process is making a change, or may be making one."""
    recorded = list(site.files(places.JOURNAL))
    markers = list(site.files(places.MARKER))
    if not recorded and not markers and not site.survey.temporary:
        return
    found: list[Finding] = []
    with site.watch.quiet(site.nexus) as quiet:
        if not quiet:
            return
        for entry in recorded:
            found += _journal(site, entry)
        leftovers = [entry for entry in site.survey.temporary if _is_there(site, entry)]
        unheld = [entry for entry in markers[:CAP] if _is_left(site, entry)]
    yield from found
    yield from _leftovers(site, leftovers)
    for entry in unheld:
        yield from _marker(site, entry)
    for entry in markers[CAP:]:
        yield Finding("unanswered-close", entry.path, "is one of many such files; its content was not checked")


def _journal(site: Site, entry: Entry) -> Iterator[Finding]:
    try:
        with site.folder_of(entry) as state:
            pending = None if state is None else journal.read_pending(state)
    except JournalError as error:
        code = "journal-newer" if isinstance(error, NewerJournal) else "journal-damaged"
        yield Finding(code, entry.path, error.problem)
        return
    except NexusError as error:
        yield Finding("unreadable", entry.path, f"cannot be read: {error.fault}")
        return
    if pending is not None:
        cycle = pending["cycle"]
        of = "" if cycle is None else f" of {cycle['completed_at']}"
        problem = f"holds an incomplete change{of}"
        yield Finding("journal-pending", entry.path, problem, advice=_first(site, pending), identity=pending["id"])


def _first(site: Site, pending: dict[str, Any]) -> str:
    """Return the step that the user has to take before a call can complete the change; "" if there is none."""
    cycle, past = pending["cycle"], site.history
    if cycle is not None and past.file is None and any(site.entries(places.HISTORY)):
        return f"Repair {SHOWN_HISTORY} first. Then any call completes the change."
    if cycle is not None and past.findings and past.file is not None and not past.file.has(cycle):
        return f"Update nexus-mcp first: {SHOWN_HISTORY} has a newer version. Then any call completes the change."
    for file in pending["files"]:
        found = _in_the_way(site, file["name"])
        if found:
            return f"Check {found}. Then any call completes the change."
    return ""


def _in_the_way(site: Site, name: str) -> str:
    """Return a text with the path that blocks the file `name`, and the kind, file or folder, that is required there; ""
    when nothing blocks it.
    """
    path, wanted = f"{places.STATE}/{name}", FILE
    while path != places.STATE:
        there = site.survey.entries.get(path)
        too_large = wanted == FILE and there is not None and there.size > journal.SESSION_LIMIT
        if there is not None and (there.kind != wanted or not there.readable or too_large):
            return f"{path}: it has to be {wanted} that you can read"
        path, wanted = path.rpartition("/")[0], FOLDER
    return ""


def _is_there(site: Site, entry: Entry) -> bool:
    try:
        with site.folder_of(entry) as folder:
            return folder is not None and folder.check_plain(entry.name)
    except NexusError:
        return False


def _is_left(site: Site, entry: Entry) -> bool:
    """Return whether the receipt exists and no live process has locked it."""
    try:
        with site.folder_of(entry) as state:
            if state is None:
                return False
            with watch_holder(state, entry.name) as held:
                return held is False
    except NexusError:
        return False


def _leftovers(site: Site, left: list[Entry]) -> Iterator[Finding | More]:
    for entry in left:
        yield Finding("leftover", entry.path, "was left by an interrupted process", advice=_advice(entry.path))
    others = site.survey.temporaries - len(site.survey.temporary)
    if left and others:  # only the first files are checked; the others count as leftovers, too
        yield More("leftover", others)


def _advice(path: str) -> str:
    if path.startswith(f"{places.STATE}/artifacts/"):
        return "Nothing: the next artifact_write into this folder removes it."
    return ""


def _marker(site: Site, entry: Entry) -> Iterator[Finding]:
    try:
        data = site.read(entry, journal.HISTORY_LIMIT)
    except StateError:
        data = b""
    except NexusError:
        return
    if data is None:
        return
    receipt = close_receipt.journal_in(entry.name, data, entry.path)
    if receipt is None:
        yield Finding("foreign-marker", entry.path, "is named like a receipt of a close, but is none")
    else:
        at = receipt["cycle"]["completed_at"]
        yield Finding("unanswered-close", entry.path, f"holds the undelivered response of the close of {at}")
