"""Resources of a project with faulty agents and skills."""

from __future__ import annotations

import pytest

from nexus_mcp import log
from tests.server.app_requests import Asker
from tests.support import Project


@pytest.mark.requirement("resources.broken")
@pytest.mark.parametrize("place", ["skills/draft", "agents/draft", "agents/engineer"])
def test_a_fault_spoils_no_list(ask: Asker, project: Project, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """All that is shipped is listed, and can be read; what cannot be is left out, and the log says why."""
    before = ask.pages("resources/list", "resources")
    (project.nexus / place).mkdir(parents=True)
    told: list[str] = []
    monkeypatch.setattr(log, "warning", told.append)
    assert ask.pages("resources/list", "resources") == before
    assert [line.partition(" ")[0] for line in told] == [f".nexus/{place}/meta.yml:"]
    assert ask.text("nexus://agents/engineer").startswith("# ")
    assert ask.text("nexus://skills/nx-run").startswith("# ")
