"""Claude Code as a user has it: installed by our command, with a scripted model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.claude_code import ID, ClaudeCode
from tests.e2e.conftest import PROGRAMS
from tests.e2e.model.server import Model
from tests.e2e.scratch import Scratch


@pytest.fixture
def claude(scratch: Scratch, model: Model) -> ClaudeCode:
    return ClaudeCode(Path(PROGRAMS[ID]), scratch, model)


@pytest.mark.shows("install", "tools")
def test_model_gets_the_eleven_tools(claude: ClaudeCode, model: Model) -> None:
    """The server of .mcp.json starts, and its tools and instructions are in the first request."""
    claude.install()
    model.script.on("LOOK", {"tool": "task_list", "input": {}}, {"text": "LOOKED"})
    with claude.session() as session:
        assert session.ask("LOOK at the tasks") == "LOOKED"
    names = [tool.name for tool in model.last().conversation.tools if tool.name.startswith("mcp__nexus__")]
    assert len(names) == 11
    assert "Call context first" in model.last().text
    assert model.last().conversation.results("task_list")[0].value == {"exists": False}
