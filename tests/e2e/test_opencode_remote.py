"""OpenCode with the mount of a server over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.e2e.conftest import PROGRAMS
from tests.e2e.model.server import Model
from tests.e2e.opencode import ID, OpenCode
from tests.e2e.plan_hands import OPENCODE
from tests.e2e.remote_run import Client, RemoteRun, remote_run
from tests.e2e.remote_tests import RemoteTests
from tests.e2e.scratch import Scratch

READING = "read_mcp_resource"


def talk(client: Client, messages: Sequence[str]) -> object:
    assert isinstance(client, OpenCode)
    with client.serve() as server:
        session = server.session()
        for message in messages:
            session.ask(message)
        return server.call("GET", "/mcp")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteRun]:
    with Model() as model:
        client = OpenCode(Path(PROGRAMS[ID]), Scratch(tmp_path_factory.mktemp("client")), model)
        yield remote_run(client, Scratch(tmp_path_factory.mktemp("server")), OPENCODE, READING, talk)
    assert model.faults == []


class TestOpenCode(RemoteTests):
    """OpenCode."""

    editing = "write"
    reading = READING

    @pytest.mark.shows("remote")
    def test_client_says_that_the_server_failed(self, remote: RemoteRun) -> None:
        """The client lists the server as connected, and with a wrong token as failed."""
        assert remote.kept["good"]["nexus"]["status"] == "connected"
        assert remote.kept["wrong"]["nexus"]["status"] == "failed"
