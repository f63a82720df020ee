"""Judge the rows of the table: most by one probe for every server, the others by the steps in the map of each server.

A probe calls the server through its map, and looks at its files. Each probe works in a new project. A cell has a
verdict, a note, and the requests and answers.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.client import NotMeasurable
from benchmarks.compared import translate
from benchmarks.compared.peer import SHOWN, Ended, Peer, Session, take_all
from benchmarks.compared.translate import Json, Outcome

WRITERS, ADDED = 2, 20
ROUNDS = 10
SEED = 24
_EVIDENCE = 8
_CONTEXT = "Why it is to be done."
_DIAMOND: list[dict[str, Any]] = [{}, {"deps": [1]}, {"deps": [1]}, {"deps": [2, 3]}]
_READY = [{1}, {2, 3}, {3}, {4}]


class Place:
    """The projects of one server: each is a copy of a project that the server's own setup made once."""

    def __init__(self, peer: Peer, folder: str) -> None:
        self.peer = peer
        self._folder = Path(folder)
        self._template = peer.prepare(str(self._folder / "template")) if peer.map.setup else ""
        self._number = 0

    def project(self) -> str:
        """Return the path of a new project."""
        self._number += 1
        workspace = self._folder / f"project-{self._number}"
        workspace.mkdir()
        return self.peer.prepare(str(workspace), self._template)

    def start(self) -> Session:
        """Start the server in a new project."""
        return self.peer.start(self.project())


@contextmanager
def places(peer: Peer) -> Iterator[Place]:
    """Yield the projects of a server, and delete them."""
    with tempfile.TemporaryDirectory(prefix="compared-", ignore_cleanup_errors=True) as folder:
        yield Place(peer, folder)


def cell(verdict: str, note: str, evidence: list[Json]) -> Json:
    """Return a cell. `evidence` is cut to its last exchanges."""
    return {"verdict": verdict, "note": note, "evidence": evidence[-_EVIDENCE:]}


def tasks(place: Place) -> Json:
    """A task is added, changed and listed, and is the same after a restart."""
    session = place.start()
    added = session.call("task_add", title="Parser", context=_CONTEXT).payload.get("task", {})
    session.call("task_update", id=1, status="in_progress")
    session = session.restart()
    with session:
        listed = session.call("task_list").payload.get("tasks", [])
        again = session.call("task_update", id=1, status="completed").payload.get("task", {})
    shown = [(one.get("title"), one.get("status")) for one in listed]
    good = shown == [("Parser", "in_progress")] and again.get("status") == "completed"
    missing = [name for name in ("context", "deps", "created_at") if name not in (listed[0] if listed else {})]
    note = f"the list leaves out {', '.join(missing)}" if missing else ""
    if good and added.get("context") != _CONTEXT:
        return cell("partly", "the context is not answered", session.evidence)
    return cell("yes" if good else "no", note, session.evidence)


def ready(place: Place) -> Json:
    """The ready set of four tasks in a diamond is right after each completion."""
    seen: list[Any] = []
    with place.start() as session:
        for number, more in enumerate(_DIAMOND, 1):
            session.call("task_add", title=f"Task {number}", context=_CONTEXT, **more)
        session.evidence.clear()
        for number in range(1, 5):
            seen.append(_ready_of(session))
            session.call("task_update", id=number, status="completed")
        session.call("task_add", title="Under way", context=_CONTEXT)
        session.call("task_update", id=5, status="in_progress")
        under_way = 5 in _ready_of(session)
    note = "a task in progress is in it, too" if under_way else ""
    if place.peer.map.ready is not None:
        good = all(next_one <= wanted for next_one, wanted in zip(seen, _READY, strict=True))
        return cell("partly" if good else "no", "one next task, no set", session.evidence)
    return cell("yes" if seen == _READY else "no", note, session.evidence)


def _ready_of(session: Session) -> set[int]:
    known = session.peer.map
    if known.ready is not None:
        chosen = known.model_copy(update={"tools": {"ready": known.ready}})
        found = translate.call(chosen, "ready", {}, session.ask, session.project).payload
        return {found["next"]} if "next" in found else set()
    return set(session.call("task_list").payload.get("summary", {}).get("ready", ()))


def refused(place: Place) -> Json:
    """A refused call changes no file."""
    with place.start() as session:
        session.call("task_add", title="Parser", context=_CONTEXT)
        before = digests(session.project)
        outcome = session.call("task_update", id=99, status="completed")
        after = digests(session.project)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    if not outcome.is_error:
        return cell("no", "an unknown id is not refused", session.evidence)
    return cell("no" if changed else "yes", f"changed: {', '.join(changed)}" if changed else "", session.evidence)


def unknown(place: Place) -> Json:
    """An argument that the tool does not have is refused by its name."""
    with place.start() as session:
        take_all([place.peer.map.unknown], session)
        answer = session.evidence[-1]
    if not answer.get("error"):
        return cell("no", "ignored", session.evidence)
    return cell("yes" if "colour" in answer["seen"] else "partly", "", session.evidence)


def writers(place: Place) -> Json:
    """Two servers in one project add tasks at the same time, and each is in the list afterwards."""
    project = place.project()
    sessions = [place.peer.start(project) for _ in range(WRITERS)]
    acknowledged: list[str] = []
    faults: list[str] = []

    def work(writer: int) -> None:
        for number in range(ADDED):
            title = f"Writer {writer} task {number}"
            try:
                outcome = _add(sessions[writer], title)
            except Ended as error:
                faults.append(f"ended: {error}")
                return
            if outcome.is_error:
                faults.append(outcome.payload["error"])
            else:
                acknowledged.append(title)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for session in sessions:
        session.kill()
    with place.peer.start(project) as session:
        listed = session.call("task_list").payload.get("tasks", [])
    titles = [one.get("title") for one in listed]
    lost = [title for title in acknowledged if title not in titles]
    doubled = len(listed) - len({one.get("id") for one in listed})
    counts = {"acknowledged": len(acknowledged), "refused": len(faults), "listed": len(listed), "lost": len(lost)}
    evidence = [{"sent": f"{WRITERS} servers add {ADDED} tasks each", "seen": counts | {"ids twice": doubled}}]
    evidence += [{"sent": "the first fault", "seen": faults[0][:SHOWN]}] if faults else []
    faulty = [f"{len(lost)} of {len(acknowledged)} acknowledged tasks lost"] * bool(lost)
    faulty += [f"{doubled} ids are given twice"] * bool(doubled) + [f"{len(faults)} calls are refused"] * bool(faults)
    return cell("no" if lost or doubled else "partly" if faults else "yes", "; ".join(faulty), evidence)


def corrupt(place: Place) -> Json:
    """A truncated file is not overwritten by the next call."""
    with place.start() as session:
        for number in range(1, 4):
            session.call("task_add", title=f"Task {number}", context=_CONTEXT)
        evidence = session.evidence
    path = min(Path(session.project).glob(place.peer.map.files))
    broken = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(broken)
    evidence[:] = [{"sent": f"{path.relative_to(session.project)} is cut to half its size", "seen": ""}]
    with Session(place.peer, session.project, evidence) as session:
        listed = _tried(lambda: session.call("task_list"))
        added = _tried(lambda: session.call("task_add", title="Task 4", context=_CONTEXT))
    same = path.exists() and path.read_bytes() == broken
    evidence.append({"sent": "the file afterwards", "seen": "unchanged" if same else "replaced"})
    shown = len(listed.payload.get("tasks", ()))
    says = "the list fails" if listed.is_error else f"the list shows {shown} of 3 tasks, without a message"
    then = "a new task is refused" if added.is_error else "a new task is accepted"
    verdict = "no" if not same else "yes" if listed.is_error else "partly"
    return cell(verdict, f"{says}; {then}" if same else f"{says}; the next write replaces the file", evidence)


def killed(place: Place) -> Json:
    """The server is killed during calls, and every acknowledged task is there afterwards; the next call works."""
    chance = random.Random(SEED)
    project = place.project()
    kept: list[str] = []
    faults: list[str] = []
    evidence: list[Json] = []
    took = 0.0
    for number in range(ROUNDS):
        try:
            session = Session(place.peer, project, [])
        except NotMeasurable as error:
            faults.append(f"does not start after a kill: {error}")
            break
        begun = time.perf_counter()
        title = f"Kept {number}"
        outcome = _tried(lambda: _add(session, title))  # noqa: B023 - it is called at once
        seconds = time.perf_counter() - begun
        took = min(took, seconds) if number else seconds
        if outcome.is_error:
            faults.append(outcome.payload["error"])
        else:
            kept.append(title)
        tool, arguments = _first(session, f"Cut {number}")
        line = session.connection.request("tools/call", {"name": tool, "arguments": arguments})
        session.connection._write(line)
        time.sleep(chance.uniform(0, 2 * took))
        session.kill()
    with Session(place.peer, project, evidence) as session:
        outcome = _tried(lambda: session.call("task_list"))
    titles = {one.get("title") for one in outcome.payload.get("tasks", ())}
    lost = [title for title in kept if title not in titles]
    counts = {"kills": ROUNDS, "acknowledged": len(kept), "lost": len(lost), "calls refused": len(faults)}
    evidence.append({"sent": "a kill during each of the calls, then the next call", "seen": counts})
    evidence += [{"sent": "the first fault", "seen": faults[0][:SHOWN]}] if faults else []
    faulty = [f"{len(lost)} of {len(kept)} acknowledged tasks lost"] * bool(lost)
    faulty += [f"{len(faults)} of {ROUNDS} calls after a kill fail"] * bool(faults)
    return cell("no" if lost else "partly" if faults else "yes", "; ".join(faulty), evidence)


def structured(place: Place) -> Json:
    """Answers are data: structuredContent, or one text block of JSON."""
    with place.start() as session:
        answer = session.ask(*_first(session, "Parser"))
        raw = isinstance(answer.value, dict)
        line = session.connection.ask("tools/call", _call_params(session, "Second"))[1]
    note = "`structuredContent`" if b'"structuredContent"' in line else "JSON in a text" if raw else "text for people"
    return cell("yes" if raw else "no", note, session.evidence)


ROWS: dict[str, tuple[str, Callable[[Place], Json] | None]] = {
    "plan": ("A plan with its issues is kept", None),
    "decisions": ("Decisions are kept", None),
    "tasks": ("Tasks are added, changed, listed, and kept over a restart", tasks),
    "ready": ("The ready set follows the dependencies", ready),
    "cycle": ("A cycle of dependencies is refused", None),
    "missing": ("A dependency on a task that does not exist is refused", None),
    "close": ("Finished work leaves the list and is kept", None),
    "search": ("Finished work is found by a word", None),
    "structured": ("Answers are data", structured),
    "unknown": ("An unknown argument is refused by name", unknown),
    "refused": ("A refused call changes no file", refused),
    "writers": (f"Two servers add {ADDED} tasks each at once, and none is lost", writers),
    "corrupt": ("A truncated file is noticed and not overwritten", corrupt),
    "killed": (f"After {ROUNDS} kills during calls, all acknowledged tasks are there", killed),
}
"""Row → its title, and its probe; None: the map of each server has the steps."""


def judge(row: str, place: Place) -> Json:
    """Return the cell of a row. The verdict of a map counts only if the server did what each step expects."""
    probe = ROWS[row][1]
    if probe is not None:
        return probe(place)
    wanted = place.peer.map.probes[row]
    session, faults = take_all(wanted.steps, place.start())
    session.__exit__(None, None, None)
    found = cell(wanted.verdict, wanted.note, session.evidence)
    return {**found, "verdict": "not as the map says", "note": "; ".join(faults)} if faults else found


def beyond(place: Place) -> list[Json]:
    """Return the features of the server that the contract lacks, each with its faults and evidence."""
    found = []
    for one in place.peer.map.beyond:
        session, faults = take_all(one.steps, place.start())
        session.__exit__(None, None, None)
        found.append({"what": one.what, "faults": faults, "evidence": session.evidence[-_EVIDENCE:]})
    return found


def digests(project: str) -> dict[str, str]:
    """Return path → digest of every file of a project."""
    files = [path for path in Path(project).rglob("*") if path.is_file()]
    return {str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _first(session: Session, title: str) -> tuple[str, Json]:
    params = {"title": title, "context": _CONTEXT}
    return translate.first_call(session.peer.map, "task_add", params, session.project)


def _call_params(session: Session, title: str) -> Json:
    tool, arguments = _first(session, title)
    return {"name": tool, "arguments": arguments}


def _add(session: Session, title: str) -> Outcome:
    """Add a task by the first call of the map, without the calls that read the task again. Raise Ended."""
    answer = session.ask(*_first(session, title))
    return Outcome({"error": answer.text}, is_error=True) if answer.is_error else Outcome({})


def _tried(do: Callable[[], Outcome]) -> Outcome:
    """Return the outcome; a server that ends is an error."""
    try:
        return do()
    except Ended as error:
        return Outcome({"error": f"the server ended: {error}"}, is_error=True)
