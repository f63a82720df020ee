"""Values for the arguments of prompts and the variables of templates."""

from __future__ import annotations

import pytest

from tests.server.app_requests import Asker
from tests.support import Project, cycle, issue, plan, stamp, task, tasks


def values(found: dict[str, object]) -> object:
    assert found["hasMore"] is False
    assert found["total"] == len(found["values"])  # type: ignore[arg-type]
    return found["values"]


@pytest.mark.requirement("prompts.completed")
def test_template_variables_are_completed(ask: Asker, project: Project) -> None:
    """Names of notes, artifacts, agents and skills, and the times of cycles, newest first."""
    project.put("memory/b.md", "x")
    project.put("memory/a.md", "x")
    project.put("rules/r.md", "x")
    project.put("state/artifacts/d/x.md", "x")
    project.put("history.json", {"cycles": [cycle(None, at=stamp(1)), cycle(None, at=stamp(2))]})
    assert values(ask.complete("nexus://memory/{name}", "name")) == ["a.md", "b.md"]
    assert values(ask.complete("nexus://context/{name}", "name")) == []
    assert values(ask.complete("nexus://rules/{name}", "name", "R")) == ["r.md"]
    assert values(ask.complete("nexus://artifacts/{+path}", "path")) == ["d/x.md"]
    assert values(ask.complete("nexus://cycle/{completed_at}", "completed_at")) == [stamp(2), stamp(1)]
    assert values(ask.complete("nexus://skills/{id}", "id", "nx-r")) == ["nx-run"]
    assert values(ask.complete("nexus://history{?query,last_n}", "query", "x")) == []


def test_matches_at_the_beginning_come_first(ask: Asker) -> None:
    """Words that begin with the value come before words that contain it; case does not matter."""
    found = values(ask.complete("nexus://agents/{id}", "id", "RE"))
    assert found == ["researcher", "reviewer"]
    assert values(ask.complete("nexus://agents/{id}", "id", "te")) == ["tester", "architect", "strategist", "writer"]


@pytest.mark.requirement("prompts.completed")
def test_prompt_arguments_are_completed(ask: Asker, project: Project) -> None:
    """Modes, ids of tasks (the ready ones first) and of pending issues, names of notes and rules."""
    project.put("state/tasks.json", tasks(task(1, status="completed"), task(2, status="in_progress"), task(3)))
    project.put("state/plan.json", plan(1, issues=[issue(1, "A", "decided", decision="x"), issue(4, "B")]))
    project.put("memory/a.md", "x")
    project.put("rules/frontend.md", "x")
    assert values(ask.complete("nx-plan", "mode")) == ["auto"]
    assert values(ask.complete("plan", "request", "x")) == []
    assert values(ask.complete("nx-run", "task")) == values(ask.complete("run", "task")) == ["3", "2"]
    assert values(ask.complete("d", "issue")) == ["4"]
    assert values(ask.complete("m", "name")) == ["gc", "a.md"]
    assert values(ask.complete("rule", "name", "front")) == ["frontend"]


@pytest.mark.requirement("prompts.completed")
def test_completion_has_at_most_100_values(ask: Asker, project: Project) -> None:
    """The result has at most a hundred values, and their total number."""
    for number in range(101):
        project.put(f"memory/n{number:03}.md", "x")
    found = ask.complete("nexus://memory/{name}", "name", "n")
    assert found == {"values": [f"n{number:03}.md" for number in range(100)], "total": 101, "hasMore": True}


@pytest.mark.parametrize(
    ("of", "name", "told"),
    [
        ("nx-plam", "mode", "Unknown prompt: nx-plam; did you mean nx-plan?"),
        ("d", "isue", '"isue" is no argument; the arguments are issue, text'),
        ("nexus://agents/{id}", "name", '"name" is no argument; the arguments are id'),
        (
            "nexus://plan",
            "x",
            "Unknown resource template: resources/templates/list shows the templates",
        ),
    ],
)
def test_unknown_reference_is_refused(ask: Asker, of: str, name: str, told: str) -> None:
    """An unknown prompt, template or argument is refused with the known ones."""
    ref = {"type": "ref/resource", "uri": of} if "://" in of else {"type": "ref/prompt", "name": of}
    refused = ask.refused("completion/complete", ref=ref, argument={"name": name, "value": ""})
    assert refused == (-32602, told)


def test_malformed_file_gives_no_values(ask: Asker, project: Project) -> None:
    """Unreadable files give no values and no error, which would disturb the user's typing."""
    project.put("state/tasks.json", "{")
    project.put("history.json", "{")
    (project.root / ".nexus" / "memory").symlink_to(project.root)
    for of, name in (("run", "task"), ("nexus://cycle/{completed_at}", "completed_at")):
        assert values(ask.complete(of, name)) == []
    assert values(ask.complete("m", "name")) == ["gc"]
