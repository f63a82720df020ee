"""Whole answers over HTTP equal those of stdio for generated sequences, in both eras, with sessions and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.server.stdio import serve
from nexus_mcp.tools import TOOLS
from tests.differential.exchange import answers, numbered
from tests.differential.sequences import sequence
from tests.differential.test_handlers import blotted
from tests.differential.test_http import MODERN, over_http
from tests.wire.connection import LEGACY, initialize, modern, request

Json = Any
SEEDS = range(3)
CALLS = 60
PAGE = Path(__file__).parents[2] / "docs" / "wire.md"


def legacy(id: Json, method: str, **params: Json) -> Json:
    return request(id, method, params)


def both(sent: list[Json], *, is_stateless: bool) -> tuple[Json, Json]:
    """The answers of stdio and those over HTTP."""
    return blotted(answers(sent, serve)), blotted(over_http(sent, is_stateless=is_stateless))


@pytest.mark.parametrize("is_stateless", [False, True], ids=["sessions", "stateless"])
@pytest.mark.parametrize("version", [LEGACY[0], LEGACY[-1], MODERN])
@pytest.mark.parametrize("seed", SEEDS)
def test_sequences_answer_over_http_as_on_stdio(version: str, seed: int, is_stateless: bool) -> None:
    """Each answer is equal in every field. Without sessions the handshake offers no resources/subscribe."""
    if version == MODERN:
        sent = [modern(0, "server/discover"), *sequence(modern, seed, CALLS, is_modern=True)]
    else:
        sent = [initialize(0, version), *sequence(legacy, seed, CALLS, is_modern=False)]
    stdio, http = both(numbered(sent), is_stateless=is_stateless)
    if is_stateless and version != MODERN:
        offered = next(answer["result"]["capabilities"]["resources"] for answer in stdio if answer["id"] == 1)
        assert offered["subscribe"] is True
        offered["subscribe"] = False
    assert http == stdio
    assert len(http) == len(sent)


@pytest.mark.parametrize("seed", SEEDS)
def test_sequences_are_broad(seed: int) -> None:
    """A sequence calls each tool, and has results, errors of tools and errors of the protocol."""
    sent = [modern(0, "server/discover"), *sequence(modern, seed, CALLS, is_modern=True)]
    assert {message["params"].get("name") for message in sent if message["method"] == "tools/call"} == {
        tool.name for tool in TOOLS
    }
    found = answers(numbered(sent), serve)
    refused = [answer for answer in found if answer.get("result", {}).get("isError")]
    assert len(refused) > CALLS / 6
    assert len([answer for answer in found if answer.get("result", {}).get("isError") is False]) > CALLS / 4
    assert [answer for answer in found if "error" in answer]


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscription_without_a_session_is_the_known_difference(method: str) -> None:
    """docs/wire.md names what stdio serves and --stateless does not."""
    sent = numbered([initialize(0, LEGACY[-1]), request(0, method, {"uri": "nexus://plan"})])
    stdio, http = both(sent, is_stateless=True)
    assert (stdio[1]["result"], http[1]["error"]["code"]) == ({}, -32601)
    assert "needs a session" in json.dumps(http[1])
    assert "`resources/subscribe` with `--stateless`" in PAGE.read_text(encoding="utf-8").split("## Over HTTP")[1]
