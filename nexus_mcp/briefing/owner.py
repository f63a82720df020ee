"""Who does a task, and whether that is a new agent or one that ran before: resume.py with what it has to know."""

from __future__ import annotations

import os
import stat

from nexus_mcp.catalog import resume, target_files
from nexus_mcp.catalog.capabilities import effective
from nexus_mcp.catalog.sources import MEND
from nexus_mcp.catalog.tool_files import came_to_nothing
from nexus_mcp.catalog.tool_files import edits as is_editing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog

_NO_EDITS = "no_file_edit"
_MAIN = "main"  # as hooks log it


def decision(
    catalog: Catalog,
    task: Mapping[str, Any],
    tracker_entries: Iterable[Mapping[str, Any]],
    harness: str,
    root: str,
    *,
    log: Iterable[Mapping[str, object]] = (),
) -> dict[str, Any]:
    """What resume.decide says of the task in this harness. The files that it names are looked for in the project.

    `log` are the lines of the log of the tools.
    """
    owner = task.get("owner")
    return resume.decide(
        task,
        tracker_entries,
        catalog.agents.get(owner) if isinstance(owner, str) else None,
        mechanism=can_resume(catalog, harness),
        harness=harness,
        targets=target_files.of_task(task, root, kind_in(root)),
        root=root,
        # One with a fault in its files may edit nothing now, and may have done so before.
        readers=[name for name, agent in catalog.agents.items() if _NO_EDITS in effective(agent) and MEND not in agent],
        edits=list(edits(catalog, log)),
    )


def edits(catalog: Catalog, log: Iterable[Mapping[str, object]]) -> Iterator[tuple[str, str, str]]:
    """(agent id, "" for the main agent; file; time) of each line of the log that is an edit, and did not fail.

    The log is common to all harnesses and does not say which, so a tool edits that any of the maps has as such.
    """
    maps, known = list(catalog.maps.values()), dict[str, bool]()
    for line in log:
        tool, file, status, who = (_text(line, name) for name in ("tool", "file", "status", "agent_id"))
        if not (tool and file) or came_to_nothing(status):
            continue
        if tool not in known:
            known[tool] = any(is_editing(one, tool) for one in maps)
        if known[tool]:
            yield "" if who == _MAIN else who, file, _text(line, "timestamp")


def _text(line: Mapping[str, object], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


def can_resume(catalog: Catalog, harness: str) -> bool:
    """Whether the harness has a tool that goes on with an agent."""
    return harness in catalog.maps and bool(catalog.maps[harness]["resuming"])


def kind_in(root: str) -> Callable[[str], str]:
    """What is at a path of the project: "file", "folder" or ""."""

    def kind(path: str) -> str:
        try:
            mode = os.stat(os.path.join(root, path), follow_symlinks=False).st_mode
        except (OSError, ValueError):
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""

    return kind
