"""Resources of a project with faulty agents and skills."""

from __future__ import annotations

import pytest

from nexus_mcp import log
from tests.server.app_requests import Asker
from tests.support import Project


@pytest.mark.requirement("resources.broken")
@pytest.mark.parametrize("place", ["skills/draft", "agents/draft", "agents/engineer"])
def test_a_fault_spoils_no_list(ask: Asker, project: Project, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """All shipped entries are listed and readable; the faulty ones are omitted, with the reason in the log."""
    before = ask.pages("resources/list", "resources")
    (project.nexus / place).mkdir(parents=True)
    told: list[str] = []
    monkeypatch.setattr(log, "warning", told.append)
    assert ask.pages("resources/list", "resources") == before
    assert [line.partition(" ")[0] for line in told] == [f".nexus/{place}/meta.yml:"]
    assert ask.text("nexus://agents/engineer").startswith("# ")
    assert ask.text("nexus://skills/nx-run").startswith("# ")
