"""Claude Code with the mount of a server over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.claude_code import ID, ClaudeCode
from tests.e2e.conftest import PROGRAMS
from tests.e2e.model.server import Model
from tests.e2e.plan_hands import CLAUDE_CODE
from tests.e2e.remote_run import Client, RemoteRun, remote_run
from tests.e2e.remote_tests import RemoteTests
from tests.e2e.scratch import Scratch

READING = "ReadMcpResourceTool"


def talk(client: Client, messages: Sequence[str]) -> list[dict[str, object]]:
    assert isinstance(client, ClaudeCode)
    with client.session() as session:
        for message in messages:
            session.ask(message)
    return session.events


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteRun]:
    with Model() as model:
        client = ClaudeCode(Path(PROGRAMS[ID]), Scratch(tmp_path_factory.mktemp("client")), model)
        yield remote_run(client, Scratch(tmp_path_factory.mktemp("server")), CLAUDE_CODE, READING, talk)
    assert model.faults == []


class TestClaudeCode(RemoteTests):
    """Claude Code."""

    editing = "Write"
    reading = READING

    @pytest.mark.shows("remote")
    def test_client_says_that_the_server_failed(self, remote: RemoteRun) -> None:
        """With a wrong token the first event of the client has the server as failed."""
        servers = {run: _servers(remote.kept[run]) for run in ("good", "wrong")}
        assert servers["good"]["nexus"] == "connected"
        assert servers["wrong"]["nexus"] in ("failed", "needs-auth")


def _servers(events: list[dict[str, Any]]) -> dict[str, str]:
    first = next(event for event in events if event.get("subtype") == "init")
    return {server["name"]: server["status"] for server in first["mcp_servers"]}
