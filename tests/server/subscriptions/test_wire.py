"""Subscriptions on real pipes, by our loop and through the SDK, while another process changes the files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import serve_sdk
from nexus_mcp.server.stdio import serve
from tests.support import Project
from tests.wire.connection import ROOT, Json, Serve, Talk, call, error, initialize, line, modern, notification, request

KEY = "io.modelcontextprotocol/subscriptionId"
CHANGE = """
import sys
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
App(Workspace(sys.argv[1])).call("task_add", {"title": sys.argv[2], "context": "Text"})
"""
UPDATED = notification("notifications/resources/updated", {"uri": "nexus://tasks"})


def change(project: Project, title: str = "One") -> None:
    """Another process adds a task."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", CHANGE, str(project.root), title], check=True, env=environment)


def listen(id: Json, *uris: str, **more: Json) -> Json:
    return modern(id, "subscriptions/listen", notifications={"resourceSubscriptions": list(uris), **more})


def acknowledged(id: Json, **kept: Json) -> Json:
    params = {"notifications": kept, "_meta": {KEY: id}}
    return notification("notifications/subscriptions/acknowledged", params)


def updated(id: Json, uri: str = "nexus://tasks") -> Json:
    return notification("notifications/resources/updated", {"uri": uri, "_meta": {KEY: id}})


def ended(app: App, id: Json) -> Json:
    meta = {KEY: id, "io.modelcontextprotocol/serverInfo": app.server_info}
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": meta}}


def legacy(id: Json, what: str, uri: str = "nexus://tasks") -> Json:
    return request(id, f"resources/{what}", {"uri": uri})


def ok(id: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": {}}


@pytest.fixture(params=[serve, serve_sdk], ids=["loop", "sdk"])
def server(request: pytest.FixtureRequest) -> Serve:
    found: Serve = request.param
    return found


@pytest.fixture
def talk(app: App, server: Serve) -> Iterator[Talk]:
    made = Talk(app, server)
    yield made
    made.close()
    assert "poller" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.requirement("subscriptions.told")
def test_subscriber_is_notified_until_it_unsubscribes(talk: Talk, project: Project) -> None:
    """After the handshake a subscriber is notified of another process's changes until it unsubscribes."""
    talk.ask(initialize())
    assert talk.ask(legacy(1, "subscribe")) == ok(1)
    change(project)
    assert talk.receive() == UPDATED
    change(project, "Two")
    assert talk.receive() == UPDATED
    assert talk.ask(legacy(2, "unsubscribe")) == ok(2)
    change(project, "Three")
    assert talk.end() == []


def test_subscription_to_a_non_resource_is_refused(talk: Talk) -> None:
    """A URI that is no resource cannot be subscribed to."""
    talk.ask(initialize())
    refused = talk.ask(legacy(1, "subscribe", "x:y"))["error"]
    assert (refused["code"], refused["data"]) == (-32002, {"uri": "x:y"})
    assert talk.ask(legacy(2, "unsubscribe", "x:y")) == ok(2)
    assert talk.end() == []


@pytest.mark.requirement("subscriptions.tagged")
def test_listen_acknowledges_tags_and_ends(talk: Talk, app: App, project: Project) -> None:
    """2026-07-28: the acknowledgement lists the accepted filter, each notification is tagged, and a cancelled request
    gets no response.
    """
    assert talk.ask(listen("a", "nexus://tasks", "x:y", toolsListChanged=True)) == acknowledged(
        "a", resourceSubscriptions=["nexus://tasks"]
    )
    assert talk.ask(listen(7, "nexus://tasks")) == acknowledged(7, resourceSubscriptions=["nexus://tasks"])
    change(project)
    found = [talk.receive(), talk.receive()]
    assert sorted(found, key=str) == sorted([updated("a"), updated(7)], key=str)
    talk.send(notification("notifications/cancelled", {"requestId": "7"}))
    assert talk.ask(modern(8, "resources/templates/list"))["id"] == 8
    change(project, "Two")
    assert talk.receive() == updated("a")
    assert talk.end() == [ended(app, "a")]


@pytest.mark.requirement("subscriptions.tagged")
def test_id_of_an_open_stream_is_refused(talk: Talk, app: App, project: Project) -> None:
    """A second listen request with the id of an open stream is refused; the stream continues, and its id is free after
    its end.
    """
    told = "Invalid request: a subscription with this id is open; use another id"
    kept = acknowledged(7, resourceSubscriptions=["nexus://tasks"])
    assert talk.ask(listen(7, "nexus://tasks")) == kept
    assert talk.ask(listen(7, "nexus://plan")) == error(7, -32600, told)
    assert talk.ask(listen("7", "nexus://plan")) == error("7", -32600, told)
    change(project)
    assert talk.receive() == updated(7)
    talk.send(notification("notifications/cancelled", {"requestId": 7}))
    assert talk.ask(modern(8, "resources/templates/list"))["id"] == 8
    change(project, "Two")
    assert talk.ask(listen(7, "nexus://tasks")) == kept
    assert talk.end() == [ended(app, 7)]


@pytest.mark.requirement("subscriptions.tagged")
@pytest.mark.parametrize("other", ["tools/call", "prompts/list"])
def test_other_request_with_the_id_of_a_stream_is_answered(talk: Talk, app: App, project: Project, other: str) -> None:
    """A call or read request with the id of an open stream gets its response, and the stream continues until it is
    cancelled.
    """
    assert "acknowledged" in talk.ask(listen("7", "nexus://tasks"))["method"]
    assert "result" in talk.ask(modern(7, other, name="context"))
    change(project)
    assert talk.receive() == updated("7")
    talk.send(notification("notifications/cancelled", {"requestId": 7}))
    assert talk.ask(modern(8, "resources/templates/list"))["id"] == 8
    change(project, "Two")
    assert "acknowledged" in talk.ask(listen("7", "nexus://tasks"))["method"]
    assert talk.end() == [ended(app, "7")]


def test_end_of_input_delivers_changes_and_ends_streams(talk: Talk, app: App) -> None:
    """At the end of the input the changes of the last calls are delivered, and then every open stream gets its
    result.
    """
    changes = [
        modern(3, "tools/call", name="plan_start", arguments={"topic": "T", "issues": [], "research_summary": ""})
    ]
    talk.send(listen(1, "nexus://plan"), listen(2, "nexus://history"))
    found = [talk.receive(), talk.receive()]
    assert [message["params"]["_meta"][KEY] for message in found] == [1, 2]
    talk.send(*changes)
    *found, one, two = talk.end()
    assert [one, two] == [ended(app, 1), ended(app, 2)]
    assert updated(1, "nexus://plan") in found
    assert [message["id"] for message in found if "id" in message] == [3]
    assert len(found) == 2


@pytest.mark.requirement("subscriptions.open")
def test_open_streams_keep_nothing_waiting(talk: Talk, app: App) -> None:
    """As many streams as may be open occupy no worker: calls are carried out, and one more stream is refused."""
    for number in range(64):
        assert talk.ask(listen(number, "nexus://plan")) == acknowledged(number, resourceSubscriptions=["nexus://plan"])
    for number in range(64, 70):
        assert talk.ask(modern(number, "tools/call", name="context"))["result"]["isError"] is False
    refused = talk.ask(listen(70, "nexus://plan"))["error"]
    assert (refused["code"], refused["message"].split(":")[0]) == (-32603, "Subscription limit reached")
    talk.send(notification("notifications/cancelled", {"requestId": 5}))
    assert talk.ask(modern(71, "tools/call", name="context"))["id"] == 71
    assert talk.ask(listen(72, "nexus://plan"))["method"] == "notifications/subscriptions/acknowledged"
    assert sorted(message["id"] for message in talk.end()) == [*range(5), *range(6, 64), 72]


def test_list_subscriber_is_notified_of_a_new_note(talk: Talk, project: Project) -> None:
    """A subscriber to the lists is notified of a new note."""
    asked = {"resourcesListChanged": True, "promptsListChanged": True}
    assert talk.ask(listen(1, **asked)) == acknowledged(1, **asked)
    project.put("memory/a.md", "x")
    assert talk.receive() == notification("notifications/resources/list_changed", {"_meta": {KEY: 1}})


def test_the_client_is_gone(talk: Talk, project: Project) -> None:
    """A notification that the client does not read ends the server, as any answer does."""
    talk.ask(initialize())
    assert talk.ask(legacy(1, "subscribe")) == ok(1)
    talk.stop_reading()
    change(project)
    assert talk.rest() == []
    assert talk.exit_code == 0


@pytest.mark.requirement("subscriptions.open")
def test_unread_notifications_do_not_block_the_end(talk: Talk, project: Project) -> None:
    """A client that takes no notifications, more than its pipe holds, does not keep the server from its end."""
    talk.ask(initialize())
    names = [f"{number}-{'x' * 150}.md" for number in range(500)]
    for number, name in enumerate(names):
        assert talk.ask(legacy(number, "subscribe", f"nexus://memory/{name}")) == ok(number)
    for name in names:
        project.put(f"memory/{name}", "x")
    talk.end_input()
    talk.wait()
    assert talk.exit_code == 0


@pytest.mark.requirement("subscriptions.open")
@pytest.mark.parametrize("options", [[], ["--sdk"]], ids=["loop", "sdk"])
@pytest.mark.parametrize("era", ["handshake", "2026-07-28"])
def test_signal_ends_open_subscriptions(project: Project, options: list[str], era: str) -> None:
    """SIGTERM ends a server with open subscriptions at once, exit code 0; open streams get their result."""
    child = subprocess.Popen(
        [sys.executable, "-m", "nexus_mcp", "serve", "--project", str(project.root), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    opening = [initialize(), legacy(1, "subscribe")] if era == "handshake" else [listen(1, "nexus://tasks")]
    child.stdin.write(b"".join(map(line, opening)))
    child.stdin.flush()
    for _ in opening:
        assert child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 0
    left = child.stdout.read().count(b'"resultType":"complete"')
    assert left == (0 if era == "handshake" else 1)
    child.communicate()


@pytest.mark.requirement("subscriptions.told")
def test_server_notifies_of_another_servers_change(
    make_app: Callable[..., App], project: Project, server: Serve
) -> None:
    """Each of two servers on one project notifies its own client of the other's changes."""
    talks = [Talk(make_app(project.root), server) for _ in range(2)]
    for talk in talks:
        talk.ask(initialize())
        assert talk.ask(legacy(1, "subscribe")) == ok(1)
    talks[0].send(call(2, "task_add", title="One", context="Text"))
    assert talks[1].receive() == UPDATED
    found = [talks[0].receive(), talks[0].receive()]
    assert [message.get("id") for message in found if "id" in message] == [2]
    assert UPDATED in found
    for talk in talks:
        assert talk.end() == []
