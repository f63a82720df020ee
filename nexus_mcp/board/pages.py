"""Make the pages of one project: the function of a page reads the project, and returns a template's name and context.

These functions run in threads. They raise NexusError if the page cannot be shown at all. If only a part of it cannot be
read, a banner on the page shows the errors and warnings of `nexus-mcp doctor`.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING

from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.state import plan as plans
from nexus_mcp.store import read_only
from nexus_mcp.views import cycles, fault_row, files, timeline
from nexus_mcp.views.decisions import newest
from nexus_mcp.views.graph import graph as graph_view
from nexus_mcp.views.status import tasks_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from nexus_mcp.board.projects import Project
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.views import FaultRow
    from nexus_mcp.views.ledger import Ledger

    Page = tuple[str, dict[str, Any]]
    Query = Mapping[str, str]
    Found = TypeVar("Found")

CYCLES = 50
"""The number of cycles that the page of the history shows at first."""
MOST_CYCLES = 5000
MOST_CHANGES = 300
MOST_DECISIONS = 60
REOPENED = ("plan_update", "reopens ")
"""The tool of a change that reopened an issue, and the beginning of the description of that change in the log."""
_LOG = ".nexus/state/oplog.jsonl"
_EMPTY = {"version": 1, "total": 0, "matching": 0, "cycles": []}


def now(project: Project, query: Query) -> Page:  # noqa: ARG001 - every page has the same parameters
    """Show the plan, the tasks, the agents, the run, the artifacts and the notes as they are now."""
    status = project.status()
    faults = list(status["faults"])
    tasks = _or_fault(faults, lambda: project.read(lambda store, _: store.tasks()), known=True)
    found_files = _files(project, faults)
    notes = project.read(lambda store, _: files.note_list(store))
    return "now.html", {
        "tab": "now",
        "status": status,
        "details": _details(tasks),
        "files": found_files,
        "notes": notes,
        "faults": faults,
    }


def card(project: Project) -> dict[str, Any]:
    """Return the data of a project for the overview."""
    status = project.status() if project.is_there() else None
    return {
        "key": project.key,
        "name": project.name,
        "root": project.root,
        "is_gone": status is None,
        "status": status,
        "faults": 0 if status is None else len(status["faults"]),
    }


def graph(project: Project, query: Query) -> Page:  # noqa: ARG001
    """Show the tasks as a graph of dependencies."""
    faults: list[FaultRow] = []
    tasks = _or_fault(faults, lambda: project.read(lambda store, _: store.tasks()))
    found = graph_view(tasks["tasks"] if tasks else [])
    deps: dict[Any, list[str]] = {node["id"]: [] for node in found["nodes"]}
    for edge in found["edges"]:
        deps[edge["to"]].append(f"#{edge['from']}")
    return "graph.html", {"tab": "graph", "graph": found, "deps": deps, "faults": faults}


def history(project: Project, query: Query) -> Page:
    """Show the newest closed cycles that match the query."""
    faults: list[FaultRow] = []
    shown = {name: query.get(name, "").strip() for name in ("q", "branch", "since", "until")}
    problem, since, until = "", "", ""
    try:
        since, until = _day(shown["since"]), _day(shown["until"], after=True)
    except ValueError:
        problem = "A period begins and ends with a date such as 2026-11-03."
    most = query.get("most", "")
    count = min(int(most), MOST_CYCLES) if most.isascii() and most.isdigit() and len(most) < 9 else CYCLES

    def find(archive: Archive, ledger: Ledger) -> tuple[dict[str, Any], list[str]]:
        rows = _EMPTY
        if not problem:
            terms = {"query": shown["q"], "since": since, "until": until, "branch": shown["branch"]}
            rows = ledger.rows(archive, **terms, most=max(count, 1))
        return rows, ledger.branches(archive)

    result = _or_fault(faults, lambda: project.read(lambda store, ledger: store.history(partial(find, ledger=ledger))))
    found, branches = result or (_EMPTY, [])
    context = {"found": found, "branches": branches, "query": shown, "problem": problem, "faults": faults}
    return "history.html", {"tab": "history", **context}


def cycle(project: Project, query: Query) -> Page:
    """Show one cycle in full. Raise UsageError for a number that no cycle has."""
    word = query.get("number", "")

    def find(archive: Archive) -> tuple[int, dict[str, Any]]:
        number = cycles.find_number(archive, word)
        return len(archive), cycles.cycle_view(number, archive.cycle(number - 1))

    total, found = project.read(lambda store, _: store.history(find))
    return "cycle.html", {
        "tab": "history",
        "cycle": found,
        "total": total,
        **_session(found["plan"], {"goal": "", "decisions": [], "tasks": found["task_list"]}),
        "faults": [],
    }


def compare(project: Project, query: Query) -> Page:
    """Show the differences of two cycles. Raise UsageError for a number that no cycle has."""

    def find(archive: Archive) -> dict[str, Any]:
        numbers = [cycles.find_number(archive, query.get(name, "")) for name in ("a", "b")]
        old, new = ((number, archive.cycle(number - 1)) for number in numbers)
        return cycles.compare(old, new)

    return "compare.html", {
        "tab": "history",
        "found": project.read(lambda store, _: store.history(find)),
        "faults": [],
    }


def decisions(project: Project, query: Query, most: int = MOST_DECISIONS) -> Page:
    """Show the `most` newest decisions that match the query."""
    faults: list[FaultRow] = []
    shown = {"q": query.get("q", "").strip()}
    plan = _or_fault(faults, lambda: project.read(lambda store, _: store.plan()))
    found = _or_fault(
        faults,
        lambda: project.read(lambda store, _: store.history(lambda archive: newest(archive, plan, shown["q"], most))),
    )
    context = {"found": found or newest(None, plan, shown["q"], most), "query": shown, "faults": faults}
    return "decisions.html", {"tab": "decisions", **context}


def charts(project: Project, query: Query) -> Page:  # noqa: ARG001
    """Show the work of the closed cycles, week by week."""
    faults: list[FaultRow] = []
    log = _or_fault(faults, lambda: project.read(lambda store, _: timeline.changes(store)))
    tool, words = REOPENED
    entries = log["changes"] if log else ()
    reopened = [one["at"] for one in entries if one["tool"] == tool and one["what"].startswith(words)]
    found = _or_fault(
        faults,
        lambda: project.read(lambda store, ledger: store.history(lambda archive: ledger.weeks(archive, reopened))),
    )
    return "charts.html", {"tab": "charts", "weeks": found["weeks"] if found else [], "faults": faults}


def changes(project: Project, query: Query) -> Page:  # noqa: ARG001
    """Show the newest MOST_CHANGES changes of the operation log."""
    faults: list[FaultRow] = []
    empty: dict[str, Any] = {"changes": [], "total": 0, "unreadable": 0}
    log = _or_fault(faults, lambda: project.read(lambda store, _: timeline.changes(store, MOST_CHANGES)))
    lines = _or_fault(faults, lambda: project.read(lambda store, _: timeline.reachable(store)), known=log is None)
    found = log or empty
    if found["unreadable"]:
        faults.append({"file": _LOG, "problem": "has lines that cannot be read", "next_step": ""})
    untitled: list[FaultRow] = []
    titles = project.read(lambda store, _: timeline.titles(store, found["changes"], untitled))
    # A change that is being made is no fault: the page is read again after it.
    faults += [one for one in untitled if read_only.WAITING not in one["problem"] and one not in faults]
    context = {"found": found, "titles": titles, "reachable": set(lines or ()), "faults": faults}
    return "changes.html", {"tab": "changes", **context}


def state(project: Project, query: Query, known: Sequence[int] | None = None) -> Page:
    """Show plan and tasks as they were after one change. Raise UsageError if the log lacks the change, or does
    not reach back to it.

    `known` are the changes to which the page may link, as line numbers of the log; by default, all changes to which the
    log reaches back.
    """
    word = query.get("line", "")
    line = int(word) if word.isascii() and word.isdigit() and len(word) < 12 else 0
    lines = project.read(lambda store, _: timeline.reachable(store)) if known is None else known
    then = project.read(lambda store, _: timeline.state_after(store, line))
    log = project.read(lambda store, _: timeline.changes(store))
    entry = next((one for one in log["changes"] if one["line"] == line), None)
    titles = project.read(lambda store, _: timeline.titles(store, log["changes"], []))
    what = "" if entry is None else entry["what"] or f"writes {', '.join(entry['files'])}"
    return "state.html", {
        "tab": "changes",
        "then": then,
        "what": what.replace("_", " "),
        "title": titles.get(line, ""),
        "earlier": max((one for one in lines if one < line), default=None),
        "later": min((one for one in lines if one > line), default=None),
        **_session(then["plan"], then["tasks"]),
        "faults": [],
    }


def all_files(project: Project, query: Query) -> Page:  # noqa: ARG001
    """Show the lists of artifacts and notes."""
    faults: list[FaultRow] = []
    found = _files(project, faults)
    notes = project.read(lambda store, _: files.note_list(store))
    return "files.html", {"tab": "files", "files": found, "notes": notes, "faults": faults}


def _files(project: Project, faults: list[FaultRow]) -> dict[str, Any]:
    found = _or_fault(faults, lambda: project.read(lambda store, _: files.artifacts(store)), known=bool(faults))
    return found or {"files": [], "more": False}


def _session(plan: Mapping[str, Any] | None, tasks: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return `plan`, `tasks` and `details` for the template, from a cycle or a past state, which may lack fields."""
    shown = None
    if plan is not None:
        issues = cycles.issues_of({"plan": plan})
        decided = sum(issue.get("status") == plans.DECIDED for issue in issues)
        shown = {**plan, "issues": [_texts_of(issue) for issue in issues], "decided": decided}
        shown["research_summary"] = _text(plan.get("research_summary"))
        shown["topic"] = _text(plan.get("topic"))
    return {"plan": shown, "tasks": None if tasks is None else tasks_view(dict(tasks)), "details": _details(tasks)}


_TASK_TEXTS = ("context", "approach", "acceptance", "risk")


def _details(tasks: Mapping[str, Any] | None) -> dict[Any, dict[str, str]]:
    """Return id -> the longer texts, for each task whose id is a number."""
    found = {}
    for task in tasks["tasks"] if tasks else ():
        if isinstance(task.get("id"), int | float):
            found[task["id"]] = {name: _text(task.get(name)) for name in _TASK_TEXTS}
    return found


def _texts_of(issue: Mapping[str, Any]) -> dict[str, Any]:
    """Return an issue of a closed cycle or of a past state, with the fields and types that the template expects."""
    agents, advice = issue.get("how_agents"), issue.get("how_summary")
    return {
        "id": issue.get("id"),
        "title": _text(issue.get("title")),
        "status": _text(issue.get("status")),
        "decision": _text(issue.get("decision")),
        "how_agents": [one for one in agents if isinstance(one, str)] if isinstance(agents, list) else [],
        "how_summary": {k: v for k, v in advice.items() if isinstance(v, str)} if isinstance(advice, dict) else {},
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _day(text: str, *, after: bool = False) -> str:
    """Return the date `text`, or with `after` the day after it, as the beginning of a timestamp; "" for "". Raise
    ValueError for a text that is no date.
    """
    if not text:
        return ""
    try:
        return (date.fromisoformat(text) + timedelta(days=after)).isoformat()
    except OverflowError:
        return "9999-12-31T24"


def _or_fault(faults: list[FaultRow], read: Callable[[], Found], *, known: bool = False) -> Found | None:
    """Return the result of `read`. If it raises NexusError, return None, and add the fault to `faults` unless `known`:
    then `faults` has it already.
    """
    try:
        return read()
    except NexusError as error:
        if not known:
            faults.append(fault_row(error))
        return None


SVG = "image/svg+xml"
_IMAGES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": SVG,
}


def image_type(name: str) -> str:
    """Return the media type of an image that pages show, by the suffix of its name; "" for any other file."""
    return _IMAGES.get(name.rpartition(".")[2].lower(), "")


def artifact(project: Project, query: Query, raw: Callable[[str], str]) -> Page:
    """Show one artifact. `raw` returns the address of an image, "" to show it as any other file. Raise NexusError."""
    name = query.get("name", "")
    data = project.read(lambda store, _: files.artifact(store, name))
    form, text, address = "other", "", raw(name) if image_type(name) else ""
    if address:
        form = "image"
    else:
        try:
            text = data.decode("utf-8-sig")
            form = "other" if "\0" in text else "markdown" if name.lower().endswith((".md", ".markdown")) else "text"
        except UnicodeDecodeError:
            form = "other"
    context = {"name": name, "form": form, "text": text, "raw": address, "size": len(data), "kind": "Artifact"}
    return "file.html", {"tab": "files", **context, "path": f".nexus/state/artifacts/{name}", "faults": []}


def raw_artifact(project: Project, name: str) -> tuple[bytes, str]:
    """Return (the bytes of an image, its type). Raise UsageError for any other file, NexusError if reading fails."""
    kind = image_type(name)
    if not kind:
        raise UsageError("Only images are shown as they are.", next_step="Open the page of the artifact.")
    return project.read(lambda store, _: files.artifact(store, name)), kind


def note(project: Project, query: Query) -> Page:
    """Show one note. Raise NexusError."""
    path = query.get("path", "")
    text = project.read(lambda store, _: files.note(store, path))
    context = {"name": path, "form": "markdown", "text": text, "size": None, "kind": "Note", "path": f".nexus/{path}"}
    return "file.html", {"tab": "files", **context, "faults": []}


def message(error: NexusError) -> Page:
    """Return the page for an error."""
    text = f"{error.fault.removesuffix('.')}. {error.next_step}".strip()
    return "message.html", {"heading": "This cannot be shown", "text": text}


def diagnosis(project: Project, faults: list[FaultRow]) -> list[FaultRow]:
    """Return the errors and warnings of `nexus-mcp doctor`, and each of `faults` whose file is in none of them.

    Return [] if `faults` is empty, and only `faults` if doctor cannot examine the project.
    """
    if not faults:
        return []
    from nexus_mcp.doctor.codes import NOTE
    from nexus_mcp.doctor.examine import examine

    try:
        report = examine(project.root, 0.2)
    except NexusError:
        return faults
    found: list[FaultRow] = [
        {
            "file": one.file,
            "problem": one.problem if one.line is None else f"(line {one.line}) {one.problem}",
            "next_step": one.next_step,
        }
        for one in report.findings
        if one.severity != NOTE
    ]
    # Doctor may have no finding for a file, for example because a change of the file ended meanwhile. Then show the
    # fault itself.
    mentioned = {one["file"] for one in found}
    return found + [fault for fault in faults if fault["file"] not in mentioned]
