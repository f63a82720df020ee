"""The notifications that each subscriber gets."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from nexus_mcp.server.faults import Fault
from nexus_mcp.server.resources import RESOURCES
from nexus_mcp.server.subscriptions import streams
from nexus_mcp.server.subscriptions.streams import Streams
from nexus_mcp.workspace import Workspace
from tests.support import Project

Told = queue.Queue[tuple[str, Any]]
UPDATED = "notifications/resources/updated"
META = {"io.modelcontextprotocol/subscriptionId": 7}


@pytest.fixture
def told() -> Told:
    return queue.Queue()


@pytest.fixture
def open_streams(project: Project) -> Iterator[Streams]:
    made = Streams(Workspace(str(project.root)), 0.001)
    yield made
    made.end()


def updated(uri: str, **more: Any) -> tuple[str, Any]:
    return UPDATED, {"uri": uri, **more}


CHANGES = (
    ("nexus://plan", "state/plan.json"),
    ("nexus://tasks", "state/tasks.json"),
    ("nexus://tasks/ready", "state/tasks.json"),
    ("nexus://run", "state/runs/run-1/status.json"),
    ("nexus://run/run-1", "state/runs/run-1/status.json"),
    ("nexus://history", "history.json"),
    ("nexus://history?query=x&last_n=2", "history.json"),
    ("nexus://cycle/2026-01-02T03:04:05.250Z", "history.json"),
    ("nexus://artifacts/a/b%20c.md", "state/artifacts/a/b c.md"),
    ("nexus://knowledge", "rules/new.md"),
    ("nexus://memory/a.md", "memory/a.md"),
    ("nexus://context/a.md", "context/a.md"),
    ("nexus://rules/a.md", "rules/a.md"),
    ("nexus://agents/engineer", "agents/engineer/body.md"),
    ("nexus://skills/nx-run", "skills/nx-run/meta.yml"),
    ("skill://nx-run/SKILL.md", "skills/nx-run/body.md"),
)


@pytest.mark.parametrize(("uri", "file"), CHANGES)
def test_every_kind_of_resource_is_notified(
    project: Project, open_streams: Streams, told: Told, uri: str, file: str
) -> None:
    """A change of a file behind a resource of any kind, present or absent, is reported."""
    open_streams.subscribe(uri, lambda *event: told.put(event))
    project.put("other", "x")
    project.put(file, "x")
    assert told.get() == updated(uri)


def test_no_kind_is_left_out() -> None:
    """The test before this one has a URI of each kind."""
    matched = {
        resource.name for uri, _ in CHANGES for resource in RESOURCES if resource.template.match(uri) is not None
    }
    assert matched == {resource.name for resource in RESOURCES}


def test_unsubscribed_client_gets_no_notification(project: Project, open_streams: Streams, told: Told) -> None:
    """An unsubscribed client gets no notification, others still do; a second or unknown unsubscribe is no error."""
    open_streams.subscribe("nexus://plan", lambda *event: told.put(event))
    open_streams.subscribe("nexus://plan", lambda *event: told.put(event))
    open_streams.subscribe("nexus://tasks", lambda *event: told.put(event))
    open_streams.unsubscribe("nexus://plan")
    open_streams.unsubscribe("nexus://plan")
    open_streams.unsubscribe("nothing at all")
    project.put("state/plan.json", "{}")
    project.put("state/tasks.json", "{}")
    assert told.get() == updated("nexus://tasks")
    open_streams.end()
    assert told.empty()


def test_stream_marks_each_of_its_events(project: Project, open_streams: Streams, told: Told) -> None:
    """A stream has all kinds of its events, each with its mark; a change of a file behind two resources is reported
    once for each.
    """
    asked = {
        "resourceSubscriptions": ["nexus://tasks", "nexus://tasks/ready", "nexus://tasks"],
        "resourcesListChanged": True,
        "promptsListChanged": False,
    }
    stream, kept = open_streams.open(asked, META, lambda *event: told.put(event))
    assert kept == {
        "resourcesListChanged": True,
        "resourceSubscriptions": ["nexus://tasks", "nexus://tasks/ready"],
    }
    open_streams.begin(stream)
    project.put("state/tasks.json", "{}")
    assert [told.get(), told.get()] == [
        updated("nexus://tasks", _meta=META),
        updated("nexus://tasks/ready", _meta=META),
    ]
    project.put("memory/a.md", "x")
    assert told.get() == ("notifications/resources/list_changed", {"_meta": META})
    project.put("state/runs/run-1/run.json", "{}")
    assert told.get() == ("notifications/resources/list_changed", {"_meta": META})
    open_streams.close(stream)
    open_streams.close(stream)
    project.put("state/tasks.json", "{ }")
    open_streams.end()
    assert told.empty()


def test_change_before_the_acknowledgement_is_sent_after_it(
    project: Project, open_streams: Streams, told: Told
) -> None:
    """A change before the acknowledgement is sent after it."""
    asked = {"resourceSubscriptions": ["nexus://plan"]}
    late, _ = open_streams.open(asked, META, lambda *event: told.put(("late", *event[1:])))
    open_streams.subscribe("nexus://plan", lambda *event: told.put(event))
    project.put("state/plan.json", "{}")
    assert told.get() == updated("nexus://plan")
    assert told.empty()
    open_streams.begin(late)
    assert told.get() == ("late", {"uri": "nexus://plan", "_meta": META})


@pytest.mark.parametrize(
    ("folder", "method"),
    [
        *((folder, "notifications/resources/list_changed") for folder in ("memory", "context", "rules", "agents/x")),
        ("state/artifacts/deep", "notifications/resources/list_changed"),
        ("skills/x", "notifications/prompts/list_changed"),
    ],
)
def test_added_or_removed_entry_changes_the_list(
    project: Project, open_streams: Streams, told: Told, folder: str, method: str
) -> None:
    """A list changes when an entry is added or removed, and not when the content of an entry changes."""
    project.put(f"{folder}/a.md", "x")
    name = "promptsListChanged" if "prompts" in method else "resourcesListChanged"
    stream, _ = open_streams.open({name: True}, META, lambda *event: told.put(event))
    open_streams.begin(stream)
    project.put(f"{folder}/a.md", "changed")
    project.put(f"{folder}/b.md", "x")
    assert told.get() == (method, {"_meta": META})


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({}, {}),
        ({"toolsListChanged": True, "promptsListChanged": True}, {"promptsListChanged": True}),
        ({"resourcesListChanged": "YES", "promptsListChanged": 0}, {"resourcesListChanged": True}),
        ({"resourcesListChanged": None, "resourceSubscriptions": []}, {}),
        (
            {
                "resourceSubscriptions": [
                    *(
                        "x:y",
                        "nexus://artifacts/../plan.json",
                        "nexus://memory/%FF",
                        "nexus://memory/a",
                        "nexus://plan",
                    ),
                    "nexus://history?last_n=0",
                ]
            },
            {"resourceSubscriptions": ["nexus://plan"]},
        ),
    ],
)
def test_unsupported_parts_of_a_filter_are_left_out(asked: dict[str, Any], kept: dict[str, Any]) -> None:
    """Unsupported parts of a filter are left out: the tools never change, and a foreign URI has no resource."""
    assert streams.supported_filter(asked) == kept


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("x:y", -32002),
        ("nexus://artifacts/../../x", -32602),
        ("nexus://agents/..", -32602),
        ("nexus://memory/%FF", -32602),
        ("nexus://memory/foo", -32602),
        ("nexus://rules/{name}", -32602),
        ("nexus://memory/a%2Fb.md", -32602),
        ("nexus://artifacts/x/", -32602),
        ("nexus://history?last_n=0", -32602),
    ],
)
def test_foreign_uri_is_not_watched(open_streams: Streams, uri: str, code: int) -> None:
    """No file outside .nexus is polled, and a URI that reading refuses is not acknowledged."""
    with pytest.raises(Fault) as raised:
        open_streams.subscribe(uri, print)
    assert (raised.value.code, raised.value.data) == (code, {"uri": uri})


def test_streams_and_resources_are_bounded(open_streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resources and streams are limited in number; an ended one makes room."""
    monkeypatch.setattr(streams, "MOST_URIS", 2)
    monkeypatch.setattr(streams, "MOST_STREAMS", 1)
    told = "Subscription limit reached: 1 streams and 2 resources may be open; end one, then ask again"
    open_streams.subscribe("nexus://plan", print)
    stream, _ = open_streams.open({"resourceSubscriptions": ["nexus://tasks"]}, META, print)

    def refused() -> None:
        for attempt in (
            lambda: open_streams.subscribe("nexus://history", print),
            lambda: open_streams.open({"resourcesListChanged": True}, META, print),
            lambda: open_streams.open({"resourceSubscriptions": ["a", "b", "c"]}, META, print),
        ):
            with pytest.raises(Fault) as raised:
                attempt()
            assert (raised.value.code, raised.value.message) == (-32603, told)

    refused()
    refused()
    open_streams.unsubscribe("nexus://plan")
    open_streams.subscribe("nexus://history", print)
    open_streams.close(stream)
    open_streams.open({"resourceSubscriptions": ["nexus://tasks"]}, META, print)


def test_failing_subscriber_does_not_affect_others(
    project: Project, open_streams: Streams, told: Told, capfd: pytest.CaptureFixture[str]
) -> None:
    """A subscriber that cannot be reached takes the others nothing."""

    def broken(*_: object) -> None:
        raise RuntimeError("nobody there")

    open_streams.subscribe("nexus://plan", broken)
    open_streams.subscribe("nexus://knowledge", lambda *event: told.put(event))
    project.put("state/plan.json", "{}")
    project.put("memory/a.md", "x")
    assert told.get() == updated("nexus://knowledge")
    open_streams.end()
    assert "a notification could not be delivered: RuntimeError: nobody there" in capfd.readouterr().err
