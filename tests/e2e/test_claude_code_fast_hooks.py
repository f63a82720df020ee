"""Claude Code with `install --fast-hooks`: hooks call the running server. And the prompts of the server as commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.tools import TOOLS
from tests.e2e.claude_code import ID
from tests.e2e.claude_run import Make, Run, clients
from tests.e2e.conftest import PROGRAMS
from tests.e2e.cycle import WORK, tool

HOOK_TOOL = "mcp__nexus__hook"


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Make a client with a home, a project and a model of its own."""
    with clients(Path(PROGRAMS[ID]), tmp_path_factory.mktemp) as one:
        yield one


@pytest.fixture(scope="module")
def fast(make: Make) -> Run:
    claude = make()
    run = Run(claude)
    scratch, script = claude.scratch, claude.model.script
    run.kept["before"] = scratch.project_bytes()
    claude.install("--fast-hooks", "--gate", "block")
    run.kept["hooks"] = scratch.project_bytes()[".claude/settings.json"]

    def write(name: str) -> dict[str, Any]:
        return tool("Write", file_path=str(scratch.root / name), content="x\n")

    forged = tool(HOOK_TOOL, event="pre_tool_use", tool_name="Read")
    script.on("EDIT-EARLY", write("early.txt"), forged, {"text": "REFUSED"})
    script.on("DO-THE-WORK", *WORK[:5], write("late.txt"), *WORK[5:], {"text": "WORK-DONE"})
    script.on("Stop hook feedback", {"text": "NOT-YET"})
    script.on("ANYTHING-ELSE", {"text": "NOTHING"})
    script.on("CLOSE-IT", tool("task_close"), tool("history_search", query="SQLite"), {"text": "CLOSED"})
    script.on("links-that-last", {"text": "PLANNING"})
    with claude.session() as session:
        run.kept["early"] = session.ask("EDIT-EARLY")
        run.kept["work"] = session.ask("DO-THE-WORK")
        run.kept["else"] = session.ask("ANYTHING-ELSE")
        run.kept["close"] = session.ask("CLOSE-IT")
        run.kept["plan"] = session.ask("/mcp__nexus__plan links-that-last")
        run.kept["commands"] = [name for one in session.events for name in one.get("slash_commands", ())]
    run.kept["log"] = [
        json.loads(line) for line in (scratch.root / ".nexus/state/tool-log.jsonl").read_text().splitlines()
    ]
    claude.uninstall()
    run.kept["uninstalled"] = scratch.project_bytes()
    return run


def test_hook_tool_is_hidden_from_the_model(fast: Run) -> None:
    """The client offers only the tools of the contract; a call of the hook tool by the model fails."""
    hooks = json.loads(fast.kept["hooks"])["hooks"]
    kinds = {event: group["hooks"][0]["type"] for event, (group,) in hooks.items()}
    assert {event for event, kind in kinds.items() if kind == "mcp_tool"} >= {"PreToolUse", "PostToolUse", "Stop"}
    for request in fast.requests:
        own = {one.name for one in request.conversation.tools if one.name.startswith("mcp__nexus__")}
        assert len(own) == len(TOOLS)
        assert HOOK_TOOL not in own
    forged = fast.last("EDIT-EARLY").results()[1]
    assert forged.is_error


@pytest.mark.shows("gate-blocks")
def test_edit_without_a_task_is_denied_by_the_server(fast: Run) -> None:
    """The file is not written, and the model gets the reason; with a task the same tool writes."""
    root = fast.claude.scratch.root
    denied = fast.last("EDIT-EARLY").results("Write")[0]
    assert denied.is_error
    assert "files are edited for a task. First add one with task_add" in denied.text
    assert not (root / "early.txt").exists()
    assert not fast.last("DO-THE-WORK").results("Write")[-1].is_error
    assert (root / "late.txt").exists()


def test_uses_of_tools_are_recorded(fast: Run) -> None:
    """Each edit that took place is in the tool log, by the hook after the tool; the denied one is not."""
    written = [line["file"] for line in fast.kept["log"] if line["tool"] == "Write" and line.get("status") != "error"]
    assert written == ["late.txt"]


@pytest.mark.shows("turn-end", "cycle")
def test_end_of_a_turn_requests_task_close_once(fast: Run) -> None:
    """The server refuses the first end of a turn with finished tasks; the cycle is closed then."""
    assert (fast.kept["early"], fast.kept["work"], fast.kept["else"]) == ("REFUSED", "NOT-YET", "NOTHING")
    asked = [text for text in fast.last("CLOSE-IT").users() if "Stop hook feedback" in text]
    assert len(asked) == 1
    assert fast.last("CLOSE-IT").results("task_close")[0].value["closed"] is True


@pytest.mark.shows("prompts")
def test_prompts_are_commands(fast: Run) -> None:
    """The client lists the prompts as commands, and the text of one reaches the model with the typed word."""
    names = {f"mcp__nexus__{name}" for name in ("plan", "run", "sync", "d", "m", "rule")}
    assert names <= {name.removesuffix(" (MCP)") for name in fast.kept["commands"]}
    assert fast.kept["plan"] == "PLANNING"
    text = fast.last("links-that-last").users()[-1]
    assert "## Hand back" in text


@pytest.mark.shows("uninstall")
def test_uninstall_restores_each_byte(fast: Run) -> None:
    """The hooks and the hidden tool are gone from the settings; the project has its bytes again."""
    kept = {name: data for name, data in fast.kept["uninstalled"].items() if not name.startswith(".nexus/")}
    assert kept == {**fast.kept["before"], "late.txt": b"x\n"}
