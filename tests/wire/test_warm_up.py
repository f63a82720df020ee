"""The server prepares the first call after it has listed the tools."""

from __future__ import annotations

import sys
from collections.abc import Callable
from unittest.mock import patch

import pytest

from nexus_mcp import schemas
from nexus_mcp.server.app import App
from nexus_mcp.server.pipes import Source
from nexus_mcp.server.stdio import serve
from nexus_mcp.state import shapes
from tests.support import SMALLEST, Project, task, tasks
from tests.wire.connection import Talk, call, initialize, request
from tests.wire.fake_tools import FakeApp

LISTED = [initialize(), request("l", "tools/list"), request("m", "tools/list")]


@pytest.mark.parametrize(
    ("messages", "at_hand", "count"),
    [(LISTED, False, 1), (LISTED, True, 0), ([initialize(), call("c", "echo"), *LISTED[1:]], False, 0)],
    ids=["once", "input is there", "a call comes first"],
)
def test_list_prepares_calls_once(messages: list[object], at_hand: bool, count: int) -> None:
    """After the response to the list, without waiting input, calls are prepared once; not if a call came first."""
    fake = FakeApp()
    with patch.object(Source, "is_ready", return_value=at_hand):  # not as soon as this thread comes to write
        talk = Talk(fake.as_app(), serve)
        for message in messages:
            talk.ask(message)
        assert talk.end() == []
    assert fake.events.count("warm up") == count


@pytest.mark.parametrize("content", [None, "{", tasks(task(1))])
def test_warm_up_changes_no_file(make_app: Callable[..., App], project: Project, content: object) -> None:
    """The preparation changes no file, and the first call has the same answer as without it."""
    if content is not None:
        project.put("state/tasks.json", content)
    before = project.snapshot()
    app = make_app(project.root)
    app.warm_up()
    assert project.snapshot() == before
    again = make_app(project.root).call("task_list", {}).result
    assert app.call("task_list", {}).result == again


def test_warm_up_hides_import_errors(make_app: Callable[..., App], project: Project) -> None:
    """If a module cannot be loaded, the call that needs it reports the error."""
    app = make_app(project.root)
    with patch.dict(sys.modules, {"nexus_mcp.store.commit": None}):
        app.warm_up()
        assert app.call("task_add", SMALLEST["task_add"]).result["isError"] is True
    assert app.call("task_add", SMALLEST["task_add"]).result["isError"] is False


def test_a_first_write_has_all_its_checks(make_app: Callable[..., App], project: Project) -> None:
    """The new fields of a task, plan or issue, and each row, are checked by the prepared checks, however soon the call
    comes.
    """
    with (
        patch.dict(schemas._loaded, clear=True),
        patch.dict(schemas._readable, clear=True),
        patch.dict(shapes._fields, clear=True),
    ):
        app = make_app(project.root)
        app.warm_up()
        with patch.object(schemas, "compile_check", side_effect=AssertionError("made only now")):
            for tool in ("task_add", "plan_start", "plan_update", "task_update", "plan_decide", "task_add"):
                assert app.call(tool, SMALLEST[tool]).result["isError"] is False
        assert all(hasattr(schema, "_keeps") for schema in shapes.change_schemas())


def test_warm_up_continues_where_it_stopped(make_app: Callable[..., App], project: Project) -> None:
    """Each request ends it after a step, and the next time it continues with another step, until all is done."""
    app, steps = make_app(project.root), 1
    while not app.warm_up(lambda: True):
        steps += 1
    assert steps > 5
    assert app.warm_up(lambda: True) is True
