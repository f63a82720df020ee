"""The commands that the text of a skill names, in a prompt and in a resource."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.app_requests import Asker
from tests.support import Project


@pytest.mark.parametrize("harness", ["claude-code", "nexus-mcp"])
def test_commands_name_the_harness(make_app: Any, project: Project, harness: str) -> None:
    """Without the id, resume and brief would answer for a harness that cannot resume."""
    text = Asker(make_app(project.root, harness_id=harness)).prompt("run")
    for name in ("resume", "brief"):
        assert f"`nexus-mcp {name} --harness-id {harness} <task-id>`" in text
    assert "{{" not in text
