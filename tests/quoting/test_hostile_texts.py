"""Stored text is quoted in every text for a model: hook answers, prompts, briefs, errors and command output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from nexus_mcp.catalog import placeholders
from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.sources import read_shipped
from nexus_mcp.cli import main
from nexus_mcp.errors import UnknownTool
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.lifecycle.session_context import skill_text
from nexus_mcp.server.app import App
from nexus_mcp.server.faults import Fault
from nexus_mcp.tools import TOOLS
from nexus_mcp.workspace import Workspace
from tests.conftest import make_project
from tests.quoting.attacks import ATTACKS, outside, tags, unseen
from tests.quoting.hostile import AGENT, HARNESS, SKILL_BODY, fill, spoil_catalog
from tests.server.app_requests import Asker
from tests.support import Json, Project

STATIC = "<!-- tags: a, b -->"
"""What our own prompts say of the first line of a note."""
TAGS = ("[d] Take B", "[m] Locks are slow on shares", "[m:gc]", "[rule:tests] No sleeps", "[plan:auto] a cache")
GIVEN: tuple[dict[str, str], ...] = (
    {},
    {"text": "Take B"},
    {"issue": "1", "text": "x"},
    {"task": "3"},
    {"name": "gc"},
    {"mode": "auto"},
)
SHIPPED = cache(read_shipped)
every = pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)


@pytest.fixture
def project(fast_path: Path) -> Project:
    """A project in memory: thousands of changes are written, and none has to survive."""
    return make_project(fast_path)


@pytest.fixture(autouse=True)
def shipped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the shipped catalog once: it is the same for each of thousands of events."""
    monkeypatch.setattr("nexus_mcp.catalog.load.read_shipped", SHIPPED)


def check(text: str, *, quoted: bool = True) -> None:
    """Nothing in `text` begins a tag or is unseen; with `quoted` no attacker's word is outside quotation marks."""
    text = text.replace(STATIC, "")
    assert tags(text) == []
    assert unseen(text) == []
    if quoted:
        assert outside(text) == []


def payloads(text: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """Events with an attack in every member, alone and beside members that are good."""
    good = {"harness_id": HARNESS, "session_id": "s1", "agent_id": AGENT, "agent_name": "engineer"}
    bad = dict.fromkeys(("session_id", "source", "agent_id", "agent_name", "tool", "file", "status"), text)
    more = {"last_message": text, "files_touched": [text, text * 5000], "tool_input": {"file_path": text, text: text}}
    for event in EVENTS:
        yield event, good
        yield event, {**bad, **more, "prompt": text, "harness_id": HARNESS}
        yield event, {**bad, **more, "harness_id": text}
        yield event, {text: text, "tool": {text: text}, "agent_id": 5}
    for source in ("startup", "resume", "compact"):
        yield "session_start", {**good, "source": source}
    for tool in ("Write", "mcp__nexus__task_add", f"mcp__{text}__task_add", "apply_patch", "Read"):
        for who in ({}, {"agent_name": "engineer"}, {"agent_name": text}, {"agent_id": text}, {"agent_id": 5}):
            yield "pre_tool_use", {"harness_id": HARNESS, "tool": tool, "tool_input": {"file_path": text}, **who}
            yield "pre_tool_use", {"harness_id": HARNESS, "tool": tool, "file": text, "tool_input": text, **who}
    for prompt in TAGS:
        yield "user_message", {**good, "prompt": prompt}
    for tag in ("d", "m", "rule", "run", "sync"):
        yield "user_message", {**good, "prompt": f"[{tag}:{text[:60]}] {text}"}


def walk_events(project: Project, text: str, *, quoted: bool, only: str = "") -> int:
    """Send all events with attacks in them, check the answers, and return how many had any text."""
    workspace, seen = Workspace(str(project.root), HARNESS), 0
    for event, params in payloads(text):
        if only not in ("", event):
            continue
        answer = answer_event(event, params, workspace)
        context = answer.get("context", "")
        for skill in skills():
            context = context.replace(skill, "")
        for told in (context, answer.get("reason", ""), *answer["warnings"], *answer.get("tags", ())):
            check(told, quoted=quoted and told not in answer.get("tags", ()))
            seen += bool(told)
        assert all("\n" not in one for one in (answer.get("reason", ""), *answer["warnings"]))
    return seen


@cache
def skills() -> tuple[str, ...]:
    """Return the shipped texts of skills and agents, and the notes of the harness: instructions, which are sent
    unchanged.
    """
    catalog = load(None)
    routed = ({"skill": name, "mode": "", "body": catalog.body("skills", name)} for name in catalog.skills)
    texts = (skill_text(catalog, HARNESS, {**one, "harness_notes": ""}) for one in routed)
    roles = (catalog.resolved_body("agents", name, HARNESS).strip() for name in catalog.agents)
    plain = (catalog.resolved_body("agents", name, "nexus-mcp").strip() for name in catalog.agents)
    notes = placeholders.read_notes(HARNESS)
    return (
        *(text.partition("\n\n")[2] for text in texts),
        notes.strip(),
        placeholders.worker_notes(notes),
        *roles,
        *plain,
    )


@pytest.mark.requirement("quoting.everywhere")
@every
def test_events_quote_stored_texts(project: Project, text: str) -> None:
    """With an attack in every field of every file and payload, no event's answer has it outside a quotation."""
    fill(project, text)
    (project.root / "src").mkdir()
    (project.root / "src/a.py").write_text("x = 1\n")
    assert walk_events(project, text, quoted=True) > 60


@every
def test_events_without_a_task_list_quote_the_payload(project: Project, text: str) -> None:
    """Refusals name the tool, the agent and the file; none of the names begins a tag or leaves its quotation marks."""
    fill(project, text)
    (project.state / "tasks.json").unlink()
    assert walk_events(project, text, quoted=True, only="pre_tool_use") > 20


@pytest.mark.parametrize("text", [*ATTACKS.values()][::6], ids=[*ATTACKS][::6])
def test_events_quote_a_catalog_at_fault(project: Project, text: str) -> None:
    """Wrong names and values in agents, skills, maps and settings are quoted as data."""
    fill(project, text)
    spoil_catalog(project, text)
    assert walk_events(project, text, quoted=False) > 60


@pytest.mark.requirement("quoting.everywhere")
@every
def test_prompts_quote_stored_texts(project: Project, app: App, text: str) -> None:
    """Every prompt, its list entry and every resource entry quotes stored texts; skill bodies stay unchanged."""
    fill(project, text)
    spoil_catalog(project, text)
    ask = Asker(app)
    bodies = [*(ask.text(f"nexus://skills/{skill}").strip() for skill in load(None).skills), SKILL_BODY.strip()]
    for prompt in ask("prompts/list")["prompts"]:
        check(prompt["title"], quoted=False)
        check(prompt["description"], quoted=False)
        needed = {one["name"]: "tests" for one in prompt["arguments"] if one["required"]}
        for given in GIVEN:
            known = {one["name"] for one in prompt["arguments"]}
            if given.keys() <= known:
                check(prompt_text(ask, prompt["name"], {**needed, **given}, bodies), quoted=False)
    for resource in ask("resources/list")["resources"]:
        for member in ("name", "title", "description", "uri"):
            check(resource[member], quoted=False)


def prompt_text(ask: Asker, name: str, given: dict[str, str], bodies: Iterable[str]) -> str:
    """Return a prompt without the bodies of skills, which are instructions; the message of the error without one."""
    try:
        text = ask.prompt_with(name, given)
    except Fault as fault:
        return fault.message
    for body in bodies:
        text = text.replace(body, "")
    return text


@pytest.mark.requirement("quoting.everywhere")
@every
def test_errors_quote_sent_texts(project: Project, app: App, text: str) -> None:
    """Errors quote the names of tools, parameters, prompts, arguments and artifacts as data."""
    fill(project, text)
    ask = Asker(app)
    name = text.replace("\0", "").encode("utf-8", "replace").decode()
    with pytest.raises(UnknownTool) as unknown:
        app.call(text, {})
    check(str(unknown.value))
    for tool in TOOLS:
        check(app.call(tool.name, {text: 1, text[::-1]: 2}).result["structuredContent"]["error"])
    artifact = app.call("artifact_write", {"filename": f"../{text}", "content": ""}).result["structuredContent"]
    check(artifact["error"])
    for uri in (f"nexus://memory/{name}", f"nexus://skills/{name}", f"nexus://artifacts/../{name}", name):
        check(ask.refused("resources/read", uri=uri)[1])
    check(ask.refused("prompts/get", name=text)[1])
    check(ask.refused("prompts/get", name="d", arguments={text: text})[1])
    check(ask.refused("prompts/get", name="rule", arguments={"name": text, "text": text})[1], quoted=False)
    check(
        ask.refused(
            "completion/complete", ref={"type": "ref/prompt", "name": "d"}, argument={"name": text, "value": text}
        )[1]
    )


@pytest.mark.requirement("quoting.everywhere")
@pytest.mark.parametrize("text", [*ATTACKS.values()][::3], ids=[*ATTACKS][::3])
def test_commands_quote_stored_texts(project: Project, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands quote stored texts in briefs, decisions to resume, actions, clean-up, doctor and catalog faults."""
    fill(project, text)
    root = ("--project", str(project.root))
    for words in (
        *(("brief", str(number), "--agent", "engineer", "--harness-id", HARNESS) for number in (1, 2, 3)),
        ("brief", "1"),
        *(("resume", str(number), "--harness-id", HARNESS) for number in (1, 2, 3, 4)),
        ("act", "[m] Locks are slow on shares"),
        ("memory", "gc"),
        ("log",),
    ):
        main([*words, *root])
        printed = "".join(capsys.readouterr())
        for skill in skills():
            printed = printed.replace(skill, "")
        check(printed)
    spoil_catalog(project, text)
    for words in (("doctor",), ("catalog", "check"), ("resume", "1"), ("memory", "gc"), ("route", "[d] x")):
        main([*words, *root])
        check("".join(capsys.readouterr()), quoted=False)
