"""Find the files of each task: tasks with a common file must not run at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nexus_mcp.catalog.target_files import FIELDS, of_task


class FilesOfTasks:
    """The paths of the files of each task. The texts of a task are searched again only if they changed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def of(
        self, tasks: Sequence[dict[str, Any]], extension: dict[int, Sequence[str]], root: str
    ) -> dict[int, list[str]]:
        """Return for each task the paths in its texts, and the paths that the extension file adds."""
        found = {}
        for task in tasks:
            texts = {name: task.get(name) for name in FIELDS}
            known = self._known.get(task["id"])
            if known is None or known[0] != texts:
                known = self._known[task["id"]] = (texts, of_task(task, root))
            found[task["id"]] = [*known[1], *extension.get(task["id"], ())]
        return found
