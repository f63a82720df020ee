"""The prompts run and nx-run: the tasks to run, and the reasons why none can run."""

from __future__ import annotations

from tests.server.app_requests import Asker
from tests.support import Project, task, tasks


def test_run_without_tasks_names_the_next_step(ask: Asker, project: Project) -> None:
    """Without tasks there is nothing to run; a finished cycle is closed first; else the task to run is named."""
    first = "Before anything else tell the user: "
    assert f"{first}There are no tasks to run, and no plan. Begin with [plan] and the topic." in ask.prompt("run")
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    finished = f"{first}The only task is completed, but the cycle is not closed. "
    for name, then in (("run", "Close the cycle: "), ("nx-run", "Close the cycle: "), ("plan", "Call task_close")):
        assert f"{finished}{then}" in ask.prompt(name)
    project.put("state/tasks.json", tasks(task(1, status="completed"), task(2), task(3, deps=[2])))
    text = ask.prompt("run", task="2")
    assert "1 completed, 0 in progress, 2 pending. Ready: task 2." in text
    assert text.endswith('## Task\n\nCarry out only the task with the id "2"')
    assert first not in text


def test_task_with_open_dependencies_is_named_with_them(ask: Asker, project: Project) -> None:
    """A task with open dependencies is named with them and their statuses."""
    rows = [task(1, status="completed"), task(2, status="in_progress"), task(3, deps=[1, 2, 9]), task(4, deps=[1])]
    project.put("state/tasks.json", tasks(*rows))
    assert (
        'Carry out only the task with the id "3". It is not ready: it depends on task 2 (in_progress), task 9 '
        "(there is no such task). Tell the user so, and carry it out only once these tasks are completed, or "
        "if the user still wants it now."
    ) in ask.prompt("run", task="3")
    for ready in ("2", "4"):
        assert ask.prompt("run", task=ready).endswith(f'the task with the id "{ready}"')
