"""MCP Inspector against the server: both eras of the protocol, its strict check of schemas, and 200 calls."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.e2e.conftest import PROGRAMS
from tests.e2e.running import Done, Running
from tests.e2e.scratch import PROGRAM, Scratch

ID = "inspector"
SERVERS = {"serve": ("serve",), "serve --sdk": ("serve", "--sdk")}
pytestmark = [
    pytest.mark.parametrize("era", ["modern", "legacy"]),
    pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS),
]


def inspect(scratch: Scratch, era: str, server: tuple[str, ...], *words: str) -> Done:
    """Run one method of the Inspector's command line against a server of the project."""
    options = ("--cli", "--protocol-era", era, "--format", "json", "--quiet", *words)
    return Running([PROGRAMS[ID], *options, str(PROGRAM), *server], scratch.env, scratch.root).wait(60)


def result_of(done: Done) -> Any:
    return json.loads(done.out)["result"]


@pytest.mark.shows("strict")
def test_schemas_are_portable(scratch: Scratch, era: str, server: tuple[str, ...]) -> None:
    """The eleven tools are listed, and --strict finds no error, and one known warning.

    The warning is about research_summary of plan_status: another program may have written any value into plan.json.
    """
    options = ("--cli", "--protocol-era", era, "--format", "json", "--strict", "--method", "tools/list")
    done = Running([PROGRAMS[ID], *options, str(PROGRAM), *server], scratch.env, scratch.root).wait(60)
    assert done.code == 0, done.err
    assert re.findall(r"Path: (.*)", done.err) == ["outputSchema.properties.research_summary"]
    assert "0 errors, 1 warning across 1 tool." in done.err
    assert len(result_of(done)["tools"]) == 11


@pytest.mark.shows("calls")
def test_200_calls_are_all_done(scratch: Scratch, era: str, server: tuple[str, ...]) -> None:
    """Each of 200 calls, ten at once, is answered, and makes a task with an id of its own."""
    call = ("--method", "tools/call", "--tool-name", "task_add", "--tool-args-json", '{"title": "T", "context": "c"}')
    done = inspect(scratch, era, server, *call, "--load", "--load-requests", "200")
    found = result_of(done)
    assert (done.code, found["ok"], found["errors"]) == (0, 200, 0)
    assert sorted(task["id"] for task in scratch.state("state/tasks.json")["tasks"]) == list(range(1, 201))


@pytest.mark.shows("errors")
def test_refused_call_is_an_error_of_the_tool(scratch: Scratch, era: str, server: tuple[str, ...]) -> None:
    """The Inspector ends with its exit code for errors of tools, and prints the text."""
    call = ("--method", "tools/call", "--tool-name", "task_update")
    done = inspect(scratch, era, server, *call, "--tool-args-json", '{"id": 1, "status": "done"}')
    assert done.code == 5
    assert "status must be one of pending, in_progress, completed" in result_of(done)["structuredContent"]["error"]
