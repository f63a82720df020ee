"""A server over streamable HTTP that serves one folder gets one fixture at a time."""

from __future__ import annotations

import re
import shlex
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from nexus_mcp.conformance.client import served as served_module
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import Target, over_http, started_over_http, stdio
from nexus_mcp.conformance.trial.steps import Steps
from nexus_mcp.conformance.trial.workspace_root import WorkspaceRoot
from nexus_mcp.errors import HarnessFault
from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import build_server
from nexus_mcp.workspace import Workspace
from tests.cli.support import nexus
from tests.conformance.support import made, outcome
from tests.wire.connection import ROOT

ADD = {"action": {"tool": "task_add", "params": {"title": "Do it", "context": "Because"}}}
EVENT_SERVER = Path(__file__).parent / "servers" / "event.py"
FIRST: dict[str, Any] = {"postcondition": {"return_value": {"$.task.id": 1}}}


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve our own tools over `folder`; yield the address."""
    app = build_server(App(Workspace(str(folder.resolve()), "nexus-mcp"))).streamable_http_app()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "served"
    made.mkdir()
    return made


def test_every_fixture_finds_an_empty_folder(folder: Path) -> None:
    """At the start of every fixture the folder has only a repository, and the run leaves it empty."""
    fixtures = [
        made(ADD, test_id="a", **FIRST),
        made(ADD, test_id="b", **FIRST),
        made({"restart": True}, ADD, test_id="c"),
        made({"action": {"tool": "task_close", "params": {"x": 1}}}, test_id="d"),
    ]
    with served(folder) as url:
        found = run(fixtures, over_http(url, str(folder)), jobs=4)
    statuses = [(result.status, result.reason) for result in found.results]
    assert statuses == [("passed", ""), ("passed", ""), ("not run", "needs a process"), ("failed", "error")]
    assert found.server.startswith("nexus-mcp ")
    assert list(folder.iterdir()) == []


def test_non_empty_folder_is_refused(folder: Path) -> None:
    """A folder that is not empty is refused before the first request, and stays unchanged."""
    (folder / "precious.txt").write_text("mine")
    with pytest.raises(HarnessFault, match=r"served is not empty: it contains precious\.txt\. Let the server serve an"):
        run([made(ADD)], over_http("http://127.0.0.1:9/mcp", str(folder)))
    assert [path.name for path in folder.iterdir()] == ["precious.txt"]


def test_repository_of_the_user_is_recognized(folder: Path) -> None:
    """A repository is the user's unless it is, byte by byte, the one that a run makes."""
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with pytest.raises(HarnessFault, match=r"served is not empty: it contains \.git\."):
        run([made(ADD)], over_http("http://127.0.0.1:9/mcp", str(folder)))


def test_missing_folder_is_refused(folder: Path) -> None:
    """A folder that is not there is refused."""
    with pytest.raises(HarnessFault, match=r"nowhere is not a folder\."):
        run([made(ADD)], over_http("http://127.0.0.1:9/mcp", str(folder / "nowhere")))


def test_unreachable_url_ends_the_run(folder: Path) -> None:
    """An address without a server ends the run, and leaves the folder empty."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound, but not listening
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with pytest.raises(HarnessFault, match=r"^The server did not become ready: it could not be reached: "):
            run([made(ADD)], over_http(url, str(folder), TargetOptions(start_timeout=30)))
    assert list(folder.iterdir()) == []


def test_repository_of_a_killed_run_is_recognized(folder: Path) -> None:
    """The bare repository that a killed run had made is recognized."""
    WorkspaceRoot(str(folder)).sandbox().lay_git()
    with served(folder) as url:
        (result,) = run([made(ADD, **FIRST)], over_http(url, str(folder))).results
    assert outcome(result) == ("passed", [])


@pytest.mark.parametrize("moment", ["during", "between"])
def test_folder_replaced_by_a_link_ends_the_run(
    folder: Path, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is replaced by a link ends the run: the link's target is neither written nor deleted."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    end = Steps.end

    def swap() -> None:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(precious)

    async def swap_and_end(steps: Steps) -> None:
        swap()
        await end(steps)

    if moment == "during":
        monkeypatch.setattr(Steps, "end", swap_and_end)
    fixtures = [made(ADD, test_id="a"), made(ADD, test_id="b")]
    with served(folder) as url, pytest.raises(HarnessFault) as caught:
        run(fixtures, over_http(url, str(folder)), on_start=lambda _: swap() if moment == "between" else None)
    problem = f"{folder} was replaced by another folder during this run: nothing at that path was changed."
    assert caught.value.faults == [problem]
    assert {path.name: path.read_text() for path in precious.iterdir()} == {"file": "mine"}


def test_port_is_one_that_no_other_program_gets_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The port is free and below the range that systems assign; if no such port is free, it is any free port."""
    assert served_module.free_port() in range(10_000, 32_000)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(served_module, "_PORTS", [port])
        assert served_module.free_port() not in (0, port)


STARTED = f"{sys.executable} -m nexus_mcp serve --http 127.0.0.1:{{port}} --projects {{projects_file}}"
PLACE = "http://127.0.0.1:{port}/p/{project}/mcp"


def test_server_is_started_over_http_for_each_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a command and a URL, steps that restart and kill the server run, and each fixture has its own project."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    kill = {"kill": {"action": {"tool": "task_close"}, "seed": 1, "within_ms": 5, "retry": True}}
    fixtures = [
        made(ADD, {"restart": True}, {"action": {"tool": "task_list", "params": {}}},
             test_id="a", postcondition={"return_value": {"$.summary.total": 1}}),
        made(ADD, kill, {"action": {"tool": "history_search", "params": {}}},
             test_id="b", postcondition={"return_value": {"$.total": 1}}),
    ]  # fmt: skip
    target = started_over_http(
        shlex.split(STARTED), PLACE, TargetOptions(start_timeout=120, timeout=60, end_timeout=60)
    )
    found = run(fixtures, target, jobs=1)
    assert [outcome(result) for result in found.results] == [("passed", []), ("passed", [])]
    assert found.server.startswith("nexus-mcp ")


EVENT = {"event": {"type": "agent_spawn", "params": {"agent_name": "engineer", "agent_id": "a", "harness_id": "mine"}}}
HOOK = (sys.executable, "-m", "nexus_mcp", "hook", "{type}", "--url", "{url}")
TRACKER = ".nexus/state/mine/agent-tracker.json"


def started(*event_command: str) -> Target:
    return started_over_http(
        shlex.split(STARTED),
        PLACE,
        TargetOptions(start_timeout=120, timeout=60, end_timeout=60, event_command=event_command),
    )


def test_events_go_to_the_server_of_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With {url} the server runs before the event, and the command gets its address and its token."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shown = {"event": {"type": "answer", "params": {}}}
    (result,) = run(
        [made(shown, {"restart": True}, shown)], started(sys.executable, str(EVENT_SERVER), "{type}", "{url}"), jobs=1
    ).results
    assert outcome(result) == ("passed", [])
    first, _, second = (exchange.answer for exchange in result.exchanges)
    for answer in (first, second):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/p/project/mcp", answer["url"])
        assert answer["token"]
    assert first["url"] != second["url"]


def test_hook_is_judged_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own hook command over HTTP passes: the server writes the tracker."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    fixture = made(
        EVENT,
        postcondition={"return_value": {"$.event": "agent_spawn"}, "state_files": {TRACKER: {"$[0].agent_id": "a"}}},
    )
    (result,) = run([fixture], started(*HOOK), jobs=1).results
    assert outcome(result) == ("passed", [])


def test_event_command_with_url_needs_a_server_with_url() -> None:
    """A server on stdio has no URL, so {url} in the event command is refused before anything starts."""
    target = stdio(("nowhere",), TargetOptions(event_command=HOOK))
    with pytest.raises(HarnessFault, match=r"has \{url\}, but the target has no URL\. Leave \{url\} out, or name"):
        run([made(EVENT)], target)


@pytest.mark.parametrize(
    "words",
    [
        ("--server", "x", "--url", PLACE),
        ("--server", STARTED, "--url", "http://127.0.0.1:1/mcp"),
        ("--server", STARTED, "--url", PLACE, "--project", "."),
    ],
)
def test_server_over_http_needs_a_port_of_its_own(words: tuple[str, ...], tmp_path: Path) -> None:
    """Both the command and the URL need the port; --project is refused beside them."""
    ran = nexus("conformance", "run", *words, cwd=tmp_path)
    assert ran.code == 2
    assert "{port}" in ran.err or "Leave out --project" in ran.err
