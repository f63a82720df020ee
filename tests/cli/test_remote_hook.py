"""`nexus-mcp hook --url` sends neutral events, and refuses tools whenever the server does not answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import remote_hook
from nexus_mcp.cli.options import Values
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.host import NEUTRAL
from tests.cli.support import CHECKOUT, COMMAND, LIMIT, Ran, environment
from tests.cli.test_help import HEAVY
from tests.remote.listener import Listener
from tests.server.http.test_process import Server
from tests.support import compact

Json = Any
TOKEN = "nexus_" + "s" * 43
EDIT = {"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
READ = {**EDIT, "tool_name": "Read"}
PARAMS = {"tool": "Edit", "tool_input": {"file_path": "a.py"}, "session_id": "s1"}


def response(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def answer(event: str = "pre_tool_use", **more: Json) -> bytes:
    value = {"event": event, "harness_id": "claude-code", "decision": "continue", "warnings": [], **more}
    return response(json.dumps(value).encode())


def hook(folder: Path, payload: Json, *words: str, token: str = TOKEN, **variables: str) -> Ran:
    """Run a hook of Claude Code in a folder."""
    data = payload if isinstance(payload, bytes) else compact(payload).encode()
    done = subprocess.run(
        [*COMMAND, "hook", *(words or ("--native", "claude-code"))],
        cwd=folder,
        env={**environment(), "NEXUS_TOKEN": token, **variables},
        input=data,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def refusal(ran: Ran) -> str:
    """Return the reason of a refused tool."""
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)["hookSpecificOutput"]
    assert found["permissionDecision"] == "deny"
    return str(found["permissionDecisionReason"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"))
    yield made
    made.end()


def test_server_answers_in_the_form_of_the_harness(server: Server, tmp_path: Path) -> None:
    """With --url or NEXUS_URL the decision is printed in the form of Claude Code, and no local file is made."""
    url = f"http://127.0.0.1:{server.port}/mcp"
    folder = tmp_path / "project"
    folder.mkdir()
    named = hook(folder, EDIT, "--native", "claude-code", "--url", url, token=server.token)
    by_variable = hook(folder, EDIT, token=server.token, NEXUS_URL=url)
    assert refusal(named) == refusal(by_variable)
    assert 'There is no task list, and "Edit" would change "a.py"' in refusal(named)
    assert hook(folder, READ, token=server.token, NEXUS_URL=url).out == ""
    assert [*folder.iterdir()] == []


def test_neutral_events_have_the_neutral_form(server: Server, tmp_path: Path) -> None:
    """An event of the lifecycle gets the answer of the lifecycle, without the form of a harness."""
    words = ("session_start", "--url", f"http://127.0.0.1:{server.port}/mcp", "--token-env", "MINE")
    ran = hook(tmp_path, {"source": "startup"}, *words, token="", MINE=server.token)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["reset"] is True


def test_malformed_payload_is_refused_by_the_server(server: Server, tmp_path: Path) -> None:
    """The server judges a truncated payload by its readable fields."""
    ran = hook(
        tmp_path, compact(EDIT).encode()[:-9], NEXUS_URL=f"http://127.0.0.1:{server.port}/mcp", token=server.token
    )
    assert "Which agent wants to use" in refusal(ran)


NO_ANSWER = {
    "a refused token": (response(b"", 401), "refuses the token in NEXUS_TOKEN"),
    "a missing right": (
        response(b'{"error":{"message":"This token lacks the right to write"}}', 403),
        "lacks the right",
    ),
    "a refusal of a proxy": (
        response(b"secret words", 403),
        "refuses the event. Look at its log, and call it by https",
    ),
    "an unknown project": (response(b"", 404), "has no such project"),
    "an unknown host": (response(b"", 421), "does not answer to this host name"),
    "too many requests": (response(b"", 429), "too many requests"),
    "a server that is busy": (response(b"", 503), "cannot take the event now"),
    "a redirect": (b"HTTP/1.1 302 X\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n", "status 302"),
    "a fault": (response(b"secret words", 500), "status 500"),
    "no JSON": (response(b"<html>secret words"), "sent no answer"),
    "an unknown decision": (answer(decision="maybe"), "sent no answer"),
    "a refusal without a reason": (answer(decision="deny"), "sent no answer"),
    "the answer to another event": (answer("turn_end"), "sent no answer"),
    "warnings that are no texts": (answer(warnings=[1]), "sent no answer"),
    "a cut answer": (answer()[:-1], "in the middle of its response"),
    "silence": (b"", "in the middle of its response"),
}


def asked(
    monkeypatch: pytest.MonkeyPatch, listener: Listener, name: str, params: Json, *, failure: bool = False
) -> Json:
    """Return the answer to an event within this process."""
    monkeypatch.setenv("NEXUS_TOKEN", TOKEN)
    values = Values()
    values.update({"--url": f"http://127.0.0.1:{listener.port}/mcp", "--native": "claude-code"})
    server = remote_hook.Server(values)
    try:
        if failure:
            return server.ask_failure(name, "It is cut off.", NEUTRAL, params, is_whole=False)
        return server.ask(name, params, NEUTRAL)
    finally:
        server.close()


@pytest.mark.parametrize("what", NO_ANSWER)
def test_tool_is_refused_without_an_answer(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """An edit is refused with the reason and the next step; the message quotes no text of the response."""
    sent, reason = NO_ANSWER[what]
    with Listener(sent) as listener:
        found = asked(monkeypatch, listener, "pre_tool_use", PARAMS)
    assert found["decision"] == "block"
    assert reason in found["reason"]
    assert "Tell the user." in found["reason"]
    assert "secret" not in json.dumps(found)
    assert TOKEN not in json.dumps(found)


CALLERS = {
    "the main session": (PARAMS, False, "block"),
    "an agent": ({**PARAMS, "agent_id": "a1"}, False, "deny"),
    "an agent by its name": ({**PARAMS, "agent_name": "tester"}, False, "deny"),
    "a tool that only reads": ({**PARAMS, "tool": "Read"}, False, "continue"),
    "an unknown tool": ({**PARAMS, "tool": "Boom"}, False, "block"),
    "a tool without a name": ({"session_id": "s1"}, False, "block"),
    "params that are no object": ([], False, "deny"),
    "a cut payload": (PARAMS, True, "deny"),
    "a cut payload of a tool that reads": ({**PARAMS, "tool": "Read"}, True, "deny"),
}


@pytest.mark.parametrize("who", CALLERS)
def test_caller_decides_how_a_tool_is_refused(monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """Without an answer the main session may retry, agents and unknown callers are denied, and reads are allowed."""
    params, failure, decision = CALLERS[who]
    with Listener(response(b"", 401)) as listener:
        assert asked(monkeypatch, listener, "pre_tool_use", params, failure=failure)["decision"] == decision


@pytest.mark.parametrize("name", [name for name in EVENTS if name != "pre_tool_use"])
def test_other_events_go_on_with_a_warning(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Without an answer an event that is no gate gets `continue` with a warning that has the reason."""
    with Listener(response(b"", 401)) as listener:
        found = asked(monkeypatch, listener, name, {})
    assert found["decision"] == "continue"
    assert found["warnings"][0].startswith(f"The event {name} could not be handled: The server http://127.0.0.1:")


def test_hook_does_not_wait_for_a_silent_server(tmp_path: Path) -> None:
    """A server that says nothing is given up before the deadline of the hook: the edit is refused, reading goes on."""
    for payload in (EDIT, READ):
        with Listener(None) as listener:
            ran = hook(tmp_path, payload, NEXUS_URL=f"http://127.0.0.1:{listener.port}/mcp")
        if payload is EDIT:
            assert "did not answer in time" in refusal(ran) or "could not be handled in time" in refusal(ran)
        else:
            assert ran.code == 0


TOKENS = {"": "NEXUS_TOKEN is not set", "a\r\nX: y": "has no token", "ü": "has no token", "x" * 20_000: "has no token"}


@pytest.mark.parametrize("token", TOKENS)
def test_without_a_token_nothing_is_sent(tmp_path: Path, token: str) -> None:
    """A missing or malformed token is reported, and the server gets no request."""
    with Listener(answer()) as listener:
        ran = hook(tmp_path, EDIT, NEXUS_URL=f"http://127.0.0.1:{listener.port}/mcp", token=token)
        assert TOKENS[token] in refusal(ran)
        assert listener.connections == 0


def test_event_has_the_fields_that_decide_and_no_output_of_tools(tmp_path: Path) -> None:
    """The event has neither the output of a tool nor paths of the harness's own files."""
    payload = {**EDIT, "hook_event_name": "PostToolUse", "tool_response": "secret", "transcript_path": "/secret"}
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    with Listener(answer("post_tool_use")) as listener:
        words = ("--native", "claude-code", "--gate", "auto", "--skills", "--mount", "mcp__nexus__")
        ran = hook(tmp_path / "src", payload, *words, NEXUS_URL=f"http://127.0.0.1:{listener.port}/p/shop/mcp")
    assert (ran.code, ran.out) == (0, "")
    head, _, body = listener.heard[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /p/shop/hook HTTP/1.1\r\n")
    sent = json.loads(body)
    assert sent["params"] == {**PARAMS, "status": "ok"}
    root = str(tmp_path.resolve())
    assert (sent["client"]["root"], sent["client"]["folder"]) == (root, f"{root}/src")
    assert (sent["mount"], sent["harness_id"]) == ("mcp__nexus__", "claude-code")
    assert (sent["host"]["gate"], sent["host"]["has_skills"]) == ("auto", True)
    assert b"secret" not in body


def test_large_input_is_judged_as_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """An input beyond 4 MiB is left out, and the server judges the rest as a truncated payload."""
    with Listener(answer()) as listener:
        asked(monkeypatch, listener, "pre_tool_use", {**PARAMS, "tool_input": {"content": "x" * (5 << 20)}})
    sent = json.loads(listener.heard[0].partition(b"\r\n\r\n")[2])
    assert sent["params"] == {"tool": "Edit", "session_id": "s1"}
    assert sent["failure"]["is_whole"] is False


def test_event_that_is_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is still larger than 4 MiB is a failure, and the server gets no request."""
    with Listener(answer("user_message")) as listener:
        found = asked(monkeypatch, listener, "user_message", {"prompt": "x" * (5 << 20)})
        assert listener.connections == 0
    assert "larger than the 4 MiB" in found["warnings"][0]


def test_lone_surrogate_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lone surrogate is sent as an escape."""
    with Listener(answer()) as listener:
        asked(monkeypatch, listener, "pre_tool_use", {**PARAMS, "tool_input": {"file_path": "\ud800"}})
    assert json.loads(listener.heard[0].partition(b"\r\n\r\n")[2])["params"]["tool_input"] == {"file_path": "\ud800"}


def test_session_of_a_run_stays_local(tmp_path: Path) -> None:
    """A session of `nexus-mcp run` uses the files of this machine, and the server gets no request."""
    with Listener(answer()) as listener:
        url = f"http://127.0.0.1:{listener.port}/mcp"
        ran = hook(tmp_path, {**EDIT, "tool_name": "mcp__nexus__task_close"}, NEXUS_URL=url, NEXUS_RUN="r1")
        assert "This session belongs to a run" in refusal(ran)
        assert listener.connections == 0


WRONG = {
    ("--url", "http://nexus.example.org/mcp"): "clear text",
    ("--url", "https://u:p@nexus.example.org/mcp"): "may not have a user name",
    ("--url", "https://nexus.example.org/"): "ends with /mcp",
    ("--url", "https://nexus.example.org/mcp", "--token-env", "A B"): "name of an environment variable",
    ("--token-env", "MINE"): "--token-env needs --url",
    ("--allow-http",): "--allow-http needs --url",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_options_end_with_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A URL or option that cannot be used is an error of the command line."""
    ran = hook(tmp_path, EDIT, "--native", "claude-code", *words)
    assert (ran.code, ran.out) == (2, "")
    assert WRONG[words] in ran.err


def test_hook_of_opencode_keeps_its_connection(tmp_path: Path) -> None:
    """The resident hook sends all events on one connection, and ends its sessions at the server."""
    reports = [
        {"id": 1, "event": "created", "session": "s1", "parent": ""},
        {"id": 2, "event": "before", "session": "s1", "parent": "", "tool": "edit", "input": {"filePath": "a.py"}},
    ]
    sent = [
        answer("session_start", context="Welcome."),
        answer("pre_tool_use", decision="block", reason="First a task."),
        answer("session_end"),
    ]
    with Listener(*sent, keeps=True) as listener:
        lines = "".join(f"{compact(report)}\n" for report in reports).encode()
        words = ("--native", "opencode", "--serve", "--url", f"http://127.0.0.1:{listener.port}/mcp")
        ran = hook(tmp_path, lines, *words)
        assert listener.connections == 1
    assert [json.loads(line) for line in ran.out.splitlines()] == [{"id": 1}, {"deny": "First a task.", "id": 2}]
    names = [json.loads(heard.partition(b"\r\n\r\n")[2])["event"] for heard in listener.heard]
    assert names == ["session_start", "pre_tool_use", "session_end"]


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    """A hook with a server imports neither the store nor the catalog nor http.client, and no TLS for http://."""
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        "from nexus_mcp.cli import main; code = main(['hook', '--native', 'claude-code'])\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    with Listener(answer()) as listener:
        url = f"http://127.0.0.1:{listener.port}/mcp"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            cwd=tmp_path,
            env={**environment(), "NEXUS_URL": url, "NEXUS_TOKEN": TOKEN},
            input=compact(EDIT),
            capture_output=True,
            text=True,
            check=False,
        )
    heavy = {*HEAVY, "yaml", "ssl", "http.client", "email", "urllib.request", "ipaddress"}
    heavy |= {"nexus_mcp.store.store", "nexus_mcp.catalog.load", "nexus_mcp.server", "nexus_mcp.tools"}
    assert (done.returncode, done.stdout, {*done.stderr.split()} & heavy) == (0, "", set())
