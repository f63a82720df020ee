"""Provide the state of a workspace in one pass: the listing of `.nexus`, the files that the checks need, and the facts
from git.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from nexus_mcp.doctor import documents, git, places
from nexus_mcp.doctor.finding import CAP
from nexus_mcp.doctor.survey import FILE, Entry, survey
from nexus_mcp.state import shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.doctor.documents import Document, History
    from nexus_mcp.doctor.lock_watch import LockWatch
    from nexus_mcp.store.folder import Folder


class Site:
    """One pass over a project whose `.nexus` is open as `nexus`. `watch` and `queries` serve the whole run.

    `texts`: path -> JSON text that was read, to turn JSON pointers into lines at the end. `now`: start of the pass, in
    seconds since 1970.
    """

    def __init__(self, queries: git.Queries, nexus: Folder, watch: LockWatch) -> None:
        self.queries = queries
        self.nexus = nexus
        self.watch = watch
        self.survey = survey(nexus, CAP)
        self.texts: dict[str, str] = {}
        self.now = time.time()

    def is_current(self) -> bool:
        """Return whether nothing in `.nexus` changed since the pass began, and no process is making a change now.

        A lock file that cannot be opened counts as free.
        """
        with self.watch.quiet(self.nexus) as free:
            pass
        now = survey(self.nexus, CAP)
        return (free or self.watch.hidden) and (now.entries, now.temporary) == (
            self.survey.entries,
            self.survey.temporary,
        )

    def entries(self, *roles: str) -> Iterator[Entry]:
        """Yield the listed entries of these roles, of any kind."""
        return (entry for entry in self.survey.entries.values() if places.role(entry.path, entry.kind) in roles)

    def files(self, *roles: str) -> Iterator[Entry]:
        """Yield the readable regular files of these roles; checks/files.py reports all others."""
        return (entry for entry in self.entries(*roles) if entry.kind == FILE and entry.readable)

    @contextmanager
    def folder_of(self, entry: Entry) -> Iterator[Folder | None]:
        """Yield the open folder that contains the entry, None if it does not exist any more. Links are not followed.
        Raise the errors of Folder.child.
        """
        with ExitStack() as stack:
            folder: Folder | None = self.nexus
            for part in entry.path.split("/")[1:-1]:
                folder = folder.child(part) if folder is not None else None
                if folder is None:
                    break
                stack.enter_context(folder)
            yield folder

    def read(self, entry: Entry, limit: int) -> bytes | None:
        """Return the bytes of the file, None if it does not exist any more. Raise StateError, PathRefused,
        StorageError.
        """
        with self.folder_of(entry) as folder:
            return None if folder is None else folder.read(entry.name, limit)

    @cached_property
    def plan(self) -> Document:
        return documents.load_session(self, places.PLAN, shapes.PLAN)

    @cached_property
    def tasks(self) -> Document:
        return documents.load_session(self, places.TASKS, shapes.TASKS)

    @cached_property
    def history(self) -> History:
        return documents.load_history(self)

    @cached_property
    def git(self) -> git.Facts:
        return self.queries.run()
