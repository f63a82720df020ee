"""The content of each resource."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from nexus_mcp.packaged import data_path
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.server.app_requests import Asker
from tests.support import Client, Project, compact, cycle, plan, stamp, task, tasks

NOT_FOUND = "Resource not found: "
LISTS = "resources/list and resources/templates/list name the resources."


@pytest.mark.requirement("resources.tools")
def test_plan_equals_plan_status(ask: Asker, call: Client) -> None:
    """The resource of the plan equals the answer of plan_status, with and without a plan."""
    assert ask.text("nexus://plan") == '{"active":false}'
    call("plan_start", topic="Tö\u2028pic", issues=["A"], research_summary="")
    assert ask.json("nexus://plan") == call("plan_status")


@pytest.mark.requirement("resources.tools")
def test_tasks_equal_task_list(ask: Asker, call: Client) -> None:
    """The resource of the tasks equals the answer of task_list, with and without a list."""
    assert ask.text("nexus://tasks") == '{"exists":false}'
    call("task_add", title="Write", context="Text", goal="Done")
    assert ask.json("nexus://tasks") == call("task_list")


def test_ready_tasks_come_in_file_order(ask: Asker, project: Project) -> None:
    """The ready tasks are returned whole, in file order; waiting, running and completed ones are not."""
    assert ask.text("nexus://tasks/ready") == '{"exists":false}'
    rows = [
        task(1, status="completed"),
        task(4),
        task(2, deps=[1], risk="None"),
        task(3, deps=[9]),
        task(5, status="in_progress"),
    ]
    project.put("state/tasks.json", tasks(*rows, goal="Done"))
    assert ask.json("nexus://tasks/ready") == {"goal": "Done", "tasks": [rows[1], rows[2]]}


@pytest.mark.requirement("resources.tools")
def test_history_equals_history_search(ask: Asker, call: Client, project: Project) -> None:
    """The resource of the history equals the answer of history_search for the same query and last_n."""
    assert ask.json("nexus://history") == {"total": 0, "showing": 0, "cycles": []}
    cycles = [cycle(plan(number, topic=f"T&{number}"), at=stamp(number)) for number in range(1, 13)]
    project.put("history.json", {"cycles": cycles})
    assert ask.json("nexus://history") == call("history_search")
    assert ask.json("nexus://history?query=t%261&last_n=2") == call("history_search", query="t&1", last_n=2)
    for last_n in ("100", "0012", "9" * 18, "9" * 26, "9" * 5000):
        assert ask.json(f"nexus://history?last_n={last_n}")["showing"] == 12


@pytest.mark.parametrize("last_n", ["0", "-1", "1.5", "x", "", "٣", "00", "9" * 30 + "x"])
def test_bad_last_n_is_refused(ask: Asker, last_n: str) -> None:
    """last_n is a number from 1 on, and nothing else is taken for one."""
    refused = ask.refused("resources/read", uri=f"nexus://history?last_n={last_n}")
    assert refused == (-32602, "Not a usable URI: last_n is a whole number from 1 on.")


def test_cycle_is_read_by_its_time(ask: Asker, project: Project) -> None:
    """A cycle is returned whole, by its time; two cycles with one time are both returned; any other time is missing."""
    one, twin, other = cycle(plan(1)), cycle(plan(2), task(1)), cycle(None, at=stamp(5))
    project.put("history.json", {"cycles": [one, twin, other]})
    assert ask.text(f"nexus://cycle/{stamp(5)}") == compact(other)
    found = ask("resources/read", uri=f"nexus://cycle/{stamp(0)}")["contents"]
    assert [json.loads(content["text"]) for content in found] == [twin, one]
    told = "no cycle was closed at that time; nexus://history lists the times"
    assert ask.refused("resources/read", uri="nexus://cycle/2020-01-01T00:00:00.000Z") == (-32602, NOT_FOUND + told)


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("a.md", b"# \xc3\xb6\r\n", ("text/markdown", "# ö\r\n")),
        ("deep/er/b.JSON", b"{}", ("application/json", "{}")),
        ("plain", b"", ("text/plain", "")),
        ("unknown.xyz", b"x", ("text/plain", "x")),
        ("cut.md", b"\xff", ("application/octet-stream", None)),
        ("zero.txt", b"a\0b", ("application/octet-stream", None)),
        ("image.png", b"abc", ("image/png", None)),
        ("a b#c?d", b"x", ("text/plain", "x")),
    ],
)
def test_artifact_is_text_or_base64(
    ask: Asker, project: Project, name: str, data: bytes, found: tuple[str, str | None]
) -> None:
    """An artifact is text with its MIME type, or base64 if it is binary or has a binary type."""
    project.put(f"state/artifacts/{name}", data)
    (entry,) = [one for one in ask("resources/list")["resources"] if one["name"].startswith("artifacts/")]
    assert (entry["name"], entry["size"]) == (f"artifacts/{name}", len(data))
    (content,) = ask("resources/read", uri=entry["uri"])["contents"]
    kind, text = found
    held = {"blob": base64.b64encode(data).decode()} if text is None else {"text": text}
    assert content == {"uri": entry["uri"], "mimeType": kind, **held}


@pytest.mark.parametrize("kind", ["memory", "context", "rules"])
def test_note_is_read_as_stored(ask: Asker, project: Project, kind: str) -> None:
    """A note is returned as Markdown with its tags, without a byte order mark."""
    project.put(f"{kind}/a-note.md", "\ufeff<!-- tags: x -->\nIgnore this.\n".encode())
    (content,) = ask("resources/read", uri=f"nexus://{kind}/a-note.md")["contents"]
    text = "<!-- tags: x -->\nIgnore this.\n"
    assert content == {"uri": f"nexus://{kind}/a-note.md", "mimeType": "text/markdown", "text": text}


def test_index_has_each_note(ask: Asker, project: Project) -> None:
    """The index has each note with its URI, tags and size, and names the unreadable ones."""
    assert ask.json("nexus://knowledge") == {"notes": []}
    project.put("memory/a b.md", b"<!-- tags: x, y -->\n")
    project.put("rules/c.md", b"c")
    notes = [
        {"uri": "nexus://memory/a%20b.md", "path": "memory/a b.md", "kind": "memory", "tags": ["x", "y"], "size": 20},
        {"uri": "nexus://rules/c.md", "path": "rules/c.md", "kind": "rules", "tags": [], "size": 1},
    ]
    assert ask.json("nexus://knowledge") == {"notes": notes}
    (project.root / ".nexus" / "context").symlink_to(project.root)
    found = ask.json("nexus://knowledge")
    assert found["notes"] == notes
    assert found["faults"] == [".nexus/context is a symbolic link where a folder belongs"]


@pytest.mark.parametrize("prefix", ["", "nx_"])
def test_texts_of_agents_and_skills_use_our_tool_names(make_app: Any, project: Project, prefix: str) -> None:
    """The texts of agents and skills have this server's tool names, and no placeholder."""
    ask = Asker(make_app(project.root, prefix))
    text = ask.text("nexus://skills/nx-plan")
    assert f"`{prefix}plan_decide`" in text
    assert "ask the user and wait for the answer" in text
    listed = [one["uri"] for page in ask.pages("resources/list", "resources") for one in page]
    prompts = [uri for uri in listed if uri.startswith(("nexus://agents/", "nexus://skills/"))]
    assert len(prompts) == 13
    for uri in prompts:
        assert "{{" not in ask.text(uri)


def test_own_agent_is_readable(ask: Asker, project: Project) -> None:
    """A project's own agent is readable like the shipped ones."""
    with open(data_path("assets", "agents", "writer", "meta.yml"), encoding="utf-8") as file:
        meta = file.read().replace("id: writer", "id: poet")
    project.put("agents/poet/meta.yml", meta)
    project.put("agents/poet/body.md", "Call {{tool:task_list}}.\n")
    assert ask.text("nexus://agents/poet") == "Call `task_list`.\n"
    for harness, prefix, name in (
        ("claude-code", "", "mcp__nexus__task_list"),
        ("codex", "nx_", "mcp__nexus__nx_task_list"),
        ("opencode", "", "nexus_task_list"),
        ("nexus-mcp", "nx_", "nx_task_list"),
    ):
        app = App(Workspace(str(project.root), harness), prefix)
        assert Asker(app).text("nexus://agents/poet") == f"Call `{name}`.\n"


def test_texts_name_the_tools_as_they_are_mounted(project: Project) -> None:
    """Under the mount of a plugin an agent and its brief command have the plugin's names, with the server's prefix."""
    with open(data_path("assets", "agents", "writer", "meta.yml"), encoding="utf-8") as file:
        meta = file.read().replace("id: writer", "id: poet")
    project.put("agents/poet/meta.yml", meta)
    project.put("agents/poet/body.md", "Call {{tool:task_list}}, run {{command:brief}} or {{command:resume}}.\n")
    for prefix in ("", "nx_"):
        own = f"mcp__plugin_nexus_nexus__{prefix}"
        workspace = Workspace(str(project.root), "claude-code", mount="mcp__plugin_nexus_nexus__")
        text = Asker(App(workspace, prefix)).text("nexus://agents/poet")
        assert f"Call `{own}task_list`, run " in text
        assert f" brief --harness-id claude-code --mount {own} or " in text
        assert text.endswith(" resume --harness-id claude-code.\n")
        skill = Asker(App(workspace, prefix)).prompt("nx-run")
        assert "mcp__nexus__" not in skill
        assert "mcp__plugin_nexus_nexus__plan_decide" in skill


@pytest.mark.requirement("resources.missing")
@pytest.mark.parametrize(
    ("uri", "code", "told"),
    [
        ("nexus://nothing", -32602, NOT_FOUND + LISTS),
        ("file:///etc/passwd", -32602, NOT_FOUND + LISTS),
        ("", -32602, NOT_FOUND + LISTS),
        ("nexus://plan/", -32602, NOT_FOUND + LISTS),
        ("nexus://memory/%FF", -32602, "Not a usable URI: its escapes are not UTF-8."),
        ("nexus://artifacts/none.md", -32602, NOT_FOUND + "there is no such artifact"),
        (
            "nexus://memory/none.md",
            -32602,
            f"{NOT_FOUND}there is no such note; nexus://knowledge lists the notes",
        ),
        ("nexus://agents/enginer", -32602, f'{NOT_FOUND}There is no agent "enginer". Did you mean engineer?'),
        (
            "nexus://skills/..",
            -32602,
            f'{NOT_FOUND}There is no skill "..". nexus-mcp catalog list shows the known ones.',
        ),
    ],
)
def test_missing_resource_lists_alternatives(ask: Asker, uri: str, code: int, told: str) -> None:
    """A missing resource is an error that lists the present ones; in the handshake era with a code of its own."""
    assert ask.refused("resources/read", uri=uri) == (code, told)
    legacy = -32002 if told.startswith(NOT_FOUND) else code
    assert ask.refused("resources/read", uri=uri, modern=False) == (legacy, told)


def test_reading_resources_creates_no_file(ask: Asker, project: Project) -> None:
    """Reading the resources of an unused project creates no file."""
    before = project.snapshot()
    ask.pages("resources/list", "resources")
    for name in ("plan", "tasks", "tasks/ready", "history", "knowledge", "skills/nx-run"):
        assert ask.text(f"nexus://{name}")
    ask.pages("prompts/list", "prompts")
    ask.prompt("run")
    assert project.snapshot() == before
