"""Write the pages of a board as files that a browser opens without a server: for a pull request or a CI artefact."""

from __future__ import annotations

import os
import shutil
import stat
from functools import partial
from typing import TYPE_CHECKING

from nexus_mcp.board import pages
from nexus_mcp.board.links import StaticLinks
from nexus_mcp.board.render import ASSETS, render
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.views import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.board.projects import Project

MARK = ".nexus-board-export"
"""The file that marks a folder as an export. A folder that has files, but not this one, is never replaced."""
_NOTE = "This folder was written by nexus-mcp board --export, which replaces it as a whole.\n"
_RESERVED = (".nexus", ".git")
MOST_CYCLES = 1000
"""Maximum number of cycles of a project that get a page. If there are more, the newest get one."""
MOST_STATES = 300
"""Maximum number of changes of a project for which there is a page with the state after the change. If there are more,
the newest have one.
"""
_LIVE_ASSETS = ("enter.js", "live.js", "htmx.min.js", "hx-csp.min.js", "htmx.LICENSE")


def export(projects: list[Project], where: str) -> str:
    """Write the export to the folder `where`, and return a sentence about it.

    The folder is absent, empty or an older export, which is replaced once the new one is complete. Raise UsageError for
    any other folder and for one in `.nexus` or `.git` of a project, and NexusError if the files cannot be written.
    """
    target = os.path.abspath(where)
    _check(target, where)
    for project in projects:
        _check_outside(project, target, where)
    made = f"{target}.new-{os.getpid()}"
    try:
        os.makedirs(made)
        count = _write(projects, made)
        _put(made, target)
    except OSError as error:
        raise NexusError(
            f"The export could not be written to {where}: {error.strerror}.",
            next_step="Check the permissions and the free space, then export again.",
        ) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return f"Wrote {count} pages. Open {os.path.join(where, 'index.html')} in a browser."


def _check(target: str, where: str) -> None:
    """Raise UsageError if `target` exists and is neither an empty folder nor an older export, or cannot be read."""
    try:
        kind = os.lstat(target).st_mode
        names = os.listdir(target) if stat.S_ISDIR(kind) else None
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{where} cannot be used: {error.strerror}.", next_step="Name another folder.") from error
    if names is None or (names and MARK not in names):
        problem = "is no folder" if names is None else "has files that are no export of the board"
        raise UsageError(f"{where} {problem}; nothing was written.", next_step="Name an empty or a new folder.")


def _check_outside(project: Project, target: str, where: str) -> None:
    """Raise UsageError if the export would be in .nexus or .git of the project, or of the folder that has its state:
    these belong to nexus-mcp and git.
    """
    real = os.path.realpath(target)
    for root in {project.workspace.root, project.workspace.state_root}:
        for name in _RESERVED:
            reserved = os.path.realpath(os.path.join(root, name))
            if os.path.normcase(f"{real}{os.sep}").startswith(os.path.normcase(f"{reserved}{os.sep}")):
                raise UsageError(f"{where} is in {name} of a project.", next_step="Name a folder beside it.")


def _put(made: str, target: str) -> None:
    """Move the finished export to `target`; remove the folder that was there, empty or an older export."""
    if os.path.isdir(target):
        old = f"{made}-old"
        os.rename(target, old)
        try:
            os.rename(made, target)
        except BaseException:
            os.rename(old, target)
            raise
        shutil.rmtree(old)
    else:
        os.rename(made, target)


def _write(projects: list[Project], folder: str) -> int:
    _text(os.path.join(folder, MARK), _NOTE)
    ignored = shutil.ignore_patterns(*_LIVE_ASSETS)
    shutil.copytree(ASSETS, os.path.join(folder, "assets"), ignore=ignored)
    many = len(projects) > 1
    count = 0
    for project in projects:
        place = os.path.join(folder, project.key) if many else folder
        os.makedirs(place, exist_ok=True)
        count += _Writer(project, place, many=many).write()
    if many:
        cards = [{**pages.card(project), "link": f"{project.key}/index.html"} for project in projects]
        links = StaticLinks("", many=False, up="", cycles=())
        _text(os.path.join(folder, "index.html"), render("overview.html", {"cards": cards, "links": links}))
        count += 1
    return count


class _Writer:
    """Writes the pages of one project into one folder."""

    def __init__(self, project: Project, folder: str, *, many: bool) -> None:
        self._project = project
        self._folder = folder
        self._count = 0
        total = _or_else(0, lambda: project.read(lambda store, _: store.history(len)))
        self._cycles = range(max(1, total - MOST_CYCLES + 1), total + 1)
        self._links = StaticLinks(project.key, many=many, up="../" if many else "", cycles=self._cycles)

    def write(self) -> int:
        """Write all pages, and return their number."""
        links, project = self._links, self._project
        if not project.is_there():
            text = f"The folder {project.root} is not there any more."
            self._page(links.now(), lambda: ("message.html", {"heading": "This project vanished", "text": text}))
            return self._count
        most = {"most": str(MOST_CYCLES)}
        for name, make in (
            (links.now(), pages.now),
            (links.graph(), pages.graph),
            (links.history(), lambda project, _: pages.history(project, most)),
            (links.decisions(), lambda project, _: pages.decisions(project, {}, MOST_CYCLES)),
            (links.charts(), pages.charts),
            (links.files(), pages.all_files),
        ):
            self._page(name, partial(make, project, {}))
        for number in self._cycles:
            self._page(links.cycle(number), partial(pages.cycle, project, {"number": str(number)}))
        self._write_changes()
        for file in _or_else([], lambda: project.read(lambda store, _: files.artifacts(store)["files"])):
            self._artifact(file["name"])
        for note in project.read(lambda store, _: files.note_list(store))["notes"]:
            self._file(links.note(note["path"]), partial(pages.note, project, {"path": note["path"]}))
        return self._count

    def _write_changes(self) -> None:
        """Write the pages of the newest states, and the page of the log with a link to each of them."""
        template, context = pages.changes(self._project, {})
        lines = sorted(context["reachable"], reverse=True)[:MOST_STATES]
        context["reachable"] = {
            line
            for line in lines
            if self._page(
                self._links.state(line), partial(pages.state, self._project, {"line": str(line)}, known=lines)
            )
        }
        self._page(self._links.changes(), lambda: (template, context))

    def _artifact(self, name: str) -> None:
        """Write the page of an artifact. If the page shows an image, write the image beside it."""
        self._file(self._links.artifact(name), partial(pages.artifact, self._project, {"name": name}, self._image))

    def _file(self, name: str, make: Callable[[], pages.Page]) -> None:
        """Write the page of a listed file. If the file cannot be read, e.g. because of its size, the page shows the
        error.
        """

        def page() -> pages.Page:
            try:
                return make()
            except NexusError as error:
                return pages.message(error)

        self._page(name, page)

    def _image(self, name: str) -> str:
        """Write an image, and return its link; "" for an SVG, which could run scripts when it is opened by itself."""
        if pages.image_type(name) == pages.SVG:
            return ""
        data, _ = pages.raw_artifact(self._project, name)
        with open(os.path.join(self._folder, self._links.raw(name)), "wb") as file:
            file.write(data)
        return self._links.raw(name)

    def _page(self, name: str, make: Callable[[], pages.Page]) -> bool:
        """Write one page, and return True; write nothing and return False if `make` raises NexusError."""
        try:
            template, context = make()
        except NexusError:
            return False
        banner = pages.diagnosis(self._project, context.get("faults", []))
        made: dict[str, Any] = {**context, "banner": banner, "project": self._project, "links": self._links}
        _text(os.path.join(self._folder, name), render(template, made))
        self._count += 1
        return True


def _or_else(other: Any, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except NexusError:
        return other


def _text(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)
