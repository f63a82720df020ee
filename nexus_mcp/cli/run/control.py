"""`nexus-mcp run pause|resume|stop|skip|retry|answer`: put a request into the folder control/ of the newest run.

The executor of the run obeys the request within a second while attempts are at work. If no executor is at work, the
request waits for the next `nexus-mcp run`.
"""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option
from nexus_mcp.cli.run.options import PROJECT_ONLY, TASK, opened_store, refuse_in_session, task_of
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.run.view import View

AT_WORK = ("running", "merging")
QUESTION = Argument("ID TEXT", "the id of the question, and your answer in quotation marks", count=2)
TIER = Option("--tier", "T", "the tier of the next attempt", ("fast", "standard", "high"))
FRESH = Option("--fresh", "", "begin at the merged work, not at the previous attempt")


def _send(values: Values, request: dict[str, Any]) -> int:
    """Put the request into the folder of the newest run, and print whether an executor is at work.

    Raise UsageError in a session of a run, and for a request that does not fit the tasks and questions of the
    run; NexusError if the project has no run.
    """
    from nexus_mcp.run import control
    from nexus_mcp.run.view import open_view

    refuse_in_session()
    _, store = opened_store(values)
    with open_view(store) as view:
        _check(view, request, store.tasks())
        control.drop(view.folder, request)
        if view.holder is None:
            print(f"Noted for {view.id}. No executor is at work: the next nexus-mcp run obeys it.")
        else:
            print(f"Sent to {view.id}, process {view.holder.pid}.")
    return exits.OK


def _check(view: View, request: dict[str, Any], tasks: dict[str, Any] | None) -> None:
    from nexus_mcp.state.tasks import COMPLETED

    task, question = request.get("task"), request.get("id")
    rows = (tasks or {"tasks": []})["tasks"]
    if task is not None and task not in [row["id"] for row in rows]:
        raise UsageError(f"There is no task {task}.", next_step="nexus-mcp run status lists them.")
    if any(row["id"] == task and row["status"] == COMPLETED for row in rows):
        raise UsageError(f"Task {task} is completed.", next_step="nexus-mcp run status shows the other tasks.")
    is_working = task is not None and view.holder is not None and view.state.task(task).state in AT_WORK
    if is_working and request["command"] == "retry":
        raise UsageError(f"Task {task} is at work.", next_step=f"nexus-mcp run skip {task} ends its attempt.")
    if question is not None and question not in view.state.questions:
        open_ = ", ".join(one.id for one in view.state.open_questions()) or "none"
        raise UsageError(f"There is no question {question!r}.", next_step=f"Open questions: {open_}.")
    if question is not None:
        _check_answer(view, question, request["text"])


def _check_answer(view: View, id_: str, text: str) -> None:
    from nexus_mcp.run import triggers

    open_ = [one.id for one in view.state.open_questions()]
    if id_ not in open_:
        closed = "is closed: its task has a newer attempt, is completed or is skipped"
        why = "has an answer already" if id_ in view.state.answers else closed
        raise UsageError(f"The question {id_} {why}.", next_step=f"Open questions: {', '.join(open_) or 'none'}.")
    if fault := triggers.fault(view.state.questions[id_].trigger, text):
        raise UsageError(f"The question {id_} does not accept this answer.", next_step=fault)


def _pause(values: Values) -> int:
    """Pause the run: running attempts continue, and nothing new starts."""
    return _send(values, {"command": "pause"})


def _resume(values: Values) -> int:
    """Continue a paused run."""
    return _send(values, {"command": "resume"})


def _stop(values: Values) -> int:
    """End the attempts at work, and the run; it can be continued."""
    return _send(values, {"command": "stop"})


def _skip(values: Values) -> int:
    """Leave a task out."""
    return _send(values, {"command": "skip", "task": task_of(values)})


def _retry(values: Values) -> int:
    """Give a task new attempts, unless it is completed or at work."""
    request = {"command": "retry", "task": task_of(values), "fresh": FRESH.name in values}
    return _send(values, request | ({"tier": values[TIER.name]} if TIER.name in values else {}))


def _answer(values: Values) -> int:
    """Answer a question."""
    id_, text = values.lists[QUESTION.name]
    return _send(values, {"command": "answer", "id": id_, "text": text, "by": "person"})


PAUSE = Command(
    "pause",
    "let a run start nothing new",
    "The running attempts continue, but nothing new starts.",
    PROJECT_ONLY,
    _pause,
    examples=(("nexus-mcp run pause", "start nothing new; running attempts continue"),),
)
RESUME = Command(
    "resume",
    "continue a paused run",
    "Lets a paused run start attempts again.",
    PROJECT_ONLY,
    _resume,
    examples=(("nexus-mcp run resume", "continue the paused run"),),
)
STOP = Command(
    "stop",
    "end a run now; it can be continued",
    "Ends the attempts at work and the run. Their work is kept, and nexus-mcp run\ncontinues the run.",
    PROJECT_ONLY,
    _stop,
    examples=(("nexus-mcp run stop", "end the attempts at work; nexus-mcp run continues them"),),
)
SKIP = Command(
    "skip",
    "leave a task out of a run",
    "Ends the attempt of the task, if there is one, and leaves the task out. Tasks\nthat depend on it are blocked.",
    PROJECT_ONLY,
    _skip,
    argument=TASK,
    examples=(("nexus-mcp run skip 4", "leave task 4 out"),),
)
RETRY = Command(
    "retry",
    "give a task that is not completed new attempts",
    "Gives the task a new budget of attempts.",
    (TIER, FRESH, *PROJECT_ONLY),
    _retry,
    argument=TASK,
    examples=(("nexus-mcp run retry 4 --tier high", "try task 4 again with a stronger model"),),
)
ANSWER = Command(
    "answer",
    "answer a question of a run",
    "For a question of an agent, type any text: the agent's session gets it.\n"
    "For a question of the run, type one of the answers that it names.",
    PROJECT_ONLY,
    _answer,
    argument=QUESTION,
    examples=(('nexus-mcp run answer q1 "Use UTC"', "answer the question q1"),),
)
