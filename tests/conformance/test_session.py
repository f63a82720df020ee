"""The official client over our pipes, against a server that breaks the protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.client.connection import Session
from nexus_mcp.conformance.failures import Reply, TargetFailure
from nexus_mcp.conformance.settings import TargetOptions
from tests.conformance.servers.misbehaving import RESULTS
from tests.conformance.support import NASTY, act, gone, talk

HASTY = TargetOptions(timeout=0.5)
LARGE = "x" * (4 << 20)
UNSTRUCTURED = "Tool act has an output schema but did not return structured content"
GARBAGE = "Hello ·[31mworld, this is a line that is no message at all a…"


def reply(folder: Path, **arguments: Any) -> Reply:
    async def ask(session: Session) -> Reply:
        return replace(await session.call("act", arguments), seconds=0.0)

    return talk(folder, ask)


def failure_of(folder: Path, options: TargetOptions | None = None, how: str = "", **arguments: Any) -> str:
    """Return the message about a call without a response. Check that the process and its children have ended."""

    async def ask(session: Session) -> str:
        with pytest.raises(TargetFailure) as caught:
            await session.call("act", arguments)
        session.kill()
        assert session.process is not None
        assert gone(session.process.pid)
        return str(caught.value)

    return talk(folder, ask, (*NASTY, how), options)


def test_call_returns_payload_and_server_info(tmp_path: Path) -> None:
    """A response has its payload, and the server info has the name and the capabilities."""

    async def ask(session: Session) -> tuple[Reply, tuple[str, ...], str, str, str]:
        answer = await session.call("act", act("wave"))
        connection = session.connection
        return answer, connection.tools, connection.server, connection.protocol, await session.end()

    answer, *rest = talk(tmp_path, ask)
    assert answer.seconds > 0
    did = {"did": "wave", "given": {"do": "wave"}}
    assert replace(answer, seconds=0.0) == Reply(did, result={"content": [], "structuredContent": did}, described=True)
    assert rest == [("act",), "nasty 7", "2025-11-25", ""]


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        ("refuse", Reply(protocol_error="not today")),
        ("quote", Reply(protocol_error="Connection closed")),
        ("mark", Reply(text="no", is_error=True)),
        ("text", Reply({"did": "text"}, '{"did": "text"}', schema_fault=UNSTRUCTURED, described=True)),
        ("break the schema", Reply({"did": 7}, schema_fault="$.did: 7 is not of type 'string'", described=True)),
    ],
)
def test_error_response_is_an_answer(tmp_path: Path, do: str, expected: Reply) -> None:
    """An error, a plain text and a result that breaks the output schema count as responses."""
    assert reply(tmp_path, do=do) == replace(expected, result=RESULTS[do].get("result"))


def test_result_is_returned_as_sent(tmp_path: Path) -> None:
    """The result has exactly the sent fields, including those that the protocol does not know."""
    assert reply(tmp_path, do="extra").result == {"content": [{"type": "text", "text": "no", "x": 1}], "more": 2}
    assert reply(tmp_path, do="mark").result == {"content": [{"type": "text", "text": "no"}], "isError": True}


def test_text_equal_as_json_does_not_differ(tmp_path: Path) -> None:
    """The text block may have any JSON equal to structuredContent: 1.0 is 1, and true is not 1."""
    assert reply(tmp_path, do="true for one").text_differs is True
    assert reply(tmp_path, do="float for integer").text_differs is False


@pytest.mark.parametrize(
    ("do", "said"),
    [
        ("die", "exited with code 3"),
        ("crash", "was ended by SIGSEGV"),
        ("long line", "flooded: it printed a line of more than 4 MiB"),
        ("bytes", "flooded: it printed more than 16 MiB"),
        ("lines", "flooded: it printed more than 5000 unrequested lines"),
        ("stderr", "flooded: it printed more than 16 MiB"),
        ("garbage", f'printed a line to stdout that is not a JSON-RPC message: "{GARBAGE}"'),
        ("blank", "printed a blank line to stdout, where only JSON-RPC messages are allowed"),
        ("close stdout", "closed its stdout, but went on running"),
        ("no result", "sent an invalid result for act: content: Input should be a valid list"),
    ],
)
def test_missing_response_is_reported_with_its_cause(tmp_path: Path, do: str, said: str) -> None:
    """A missing response is reported with its cause."""
    assert failure_of(tmp_path, do=do) == said


def test_hanging_call_ends_at_its_timeout(tmp_path: Path) -> None:
    """A call without a response ends at its timeout."""
    assert failure_of(tmp_path, HASTY, do="hang") == "did not answer act within 0.5 s"


def test_unread_large_request_times_out(tmp_path: Path) -> None:
    """A request that is larger than a pipe, to a server that reads nothing, ends at its timeout, too."""
    assert failure_of(tmp_path, HASTY, "deaf", do="wave", much=LARGE) == "did not answer act within 0.5 s"


def test_closed_stdin_of_a_server_is_reported(tmp_path: Path) -> None:
    """A server that closed its stdin is reported as such, and not as a timeout."""
    assert failure_of(tmp_path, None, "shut", do="wave", much=LARGE) == "closed its stdin, but went on running"


def test_unknown_tool_is_not_called(tmp_path: Path) -> None:
    """A tool that the server does not list is not called; prefix and map give the real names."""

    async def ask(session: Session) -> str:
        with pytest.raises(TargetFailure) as caught:
            await session.call("wave", {})
        assert (await session.call("do", act("wave"))).payload["did"] == "wave"
        return str(caught.value)

    options = TargetOptions(prefix="nx_", names={"do": "act"})
    assert talk(tmp_path, ask, options=options) == "has no tool nx_wave"


@pytest.mark.parametrize("do", ["child", "child without environment", "orphan"])
def test_children_of_a_killed_server_are_killed(tmp_path: Path, do: str) -> None:
    """All descendants of a killed server are killed, in any session, under any parent."""

    async def ask(session: Session) -> int:
        pid = int((await session.call("act", act(do))).payload["pid"])
        assert not gone_at_once(pid)
        session.kill()
        return pid

    assert gone(talk(tmp_path, ask))


def gone_at_once(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_children_left_behind_are_reported_and_killed(tmp_path: Path) -> None:
    """A server that leaves a process running at its end is reported, and the process is killed."""

    async def ask(session: Session) -> tuple[int, str]:
        pid = int((await session.call("act", act("orphan"))).payload["pid"])
        return pid, await session.end()

    pid, said = talk(tmp_path, ask, options=TargetOptions(end_timeout=0.2))
    assert said == f"ended, but processes that it started still run: {Path(sys.executable).name} [{pid}]"
    assert gone(pid)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("stay", "did not end within 0.3 s after its stdin was closed"),
        ("print", 'printed a line to stdout that is not a JSON-RPC message: "Goodbye"'),
        ("mumble", 'printed a line to stdout that is not a JSON-RPC message: "Good"'),
        ("crash", "was ended by SIGSEGV after its stdin was closed"),
        ("fail", "exited with code 3 after its stdin was closed"),
    ],
)
def test_server_that_ignores_stdin_is_killed(tmp_path: Path, then: str, said: str) -> None:
    """A server that does not end with its stdin is killed, and its faults at the end are reported."""

    async def ask(session: Session) -> tuple[int, str]:
        assert session.process is not None
        return session.process.pid, await session.end()

    options = TargetOptions(end_timeout=0.3 if then == "stay" else 5)
    pid, complaint = talk(tmp_path, ask, (*NASTY, then), options)
    assert (complaint, gone(pid)) == (said, True)


def test_server_runs_in_its_project_with_its_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server runs in its project, gets its root, and keeps the user's variables except those of another project."""
    monkeypatch.setenv("NEXUS_LOG", "debug")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("KEPT", "yes")

    async def ask(session: Session) -> dict[str, Any]:
        return dict((await session.call("act", act("tell"))).payload)

    told = talk(tmp_path, ask, options=TargetOptions(environment={"MORE": "too"}, project_env="ROOT"))
    wanted = {"KEPT": "yes", "MORE": "too", "ROOT": str(tmp_path), "NEXUS_LOG": None, "GIT_DIR": None}
    assert {name: told["environment"].get(name) for name in wanted} == wanted
    assert told["cwd"] == str(tmp_path.resolve())


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("twice", "sent a response without a request, or a second response"),
        ("hang up", "closed its stdout, but went on running"),
    ],
)
def test_fault_after_the_answer_is_reported_at_the_end(tmp_path: Path, how: str, said: str) -> None:
    """A fault of a server after a right response is reported at its end."""

    async def ask(session: Session) -> str:
        await session.call("act", act("wave"))
        process = session.process
        assert process is not None
        while how == "hang up" and process.stdout_is_open:
            await asyncio.sleep(0)
        return await session.end()

    assert talk(tmp_path, ask, (*NASTY, how)) == said
