"""A server with other names and texts is judged through its map, as a process with kills and restarts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.compared import peer as peers
from benchmarks.compared import probes, proxy
from benchmarks.compared.fixtures import answers_only, reason_against, suite
from benchmarks.compared.maps import ServerMap, Step
from benchmarks.compared.peer import Peer, take_all

HERE = Path(__file__).parent


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Peer:
    """The server of other_server.py, with its map."""
    monkeypatch.setattr(peers, "load", lambda _: other_map())
    return Peer("other")


def other_map() -> ServerMap:
    """Return the map of other_server.py, with the files of this machine."""
    raw = yaml.safe_load((HERE / "other.yml").read_text(encoding="utf-8"))
    return ServerMap.model_validate({**raw, "start": [sys.executable, str(HERE / "other_server.py")]})


def test_calls_of_the_contract_reach_the_server(peer: Peer, tmp_path: Path) -> None:
    """Tasks are added, changed and listed under the contract's names; fields that it does not answer are absent."""
    with peer.start(peer.prepare(str(tmp_path))) as session:
        added = session.call("task_add", title="One", context="c")
        waiting = session.call("task_add", title="Two", context="c", deps=[1])
        session.call("task_update", id=1, status="completed")
        listed = session.call("task_list")
        refused = session.call("task_update", id=9, status="completed")
    assert added.payload == {"task": {"id": 1, "title": "One", "status": "pending", "deps": []}}
    assert waiting.payload["task"]["deps"] == [1]
    assert listed.payload == {
        "tasks": [{"id": 1, "title": "One", "status": "completed"}, {"id": 2, "title": "Two", "status": "pending"}],
        "summary": {"total": 2},
    }
    assert (refused.payload, refused.is_error) == ({"error": "Task id 9 not found"}, True)
    assert session.evidence[0] == {
        "sent": {"tool": "item_new", "arguments": {"name": "One"}},
        "seen": "I-1 One [open] after: nothing",
    }


def test_proxy_has_the_tools_of_the_map_and_both_forms_of_a_result(peer: Peer, tmp_path: Path) -> None:
    """tools/list has the contract's names; a result is structured and text; an error is {"error": message}."""

    def request(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    with peer.start(peer.prepare(str(tmp_path))) as session:
        listed = proxy.answer(session, request("tools/list"))
        good = proxy.answer(session, request("tools/call", name="task_add", arguments={"title": "é"}))
        bad = proxy.answer(session, request("tools/call", name="task_add", arguments={}))
        unknown = proxy.answer(session, request("tools/call", name="plan_start", arguments={}))
        silent = proxy.answer(session, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert listed is not None
    assert good is not None
    assert bad is not None
    assert unknown is not None
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["task_add", "task_update", "task_list"]
    assert json.loads(good["result"]["content"][0]["text"]) == good["result"]["structuredContent"]
    assert bad["result"]["structuredContent"] == {"error": "title is required"}
    assert bad["result"]["isError"] is True
    assert unknown["error"]["code"] == -32602
    assert silent is None


def test_seed_adds_the_tasks_of_a_fixture_by_the_tools(peer: Peer, tmp_path: Path) -> None:
    """The tasks get the ids and states of the fixture; a server that numbers otherwise is a fault."""
    tasks = [{"id": 1, "title": "One", "status": "completed"}, {"id": 2, "title": "Two", "status": "pending"}]
    with peer.start(peer.prepare(str(tmp_path))) as session:
        proxy.seed(session, tasks)
        listed = session.call("task_list").payload["tasks"]
        with pytest.raises(ValueError, match=f"{proxy.NOT_SEEDED} 7"):
            proxy.seed(session, [{"id": 7, "title": "Seven", "status": "pending"}])
    assert listed == tasks


def test_probe_steps_see_what_they_say_or_name_the_fault(peer: Peer, tmp_path: Path) -> None:
    """A call, a restart, a file, the list of tools and an end of the server are steps; a fault names its step."""
    steps: list[dict[str, Any]] = [
        {"tool": "item_new", "arguments": {"name": "One"}, "seen": "I-1 One"},
        {"restart": True},
        {"file": "items.*", "seen": "One"},
        {"no_tool": "close"},
        {"has_tool": "^leave$"},
        {"tool": "leave", "ends": True},
        {"tool": "items", "seen": "One"},
    ]
    wrong: list[dict[str, Any]] = [
        {"tool": "items", "seen": "Two"},
        {"no_tool": "leave"},
        {"has_tool": "close"},
        {"tool": "items", "ends": True},
        {"file": "absent.*", "seen": "x"},
    ]
    session = peer.start(peer.prepare(str(tmp_path)))
    session, good = take_all([Step.model_validate(one) for one in steps], session)
    session, bad = take_all([Step.model_validate(one) for one in wrong], session)
    session.__exit__(None, None, None)
    assert good == []
    assert len(bad) == len(wrong)
    assert any("the server ended without an answer: Error: gone" in one["seen"] for one in session.evidence)


def test_common_probes_judge_through_the_map(peer: Peer) -> None:
    """A server that ignores unknown arguments and answers in text gets no, one that refuses without a change yes."""
    with probes.places(peer) as place:
        found = {row: probes.judge(row, place)["verdict"] for row in ("unknown", "refused", "structured")}
    assert found == {"unknown": "no", "refused": "yes", "structured": "no"}


def test_truncated_file_that_the_next_write_replaces_is_no(peer: Peer) -> None:
    """The verdict about a broken file comes from the bytes of the file afterwards."""
    with probes.places(peer) as place:
        found = probes.judge("corrupt", place)
    assert found["verdict"] == "no"
    assert found["evidence"][-1]["seen"] == "replaced"


def test_fixture_runs_only_where_the_map_reaches(peer: Peer) -> None:
    """Tools, parameters and files that the server does not have make a fixture not applicable, with the reason."""
    offered = list(peer.map.tools)
    reasons = {one.test_id: reason_against(one, peer.map, offered) for one in suite()}
    assert reasons["task_close_archives_tasks_alone"] == "no tool for task_close"
    assert reasons["task_add_takes_every_parameter"].startswith("no parameter for ")
    assert reasons["result_of_task_add"] == "the map makes the form"
    assert "" in reasons.values()


def test_answers_only_drops_what_is_about_files() -> None:
    """A fixture without its files still judges answers and errors."""
    fixture = next(one for one in suite() if one.test_id == "task_add_makes_the_list")
    bare = answers_only(fixture)
    assert fixture.postcondition.state_files
    assert bare.postcondition.state_files == {}
    assert bare.postcondition.return_value == fixture.postcondition.return_value


def test_proxy_ends_with_the_reason_when_the_server_cannot_start(tmp_path: Path) -> None:
    """A server that is not there ends the proxy with an error."""
    words = [sys.executable, "-m", "benchmarks.compared.proxy", "no-such-map"]
    done = subprocess.run(words, cwd=HERE.parents[1], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "no-such-map" in done.stderr
