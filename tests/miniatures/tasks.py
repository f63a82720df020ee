"""Servers that are wrong about the task list: task_list and task_update."""

from __future__ import annotations

from nexus_mcp.server.app import Answer
from nexus_mcp.tools.definition import TASK
from tests.miniatures.base import (
    Call,
    Json,
    Miniature,
    answering,
    error,
    failed,
    load,
    save,
    saving,
    without,
)

_LIST = ("task_list",)
_UPDATE = ("task_update",)


def _summed(value: Json, **changes: Json) -> Json:
    return {**value, "summary": {**value["summary"], **changes}} if "summary" in value else value


def _waiting(tasks: Json) -> list[Json]:
    done = {task["id"] for task in tasks if task["status"] == "completed"}
    return [task for task in tasks if task["status"] == "pending" and not done.issuperset(task["deps"])]


def _blocked_wait(value: Json, _: Call) -> Json:
    return _summed(value, blocked=len(_waiting(value.get("tasks", []))))


def _pending_ready(value: Json, _: Call) -> Json:
    return _summed(value, ready=[task["id"] for task in value.get("tasks", ()) if task["status"] == "pending"])


def _unknown_are_done(value: Json, _: Call) -> Json:
    tasks = value.get("tasks", [])
    open_ids = {task["id"] for task in tasks if task["status"] != "completed"}
    ready = [t["id"] for t in tasks if t["status"] == "pending" and not open_ids.intersection(t["deps"])]
    return _summed(value, ready=ready)


def _started_are_done(value: Json, _: Call) -> Json:
    tasks = value.get("tasks", [])
    done = {task["id"] for task in tasks if task["status"] != "pending"}
    return _summed(value, ready=[t["id"] for t in tasks if t["status"] == "pending" and done.issuperset(t["deps"])])


def _one_dep_will_do(value: Json, _: Call) -> Json:
    tasks = value.get("tasks", [])
    done = {task["id"] for task in tasks if task["status"] == "completed"}
    ready = [t["id"] for t in tasks if t["status"] == "pending" and (not t["deps"] or done.intersection(t["deps"]))]
    return _summed(value, ready=ready)


def _sorted_ready(value: Json, _: Call) -> Json:
    return _summed(value, ready=sorted(value["summary"]["ready"])) if "summary" in value else value


def _all_open_pending(value: Json, _: Call) -> Json:
    return _summed(value, pending=len([t for t in value.get("tasks", ()) if t["status"] != "completed"]))


def _ready_as_tasks(value: Json, _: Call) -> Json:
    ready = value["summary"]["ready"] if "summary" in value else []
    return _summed(value, ready=[task for task in value.get("tasks", ()) if task["id"] in ready])


def makes_the_file(call: Call) -> Answer:
    if not call.tasks.exists():
        save(call.tasks, {"goal": "", "decisions": [], "tasks": []})
    return call.right()


def makes_the_folder(call: Call) -> Answer:
    call.tasks.parent.mkdir(parents=True, exist_ok=True)
    return call.right()


def _status(call: Call) -> Json:
    tasks = (load(call.tasks) or {"tasks": []})["tasks"]
    return next((task["status"] for task in tasks if task["id"] == call.arguments.get("id")), None)


def refuses_to_reopen(call: Call) -> Answer:
    if _status(call) == "completed" and call.arguments.get("status") in ("pending", "in_progress"):
        return error("A completed task cannot be changed")
    return call.right()


def refuses_to_skip(call: Call) -> Answer:
    if _status(call) == "pending" and call.arguments.get("status") == "completed":
        return error("A task has to be in progress before it is completed")
    return call.right()


def looks_at_deps(call: Call) -> Answer:
    waiting = [task["id"] for task in _waiting((load(call.tasks) or {"tasks": []})["tasks"])]
    if call.arguments.get("id") in waiting and call.arguments.get("status") != "pending":
        return error("The task waits for others")
    return call.right()


def says_not_found(call: Call) -> Answer:
    return call.right() if call.tasks.exists() else error(f"Task id {call.arguments.get('id')} not found")


def _stripped(tasks: Json, _: Call) -> Json:
    known = set(TASK["properties"])
    return {
        **{name: tasks[name] for name in ("goal", "decisions")},
        "tasks": [{name: member for name, member in task.items() if name in known} for task in tasks["tasks"]],
    }


def updates_the_last(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        tasks = load(call.tasks)
        tasks["tasks"][-1]["status"] = answer.result["structuredContent"]["task"]["status"]
        save(call.tasks, tasks)
    return answer


def writes_nothing(call: Call) -> Answer:
    before = call.tasks.read_bytes() if call.tasks.exists() else b""
    answer = call.right()
    if not failed(answer):
        call.tasks.write_bytes(before)
    return answer


def _marked(value: Json, call: Call) -> Json:
    task = {**value["task"], "updated_at": value["task"]["created_at"]}
    tasks = load(call.tasks)
    save(call.tasks, {**tasks, "tasks": [task if t["id"] == task["id"] else t for t in tasks["tasks"]]})
    return {"task": task}


def moves_it_to_the_end(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        tasks, task = load(call.tasks), answer.result["structuredContent"]["task"]
        others = [t for t in tasks["tasks"] if t["id"] != task["id"]]
        save(call.tasks, {**tasks, "tasks": [*others, task]})
    return answer


def _id_and_status(value: Json, _: Call) -> Json:
    return {"task": {name: value["task"][name] for name in ("id", "status")}}


MINIATURES = (
    Miniature(
        "list-blocked-wait",
        "task_list counts the tasks that wait for others as blocked.",
        _LIST,
        answering(_blocked_wait),
    ),
    Miniature("list-ready-ignores-deps", "task_list ignores deps for ready tasks.", _LIST, answering(_pending_ready)),
    Miniature(
        "list-ready-unknown-dep-done",
        "task_list counts a dep that names no task as completed.",
        _LIST,
        answering(_unknown_are_done),
    ),
    Miniature(
        "list-ready-started-dep-done",
        "task_list counts a dep in progress as completed.",
        _LIST,
        answering(_started_are_done),
    ),
    Miniature(
        "list-ready-any-dep", "task_list wants only one of the deps completed.", _LIST, answering(_one_dep_will_do)
    ),
    Miniature("list-ready-sorted", "task_list sorts the ready ids.", _LIST, answering(_sorted_ready)),
    Miniature("list-ready-tasks", "task_list returns whole tasks as ready.", _LIST, answering(_ready_as_tasks)),
    Miniature(
        "list-started-pending",
        "task_list counts tasks in progress as pending.",
        _LIST,
        answering(_all_open_pending),
    ),
    Miniature(
        "list-says-exists",
        "task_list answers exists true when there is a list.",
        _LIST,
        answering(lambda value, _: {"exists": True, **value}),
    ),
    Miniature(
        "list-empty-list",
        "task_list answers with no tasks, in place of saying that there is no list.",
        _LIST,
        answering(lambda value, _: value if "goal" in value else {**value, "tasks": []}),
    ),
    Miniature("list-drops-goal", "task_list leaves the goal out.", _LIST, answering(lambda v, _: without(v, "goal"))),
    Miniature("list-makes-file", "task_list makes tasks.json when there is none.", _LIST, makes_the_file),
    Miniature("list-makes-folder", "task_list makes the folder .nexus.", _LIST, makes_the_folder),
    Miniature("move-not-back", "task_update refuses to reopen a completed task.", _UPDATE, refuses_to_reopen),
    Miniature("move-not-ahead", "task_update refuses to complete a pending task.", _UPDATE, refuses_to_skip),
    Miniature(
        "move-looks-at-deps", "task_update refuses to start a task that waits for others.", _UPDATE, looks_at_deps
    ),
    Miniature(
        "move-not-found-without-file",
        "task_update reports the id, not the file, when there is no tasks.json.",
        _UPDATE,
        says_not_found,
    ),
    Miniature(
        "move-drops-unknown",
        "task_update drops unknown fields of a task.",
        _UPDATE,
        saving(lambda call: call.tasks, _stripped),
    ),
    Miniature("move-last-too", "task_update changes the last task, too.", _UPDATE, updates_the_last),
    Miniature("move-writes-nothing", "task_update answers correctly and writes nothing.", _UPDATE, writes_nothing),
    Miniature("move-stamps", "task_update adds updated_at to the task.", _UPDATE, answering(_marked)),
    Miniature("move-to-the-end", "task_update puts the task at the end of the list.", _UPDATE, moves_it_to_the_end),
    Miniature(
        "move-answers-in-short", "task_update answers with id and status only.", _UPDATE, answering(_id_and_status)
    ),
)
