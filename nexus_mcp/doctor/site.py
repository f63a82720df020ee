"""What one look sees: what lies in `.nexus`, the files that checks ask for, each read once, and git."""

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

    from nexus_mcp.doctor.documents import Document, Past
    from nexus_mcp.doctor.lock_watch import LockWatch
    from nexus_mcp.store.folder import Folder


class Site:
    """One look at a project whose `.nexus` is open as `nexus`. The watch and the questions are those of the whole run.

    `texts` has the JSON texts that were read, by path: pointers are turned into lines when all is found. `now` is when
    the look began, in seconds since 1970.
    """

    def __init__(self, questions: git.Questions, nexus: Folder, watch: LockWatch) -> None:
        self.questions = questions
        self.nexus = nexus
        self.watch = watch
        self.survey = survey(nexus, CAP)
        self.texts: dict[str, str] = {}
        self.now = time.time()

    def is_current(self) -> bool:
        """Whether everything still is as it was when the look began, and nobody is changing it."""
        with self.watch.quiet(self.nexus) as free:
            pass
        now = survey(self.nexus, CAP)
        return (free or self.watch.hidden) and (now.entries, now.temporary) == (
            self.survey.entries,
            self.survey.temporary,
        )

    def entries(self, *roles: str) -> Iterator[Entry]:
        """What there is of these roles."""
        return (entry for entry in self.survey.entries.values() if places.role(entry.path, entry.kind) in roles)

    def files(self, *roles: str) -> Iterator[Entry]:
        """The plain files of these roles that we may read; what else stands there is told by the checks of places."""
        return (entry for entry in self.entries(*roles) if entry.kind == FILE and entry.readable)

    @contextmanager
    def folder_of(self, entry: Entry) -> Iterator[Folder | None]:
        """The folder that the entry lies in, reached without a link, None when it is gone. Raises as `child` does."""
        with ExitStack() as stack:
            folder: Folder | None = self.nexus
            for part in entry.path.split("/")[1:-1]:
                folder = folder.child(part) if folder is not None else None
                if folder is None:
                    break
                stack.enter_context(folder)
            yield folder

    def read(self, entry: Entry, limit: int) -> bytes | None:
        """The bytes of the file, None when it is gone by now. Raises StateError, PathRefused, StorageError."""
        with self.folder_of(entry) as folder:
            return None if folder is None else folder.read(entry.name, limit)

    @cached_property
    def plan(self) -> Document:
        return documents.session(self, places.PLAN, shapes.PLAN)

    @cached_property
    def tasks(self) -> Document:
        return documents.session(self, places.TASKS, shapes.TASKS)

    @cached_property
    def history(self) -> Past:
        return documents.past(self)

    @cached_property
    def git(self) -> git.Facts:
        return self.questions.ask()
