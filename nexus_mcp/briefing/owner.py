"""Collect the facts from which catalog/resume.py decides whether a new agent or an earlier one does a task."""

from __future__ import annotations

import os
import stat

from nexus_mcp.catalog import resume, target_files
from nexus_mcp.catalog.capabilities import all_capabilities
from nexus_mcp.catalog.sources import MEND
from nexus_mcp.catalog.tool_files import came_to_nothing
from nexus_mcp.catalog.tool_files import is_edit as is_editing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog

_NO_EDITS = "no_file_edit"
_MAIN = "main"  # the agent_id of the main session in the tool log


def decision(
    catalog: Catalog,
    task: Mapping[str, Any],
    tracker_entries: Iterable[Mapping[str, Any]],
    harness: str,
    root: str,
    *,
    log: Iterable[Mapping[str, object]] = (),
) -> dict[str, Any]:
    """Return the result of catalog/resume.py's `decide` for the task in this harness.

    `root` is the project, in which the files of the task are looked up. `log` holds the lines of the tool log.
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
        # Leave out an agent whose catalog files are faulty: it may not edit now, but may have edited before.
        readers=[
            name for name, agent in catalog.agents.items() if _NO_EDITS in all_capabilities(agent) and MEND not in agent
        ],
        edits=list(edits(catalog, log)),
    )


def edits(catalog: Catalog, log: Iterable[Mapping[str, object]]) -> Iterator[tuple[str, str, str]]:
    """Yield (agent id, file, time) of each successful edit in the tool log; the id is "" for the main session.

    All harnesses share the log, so a tool counts as editing if it writes files according to any capability map.
    """
    maps, known = list(catalog.maps.values()), dict[str, bool]()
    for line in log:
        tool, file, status, agent_id = (_text(line, name) for name in ("tool", "file", "status", "agent_id"))
        if not (tool and file) or came_to_nothing(status):
            continue
        if tool not in known:
            known[tool] = any(is_editing(one, tool) for one in maps)
        if known[tool]:
            yield "" if agent_id == _MAIN else agent_id, file, _text(line, "timestamp")


def _text(line: Mapping[str, object], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


def can_resume(catalog: Catalog, harness: str) -> bool:
    """Return whether the harness has a tool that resumes an agent."""
    return harness in catalog.maps and bool(catalog.maps[harness]["resuming"])


def kind_in(root: str) -> Callable[[str], str]:
    """Return a function that returns "file", "folder" or "" (neither) for a path of the project."""

    def kind(path: str) -> str:
        try:
            mode = os.stat(os.path.join(root, path), follow_symlinks=False).st_mode
        except (OSError, ValueError):
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""

    return kind
