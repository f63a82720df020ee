"""Write the report of a run into its folder: as Markdown, and as HTML with the changes of each attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.run import events as ev
from nexus_mcp.run.projection import RunRecord
from nexus_mcp.run.report import attempted_tasks
from nexus_mcp.run.report_html import html
from nexus_mcp.run.run_folder import read_file, write_file
from nexus_mcp.store.folder import Folder

MARKDOWN, HTML, DIFF = "report.md", "report.html", "diff.patch"
_LIMIT = 17 << 20


def write(
    folder: Folder, text: str, state: RunRecord, document: Mapping[str, Any], log: Sequence[ev.AnyEvent], *, merge: str
) -> None:
    """Write both files into the folder of the run; `text` is the Markdown. Raise StorageError."""
    write_file(folder, MARKDOWN, text.encode("utf-8", "backslashreplace"))
    page = html(state, document, log, merge=merge, diffs=_diffs(folder, state))
    write_file(folder, HTML, page.encode("utf-8", "backslashreplace"))


def _diffs(folder: Folder, state: RunRecord) -> dict[tuple[int, int], str]:
    """Return (task, attempt) -> its changes. Leave out attempts without a readable diff.patch."""
    found = {}
    for record in attempted_tasks(state):
        for one in record.attempts:
            number = one.attempt.number
            try:
                data = read_file(folder, ("attempts", f"{record.id}-{number}", DIFF), _LIMIT)
            except NexusError:
                continue
            if data:
                found[record.id, number] = data.decode("utf-8", "replace")
    return found
