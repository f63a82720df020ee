"""Each known difference to the SDK still exists, and lines of these kinds have no other."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.server.sdk import serve_sdk
from tests.differential.exchange import answers, compare
from tests.differential.known_differences import DIFFERENCES, Difference
from tests.wire.connection import ROOT, initialize, line, notification, request

Json = Any


def reduced(found: list[Json]) -> Json:
    """Return the one response beside that of the handshake; "tool error" for a refused call; None without one."""
    rest = [answer for answer in found if answer["id"] != "first"]
    assert len(rest) <= 1
    answer = rest[0] if rest else None
    return "tool error" if answer and answer.get("result", {}).get("isError") else answer


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.what)
def test_both_servers_answer_as_the_table_says(difference: Difference) -> None:
    """Both servers respond as in the table, and their responses differ."""
    ours, theirs = compare([initialize("first"), difference.line])
    assert (reduced(ours), reduced(theirs)) == (difference.ours, difference.sdk)
    assert difference.ours != difference.sdk
    assert difference.reason


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.what)
def test_sdk_server_answers_malformed_lines_as_ours(difference: Difference) -> None:
    """`serve --sdk` has our transport: it also answers lines that the SDK alone would drop or accept wrongly."""
    found = reduced(answers([initialize("first"), difference.line], serve_sdk))
    assert found == (difference.through_sdk or difference.ours)


def test_page_documents_the_differences_of_serve_sdk() -> None:
    """docs/wire.md lists the differences that `serve --sdk` has, too."""
    text = " ".join((ROOT / "docs" / "wire.md").read_text().split())
    named = " and ".join(difference.what for difference in DIFFERENCES if difference.through_sdk)
    assert f"`serve --sdk` differs from our loop in two of these, {named}, and answers -32602." in text


def test_every_difference_is_documented() -> None:
    """docs/wire.md lists every difference with its reason."""
    text = " ".join((ROOT / "docs" / "wire.md").read_text().split())
    for difference in DIFFERENCES:
        assert f"| {difference.what} |" in text
        assert difference.reason in text


@pytest.mark.parametrize("frames", [9, 20])
def test_many_notifications_before_a_request_are_accepted(frames: int) -> None:
    """The SDK drops all but eight frames before the first request; our server reads them all."""
    lead = [notification("notifications/other")] * (frames - 1) + [notification("notifications/initialized")]
    ours, theirs = compare([*lead, request(1, "tools/list")])
    assert "result" in ours[0]
    assert theirs[0]["error"]["code"] == -32602


@pytest.mark.parametrize(
    "silent",
    [
        b"\n",
        b" \t\r\n",
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}},
        notification("tools/list"),
        notification("notifications/progress", {"progressToken": 1, "progress": 1}),
        notification("notifications/roots/list_changed"),
        notification("notifications/unknown", {"a": 1}),
        line({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]}),
    ],
)
def test_lines_without_request_get_no_response(silent: Json) -> None:
    """Neither server answers blank lines, responses and notifications."""
    ours, theirs = compare([initialize("first"), silent])
    assert ours == theirs
    assert [answer["id"] for answer in ours] == ["first"]
