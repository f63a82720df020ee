"""Resources nexus://plan, nexus://tasks and nexus://tasks/ready: the open plan, the task list and its ready tasks."""

from __future__ import annotations

import os

from nexus_mcp.server.resources.definition import JSON, SIZED, Entry, Resource, as_json, info, size_of
from nexus_mcp.state import tasks
from nexus_mcp.tools import plan_status, task_list

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nexus_mcp.server.resources.definition import Content, Entry, ReadContext, Values

    Read = Callable[[ReadContext, Values], list[Content]]


def file_entries(path: str, read: Read | None = None) -> Callable[[ReadContext, str | None], Iterator[Entry]]:
    """Return the function `entries` of a resource kind with one resource, which is made from the file `path` below
    .nexus.

    The listed size is that of the result of `read`. No size is listed without `read`, and for a file of more than SIZED
    bytes, because clients list resources often.
    """

    def entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
        if after is None:
            seen = info(os.path.join(ctx.workspace.state_root, ".nexus"), path)
            small = seen is None or seen.st_size <= SIZED
            size = size_of(lambda: read(ctx, {})) if read is not None and small else None
            yield Entry("", {}, size=size, modified=None if seen is None else seen.st_mtime)

    return entries


PLAN_FILE = "state/plan.json"


def read_plan(ctx: ReadContext, _: Values) -> list[Content]:
    """Return the answer of the tool plan_status."""
    return as_json(plan_status.run(ctx.tool_context(), {}))


PLAN = Resource(
    "nexus://plan",
    name="plan",
    title="The plan",
    description="The open plan as plan_status returns it: topic, issues, decisions; active is false without a plan.",
    mime_type=JSON,
    priority=0.9,
    read=read_plan,
    entries=file_entries(PLAN_FILE, read_plan),
    watched=lambda _: (PLAN_FILE,),
)


TASKS_FILE = "state/tasks.json"


def read_tasks(ctx: ReadContext, _: Values) -> list[Content]:
    """Return the answer of the tool task_list."""
    return as_json(task_list.run(ctx.tool_context(), {}))


TASKS = Resource(
    "nexus://tasks",
    name="tasks",
    title="The tasks",
    description="All tasks as task_list returns them: goal, tasks, summary; exists is false without a list.",
    mime_type=JSON,
    priority=0.9,
    read=read_tasks,
    entries=file_entries(TASKS_FILE, read_tasks),
    watched=lambda _: (TASKS_FILE,),
)


def read_ready(ctx: ReadContext, _: Values) -> list[Content]:
    """Return the goal and, in file order, each pending task whose dependencies are completed; without a task list only
    `exists`, which is false.
    """
    current = ctx.store.tasks()
    if current is None:
        return as_json({"exists": False})
    ready = set(tasks.ready(current))
    mine = [task for task in current["tasks"] if task["id"] in ready and task["status"] == tasks.PENDING]
    return as_json({"goal": current["goal"], "tasks": mine})


READY = Resource(
    "nexus://tasks/ready",
    name="tasks/ready",
    title="The ready tasks",
    description="The tasks that may be started now, with all their fields: pending, with every dependency completed.",
    mime_type=JSON,
    priority=1.0,
    read=read_ready,
    entries=file_entries(TASKS_FILE, read_ready),
    watched=lambda _: (TASKS_FILE,),
)
