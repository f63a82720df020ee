"""MCP Inspector against the server, in both eras over each transport: its check of schemas, 200 calls, the skills."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from nexus_mcp.tools import TOOLS
from tests.e2e.conftest import PROGRAMS
from tests.e2e.running import Done, Running
from tests.e2e.scratch import PROGRAM, Scratch

ID = "inspector"
STDIO = {"serve": ("serve",), "serve --sdk": ("serve", "--sdk")}
HTTP = {"serve --http": (), "serve --http --stateless": ("--stateless",)}
pytestmark = pytest.mark.parametrize("era", ["modern", "legacy"])
SKILLS = ["nx-init", "nx-plan", "nx-run", "nx-sync"]
NOT_OFFERED = 1
"""The Inspector's exit code for a request that it does not send, because the server has not declared it."""


@pytest.fixture(params=[*STDIO, *HTTP])
def server(scratch: Scratch, request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    """Yield the words that name the server to the Inspector; over HTTP it runs, and its token is among them."""
    if request.param in STDIO:
        yield (str(PROGRAM), *STDIO[request.param])
        return
    running = Running([PROGRAM, "serve", "--http", "127.0.0.1:0", *HTTP[request.param]], scratch.env, scratch.root)
    assert running.process.stdout is not None
    token, url = (running.process.stdout.readline().split()[word] for word in (1, 2))
    yield ("--transport", "http", "--server-url", url, "--header", f"Authorization: Bearer {token}")
    running.process.terminate()
    assert running.wait(60).code == 0


def inspect(scratch: Scratch, era: str, server: tuple[str, ...], *words: str) -> Done:
    """Run one method of the Inspector's command line against a server of the project."""
    options = ("--cli", "--protocol-era", era, "--format", "json", *words)
    return Running([PROGRAMS[ID], *options, *server], scratch.env, scratch.root).wait(60)


def result_of(done: Done) -> Any:
    return json.loads(done.out)["result"]


@pytest.mark.shows("strict")
def test_schemas_are_portable(scratch: Scratch, era: str, server: tuple[str, ...]) -> None:
    """All tools are listed, and --strict finds no error, and one known warning.

    The warning is about research_summary of plan_status: another program may have written any value into plan.json.
    """
    done = inspect(scratch, era, server, "--strict", "--method", "tools/list")
    assert done.code == 0, done.err
    assert re.findall(r"Path: (.*)", done.err) == ["outputSchema.properties.research_summary"]
    assert "0 errors, 1 warning across 1 tool." in done.err
    assert len(result_of(done)["tools"]) == len(TOOLS)


@pytest.mark.shows("calls")
def test_200_calls_are_all_done(scratch: Scratch, era: str, server: tuple[str, ...]) -> None:
    """Each of 200 calls, ten at once, is answered, and makes a task with an id of its own."""
    call = ("--method", "tools/call", "--tool-name", "task_add", "--tool-args-json", '{"title": "T", "context": "c"}')
    done = inspect(scratch, era, server, "--quiet", *call, "--load", "--load-requests", "200")
    found = result_of(done)
    assert (done.code, found["ok"], found["errors"]) == (0, 200, 0)
    assert sorted(task["id"] for task in scratch.state("state/tasks.json")["tasks"]) == list(range(1, 201))


@pytest.mark.shows("errors")
def test_refused_call_is_an_error_of_the_tool(scratch: Scratch, era: str, server: tuple[str, ...]) -> None:
    """The Inspector ends with its exit code for errors of tools, and prints the text."""
    call = ("--method", "tools/call", "--tool-name", "task_update")
    done = inspect(scratch, era, server, "--quiet", *call, "--tool-args-json", '{"id": 1, "status": "done"}')
    assert done.code == 5
    assert "status must be one of pending, in_progress, completed" in result_of(done)["structuredContent"]["error"]


@pytest.mark.shows("skills")
def test_skills_have_the_digests_that_are_listed(scratch: Scratch, era: str, server: tuple[str, ...]) -> None:
    """In the modern era each skill passes --verify with its digests, in order; the other era does not declare them."""
    listing = ("--method", "skills/list")
    done = inspect(scratch, era, server, *listing, "--verify", "--require-digests")
    if era == "legacy":
        assert done.code == NOT_OFFERED
        assert "does not declare the io.modelcontextprotocol/skills extension" in done.err
        return
    found = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, [skill["name"] for skill in found]) == (0, SKILLS)
    assert [(skill["outcome"], skill["conformance"], skill["frontmatter"]) for skill in found] == [
        ("verified", [], [])
    ] * 4
    assert "Verified 4 skills and 4 files: no conformance errors." in done.err
    listed = result_of(inspect(scratch, era, server, *listing))["skills"]
    got = inspect(scratch, era, server, "--method", "skills/get", "--uri", listed[1]["uri"])
    assert result_of(got)["skill"] == listed[1]
