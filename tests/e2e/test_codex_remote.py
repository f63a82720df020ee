"""Codex with the mount of a server over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.codex import BUNDLED, ID, Codex
from tests.e2e.conftest import PROGRAMS
from tests.e2e.model.server import Model
from tests.e2e.plan_hands import CODEX
from tests.e2e.remote_run import Client, RemoteRun, remote_run
from tests.e2e.remote_tests import RemoteTests
from tests.e2e.running import Done
from tests.e2e.scratch import Scratch

READING = "read_mcp_resource"
_HANDS = replace(CODEX, find=({"tool_search": {"query": "plan_status task_add artifact_write", "limit": 20}},))
_UNTRUSTED = "--dangerously-bypass-hook-trust"
_WITHOUT = "-c", "mcp_servers.nexus.required=false"


def talk(client: Client, messages: Sequence[str]) -> list[Done]:
    assert isinstance(client, Codex)
    done = [client.exec(message, _UNTRUSTED).wait(120) for message in messages]
    if done[0].code:  # without its server Codex does not begin, unless the user lets it
        done += [client.exec(message, _UNTRUSTED, *_WITHOUT).wait(120) for message in messages]
    return done


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteRun]:
    with Model() as model:
        client = Codex(Path(PROGRAMS[ID]), Scratch(tmp_path_factory.mktemp("client")), model, BUNDLED)
        yield remote_run(client, Scratch(tmp_path_factory.mktemp("server")), _HANDS, READING, talk)
    assert model.faults == []


class TestCodex(RemoteTests):
    """Codex."""

    editing = "apply_patch"
    reading = READING

    @pytest.mark.shows("remote")
    def test_client_does_not_begin_with_a_wrong_token(self, remote: RemoteRun) -> None:
        """Codex ends at once, and names the server and the missing authorization."""
        first = remote.kept["wrong"][0]
        assert first.code == 1
        assert "required MCP servers failed to initialize: nexus" in first.err
        assert "Auth required" in first.err
